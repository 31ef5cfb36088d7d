"""The interpreter: an asyncio tree walker over the syntax tree, independent of any engine.

Layers, each adding node classes to the one below: `machine` (dispatch) < `expressions` < `calls` < `generation` <
`forks` < `interpreter` (statements). `execution` runs a whole program.
"""
