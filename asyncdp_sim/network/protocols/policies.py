"""Policies: to whom the next task goes, given what the learner knows."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from typing_extensions import override

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.families import FAMILY
from asyncdp_sim.spec import Kind


@dataclass(frozen=True)
class Known:
    """What the learner knows when it hands a task out.

    Attributes
    ----------
    updates : int
        k, updates so far.
    former : int
        Owner (from 1) whose task has just ended; 0 where none has, as at the start.
    under_way : tuple of int (N,)
        Tasks of each owner that have been handed out and have not ended.
    ended : tuple of int (N,)
        Tasks of each owner that have ended, with an answer or without.
    free : tuple of int
        Owners (from 1, ascending) that may be asked: their budgets are neither spent nor promised
        to tasks under way. There is one at least.
    """

    updates: int
    former: int
    under_way: tuple[int, ...]
    ended: tuple[int, ...]
    free: tuple[int, ...]


class PolicyKind(Kind):
    """A rule by which the learner chooses whom it asks; it keeps nothing from task to task."""

    @abstractmethod
    def choose(self, known: Known, draws: Iterator[float]) -> int:
        """Return the owner (from 1) that the next task goes to, one of those that are free.

        Parameters
        ----------
        known : Known
        draws : iterator of float
            From U[0, 1), without end: the replicate's own stream ``dispatch``.
        """

    @abstractmethod
    def words(self) -> str:
        """Return to whom tasks go."""


class ShortestQueue(PolicyKind):
    """To an owner with the fewest tasks under way; which of several is drawn."""

    kind: Literal["shortest-queue"] = "shortest-queue"

    @override
    def choose(self, known: Known, draws: Iterator[float]) -> int:
        least = min(known.under_way[owner - 1] for owner in known.free)
        short = [owner for owner in known.free if known.under_way[owner - 1] == least]
        return short[int(next(draws) * len(short))] if len(short) > 1 else short[0]

    @override
    def words(self) -> str:
        return "with the fewest tasks under way"


Policy = Annotated[ShortestQueue, FAMILY]
"""Every policy; a new one joins by its line here."""


def chosen(policy: PolicyKind, known: Known, draws: Iterator[float]) -> int:
    """Return whom a policy chooses.

    Raises
    ------
    SpecError
        If it is none of the owners that are free: a policy from outside may return anything.
    """
    owner = policy.choose(known, draws)
    if isinstance(owner, int | np.integer) and owner in known.free:
        return int(owner)
    allowed = "allowed is an owner that may be asked: one of known.free"
    raise SpecError([Fault("protocol.policy", f"{owner!r} by {policy.kind}", allowed)])
