"""What a run is made of, whoever drives it. Nothing here knows the syntax tree.

Whoever drives a run says *where* it stands and asks for what it wants; what comes back is a promise:

    Where(context, strand, place, path, begun)                  # operations: begun = Undertakings of the frame
    queue_gen(run, where, GenRequest(name, site, settings, placed, type, accepts, inputs)) -> Asked(promise, detail)
    queue_select(run, where, SelectRequest(name, site, options, norm, placed)) -> Asked
    await fork(run, where, ForkPlan(site, labels, work, policy, settings, gather, placed, keep)) -> value
    begin_fork(run, where, plan) -> promise                     # work(index, Where) -> Outcome runs one branch
    await promise.wait(strand) -> value                         # other strands have this one's slot meanwhile
    context.add_text(text, trusted), context.add_promise(promise), open_role, close_role    # never wait
    await context.drain(strand); await context.text(strand)     # settle all of it; what was appended
    undertakings.add(begun); await settle(strand), await close(), hand_over(heir)           # what a frame has begun

`placed` (`places.Placed`) gives an error its place; `run.spawn` with `promises.Spawned` makes a promise of a coroutine,
which takes a slot by `async with strand.working()`. A frame ends with `close`, a context with `run.contexts.release`.
"""
