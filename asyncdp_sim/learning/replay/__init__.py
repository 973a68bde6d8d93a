"""Learning over recorded traces: a fold over the answers that updates are made of."""

from collections.abc import Sequence

from asyncdp_sim.learning.algorithms import Asks, Steps
from asyncdp_sim.learning.answers import OwnAnswers, answers_of, put_in_besides
from asyncdp_sim.learning.replay.cells import CellTask
from asyncdp_sim.learning.replay.folding import Trajectory, fold, replay_together
from asyncdp_sim.learning.reply import Reply
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
    """Learn over traces: :func:`fold` for one cell.

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
    return fold(traces, [cell], replicates, asks, advance=advance)[0]


__all__ = [
    "CellTask",
    "OwnAnswers",
    "Trajectory",
    "answers_of",
    "fold",
    "put_in_besides",
    "replay",
    "replay_together",
]
