"""The trace of one replicate: immutable tables that cannot contradict themselves."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from asyncdp_sim.trace.invariants import check
from asyncdp_sim.trace.vocabulary import UPDATES, Outcome


@dataclass(frozen=True, eq=False)
class Trace:
    """Who talked to whom, and when; knows nothing of models.

    Attributes
    ----------
    end_tick : int
        The run covers [0, end_tick): up to update T, or the horizon, or the last event after
        which no further update could occur.
    exchanges, owners : numpy.ndarray
        Structured arrays with the columns of :mod:`asyncdp_sim.trace.vocabulary`, read-only.
    events : numpy.ndarray or None
        Every event, where the run was asked to keep them.
    in_flight_total : int
        Sum over updates of the exchanges in flight just after it, counted as the run went.
    one_on_one : bool
        Whether the protocol promises that exchanges never overlap.

    Raises
    ------
    InvariantError
        At construction, if the tables contradict each other.
    """

    end_tick: int
    exchanges: npt.NDArray[np.void]
    owners: npt.NDArray[np.void]
    events: npt.NDArray[np.void] | None
    in_flight_total: int
    one_on_one: bool

    def __post_init__(self) -> None:
        for table in (self.exchanges, self.owners, self.events):
            if table is not None:
                table.setflags(write=False)
        check(self)

    @cached_property
    def updates(self) -> npt.NDArray[np.void]:
        """One row per answer used, in the order of k = 1, 2, … (columns ``UPDATES``)."""
        applied = self.exchanges[self.exchanges["outcome"] == Outcome.applied]
        table = np.empty(len(applied), dtype=UPDATES)
        for name in ("owner", "read_tick", "message"):
            table[name] = applied[name]
        table["tick"] = applied["end_tick"]
        table["staleness"] = applied["end_k"] - applied["read_k"]
        table.setflags(write=False)
        return table

    @cached_property
    def released(self) -> npt.NDArray[np.int64]:
        """Distinct answers released per owner: what the privacy ledger charges."""
        rows = self.exchanges["outcome"] != Outcome.unreleased
        count = np.bincount(self.exchanges["owner"][rows], minlength=self.n_owners + 1)[1:]
        count.setflags(write=False)
        return count

    @property
    def n_owners(self) -> int:
        """Number of owners."""
        return len(self.owners)
