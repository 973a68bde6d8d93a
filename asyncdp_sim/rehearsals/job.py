"""An exchange as its owner sees it, from the query to the last transmission of its answer."""

from dataclasses import dataclass, field, replace

import numpy as np

from asyncdp_sim.rehearsals.pace import Pace
from asyncdp_sim.rehearsals.wire import Numbers


@dataclass
class Job:
    """The work that an owner is at.

    Attributes
    ----------
    message : int
        The query's number.
    points : array (p,)
        Where its gradient is taken.
    began : int
        The tick at which the query came.
    at : int
        Until when it is slept: a deadline is counted from the one before, not from when that was
        noticed.
    tick : int
        When the answer was released.
    transmissions : int
        How often it was sent.
    answer : array (p,)
        What was released.
    """

    message: int
    points: Numbers
    began: int
    at: int = 0
    tick: int = 0
    transmissions: int = 0
    answer: Numbers = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        self.at = max(self.at, self.began)

    async def takes(self, ticks: int, pace: Pace) -> None:
        """Let something take its time."""
        self.at += ticks
        await pace.until(self.at)

    def again(self, message: int, tick: int, *, fresh: bool) -> "Job":
        """Return the job with its answer to be sent again, or a fresh one to the same query."""
        further = replace(self, message=message, at=tick)
        return replace(further, transmissions=0) if fresh else further

    def account(self) -> dict[str, int]:
        """Return what the learner's books need to know of it."""
        return {"message": self.message, "tick": self.tick, "transmissions": self.transmissions}


__all__ = ["Job"]
