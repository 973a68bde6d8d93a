"""Learning over recorded traces, by the fused loop where there is one, else by folding."""

from collections.abc import Sequence

from asyncdp_sim.learning.algorithms import Asks, Steps
from asyncdp_sim.learning.fused.learn import CellTask, fused, learn
from asyncdp_sim.learning.replay.answering import OwnAnswers, answers_of, put_in_besides
from asyncdp_sim.learning.replay.folding import alike, fold, fold_together
from asyncdp_sim.learning.reply import Reply
from asyncdp_sim.learning.trajectory import Trajectory
from asyncdp_sim.learning.watch import Watch
from asyncdp_sim.progress import Advance
from asyncdp_sim.streams import Scope
from asyncdp_sim.trace import Trace


def replay(
    traces: Sequence[Trace],
    steps: Steps,
    reply: Reply,
    replicates: Sequence[Scope],
    record_every: int,
    asks: Asks = "average",
    watch: Watch | None = None,
    *,
    advance: Advance | None = None,
) -> Trajectory:
    """Learn over traces, by the fused loop where there is one: to the bit, what folding gives.

    A stale answer is taken at the point that the learner read, so many updates ago. Answers that
    the end of a run left in the buffer are not replayed.

    Parameters
    ----------
    traces : sequence of Trace
        One per replicate.
    steps, reply
        The algorithm, and the owners' answers.
    replicates : sequence of Scope
        The replicates' random streams.
    record_every : int
        ≥ 1.
    asks : str
        Where gradients are taken.
    watch : Watch, optional
        Is shown the queries that were answered.
    advance : callable, optional
        Told how many more updates are done, of all replicates.

    Raises
    ------
    ValueError
        If a trace made its updates of another number of answers than the algorithm does.
    """
    cell = CellTask(steps, reply, record_every, watch)
    if fused(traces, cell, asks) is not None:
        return next(learn(traces, [cell], lambda: replicates, advance=advance))
    return fold(traces, cell, replicates, asks, advance=advance)


__all__ = [
    "OwnAnswers",
    "Trajectory",
    "alike",
    "answers_of",
    "fold",
    "fold_together",
    "put_in_besides",
    "replay",
]
