"""The interpreter: an asyncio tree walker over the syntax tree, independent of any engine.

Layers, each adding node classes to the one below: `machine` (dispatch) < `expressions` < `calls` < `generation` <
`forks` < `maps` < `guards` < `tools` < `interpreter` (statements). They only say in the terms of `running`
what the nodes ask for: `evaluate` waits for a value, `deferred` begins what makes it. `execution` runs a whole program.
"""
