"""The trace of one replicate of a network alone, as Python sees it."""

from dataclasses import asdict
from typing import Any

from asyncdp_sim import trace
from asyncdp_sim.api.frames import from_columns, summary_frame
from asyncdp_sim.columns import event_columns, update_columns
from asyncdp_sim.measures import summarise
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.words import html_table, number


class Trace:
    """Who sent what when, in one replicate; nothing is learned, and no record is read.

    Attributes
    ----------
    tables : object
        The trace itself: immutable NumPy tables, with ``exchanges`` and more.

    Examples
    --------
    >>> trace = ad.simulate(ad.load("vary-availability").replace(run={"updates": 20}))
    >>> len(trace.updates), trace.updates.attrs["units"]["staleness"]
    (20, 'updates')
    >>> trace.events["kind"].iloc[0] in {"clock_tick", "went_offline"}
    True
    """

    def __init__(self, tables: trace.Trace, scenario: Scenario, replicate: int) -> None:
        self.tables = tables
        self.scenario = scenario
        self.replicate = replicate

    @property
    def updates(self) -> Any:
        """One row per answer used: when, whose, how stale, a pandas frame."""
        return self._frame(update_columns([self.tables], [self.replicate]), "updates")

    @property
    def events(self) -> Any:
        """Every event, a pandas frame."""
        return self._frame(event_columns([self.tables], [self.replicate]), "events")

    @property
    def summary(self) -> Any:
        """The figures of the network with their units, a pandas frame."""
        found = summarise([self.tables], self.scenario.network.airtime)
        return summary_frame(asdict(found))

    def _frame(self, columns: Any, table: str) -> Any:
        numbered = self.scenario.participants(()).numbered(columns)
        return from_columns(numbered, table)

    def __repr__(self) -> str:
        count = self.tables.n_updates
        return f"<Trace of {self.scenario.id}, replicate {self.replicate}, {count} updates>"

    def _repr_html_(self) -> str:
        figures = self.summary
        known = figures[figures["value"].notna()]
        rows = [
            (name, number(float(row.value)), "" if row.unit == "none" else row.unit)
            for name, row in known.iterrows()
        ]
        return html_table(rows, title=repr(self))
