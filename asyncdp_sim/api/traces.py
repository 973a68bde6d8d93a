"""A trace of a network alone, and a forecast, as Python sees them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from asyncdp_sim import results as opened
from asyncdp_sim import trace
from asyncdp_sim.api import Named
from asyncdp_sim.api.pictures import ForecastPlots, TracePlots
from asyncdp_sim.api.results import from_columns, summary_frame
from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.core.words import agreed, html_table, number
from asyncdp_sim.measures.summary import summarise
from asyncdp_sim.network import Network
from asyncdp_sim.results.columns import event_groups, update_columns
from asyncdp_sim.runs.outcome import owner_counts, owner_keys
from asyncdp_sim.scenario import Scenario

_ALL_ROWS = 2**62
"""More rows than any trace has, so that its events are one group."""


class Trace(Named):
    """Messages of one replicate and their times, without learning; no record is read.

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
    >>> int(trace.owners["updates"].sum()), trace.plot.timing().get_xlabel()
    (20, 'update $k$')
    """

    def __init__(self, tables: trace.Trace, scenario: Scenario, replicate: int) -> None:
        self.tables = tables
        self.scenario = scenario
        self.replicate = replicate

    @property
    def updates(self) -> Any:
        """One row per answer used: time, owner and staleness, a pandas frame."""
        return self._frame(update_columns([self.tables], [self.replicate]), "updates")

    @property
    def events(self) -> Any:
        """Every event, a pandas frame.

        Raises
        ------
        ResultError
            If they were not kept: ``ad.simulate(scenario, events=True)`` keeps them.
        """
        if self.tables.events is None:
            raise _not_kept("events", f"{self.scenario.id}, replicate {self.replicate}")
        groups = event_groups([self.tables], [self.replicate], _ALL_ROWS)
        return self._frame(next(groups), "events")

    @property
    def owners(self) -> Any:
        """One row per owner: attempts, answers, updates, time online, a pandas frame."""
        rows = owner_keys([self.tables], [self.replicate]) | owner_counts([self.tables])
        return self._frame(rows, "owners")

    @property
    def plot(self) -> TracePlots:
        """Its pictures as matplotlib axes."""
        frames = {"updates": self.updates, "owners": self.owners}
        if self.tables.events is not None:
            frames["events"] = self.events
        return TracePlots(TraceAsResult.from_frames(self.scenario, self.replicate, frames))

    @property
    def summary(self) -> Any:
        """The figures of the network with their units, a pandas frame."""
        return summary_frame(summarise([self.tables], self.scenario.network.airtime))

    def _frame(self, columns: Any, table: str) -> Any:
        numbered = self.scenario.participants(()).numbered(columns)
        return from_columns(numbered, table)

    def __repr__(self) -> str:
        count = self.tables.n_updates
        text = f"<Trace of {self.scenario.id}, replicate {self.replicate}, {count} updates>"
        return agreed(text)

    def _repr_html_(self) -> str:
        figures = self.summary
        finite = figures[figures["value"].notna()]
        rows = [
            (name, number(float(row.value)), "" if row.unit == "none" else row.unit)
            for name, row in finite.iterrows()
        ]
        return html_table(rows, title=repr(self))


def _not_kept(table: str, name: str) -> ResultError:
    """Return the error of a table that the trace of this name was simulated without."""
    fault = Fault(table, "a trace without them", "ad.simulate(…, events=True) keeps them")
    return ResultError([fault], name)


@dataclass(frozen=True)
class TraceAsResult(opened.Result):
    """A trace in the form of a result, so that figures of results can draw it.

    It has the order and the times of one replicate, and no directory.

    Attributes
    ----------
    frames : mapping
        Pandas frames by table.
    known : Network
        The network that was simulated.
    """

    frames: Mapping[str, Any]
    known: Network

    @classmethod
    def from_frames(
        cls, scenario: Scenario, replicate: int, frames: Mapping[str, Any]
    ) -> "TraceAsResult":
        """Return a trace of a scenario, whose tables are these."""
        settings, participants = scenario.plain(), scenario.participants(())
        numbers = list(participants.numbers)
        owners = settings["owners"] | {"count": len(numbers), "numbers": numbers}
        manifest = {
            "scenario": {**settings, "owners": owners},
            "summary": {"updates": len(frames["updates"]), "timing_accounted": True},
            "replicates": [replicate],
            "owner_names": list(participants.names),
        }
        place = Path(f"{scenario.id}, replicate {replicate}")
        return cls(place, manifest, frames, scenario.network)

    @cached_property
    def network(self) -> Network:
        """The network that was simulated."""
        return self.known

    def has(self, name: str) -> bool:
        """Return whether there is such a table."""
        return name in self.frames

    def frame(self, name: str) -> Any:
        """Return a table as a pandas frame.

        Raises
        ------
        ResultError
            If it was not kept.
        """
        if not self.has(name):
            raise _not_kept(name, str(self.directory))
        return self.frames[name]

    @override
    def names(self, name: str) -> tuple[str, ...]:
        return tuple(map(str, self.frame(name).columns))

    @override
    def columns(self, name: str, *wanted: str) -> tuple[npt.NDArray[Any], ...]:
        missing = [column for column in wanted if column not in self.names(name)]
        if missing:
            lacking = f"{name}.parquet without {', '.join(missing)}"
            raise opened.not_a_result(self.directory, lacking)
        return tuple(np.asarray(self.frame(name)[column]) for column in wanted)


if TYPE_CHECKING:
    from asyncdp_sim.decision.forecast import Alternative
    from asyncdp_sim.decision.forecast import Forecast as Found
    from asyncdp_sim.sentences.forecast import Decision


def _without_units(frame: Any) -> Any:
    """Return a frame that says of each column that it has no unit."""
    frame.attrs["units"] = dict.fromkeys(map(str, frame.columns), "none")
    return frame


class Forecast(Named):
    """Forecast of a scenario: accuracy, time, and the owners that gain.

    Attributes
    ----------
    found : object
        The forecast itself, with ``psi``, ``time``, ``quantiles`` and more.

    Examples
    --------
    >>> found = ad.forecast(ad.load("vary-availability").replace(run={"updates": 50}))
    >>> found.curve.attrs["units"]
    {'time': 'time units', 'relative_fitness': 'none'}
    >>> bool(found.summary.loc["psi", "value"] == found.found.psi > 0)
    True
    """

    def __init__(self, found: "Found", others: "Sequence[Alternative] | None" = None) -> None:
        self.found = found
        self.others = others

    @property
    def decision(self) -> "Decision":
        """Decision in words: what is gained, accuracy, time, privacy, certainty."""
        from asyncdp_sim.sentences.forecast import decide

        return decide(self.found)

    @property
    def curve(self) -> Any:
        """The expected ψ over time, a pandas frame."""
        import pandas as pd

        columns = {"time": self.found.times, "relative_fitness": self.found.curve}
        frame = pd.DataFrame(columns)
        frame.attrs["units"] = {"time": "time units", "relative_fitness": "none"}
        return frame

    @property
    def owners(self) -> Any:
        """Errors and gain of each owner, a pandas frame; empty from public rows alone."""
        import pandas as pd

        return _without_units(pd.DataFrame(self._content["owners"]))

    @property
    def alternatives(self) -> Any:
        """Mean gain, or the owner's, with each other protocol at the same ε, a pandas frame.

        ``difference``, with its interval ``low`` to ``high``, is by how much more is gained than
        with the scenario's protocol; ``refused`` is why a protocol does not fit. Without rows
        where ``alternatives`` was not asked for, or there is no mean gain to compare.
        """
        import pandas as pd

        from asyncdp_sim.sentences.forecast import content_of_others

        columns = ["protocol", "difference", "low", "high", "refused"]
        rows = []
        for other in content_of_others(self.others or ()):
            more = map((other["difference"] or {}).get, ("gain", "low", "high"))
            rows.append((other["protocol"], *more, other["refused"]))
        return _without_units(pd.DataFrame(rows, columns=columns))

    @property
    def summary(self) -> Any:
        """Its figures with the ends of their 95 % intervals, a pandas frame."""
        import pandas as pd

        names = ["psi", "noise_free", "cost_of_privacy", "time"]
        names += ["target_time", "target_probability"] if self.found.target is not None else []
        halves = {"psi": self.found.psi_half_width, "time": self.found.time_half_width}
        heads, table = ["value", "low", "high", "unit"], dict[str, tuple[Any, ...]]()
        for name in names:
            value, half = getattr(self.found, name), halves.get(name, 0.0)
            # a figure that is exact, or is none, has no ends
            ends = (None, None) if half == 0 else (value - half, value + half)
            table[name] = (value, *ends, "time units" if name.endswith("time") else "none")
        frame = pd.DataFrame.from_dict(table, orient="index", columns=heads)
        frame.index.name = "figure"
        frame.attrs["units"] = dict(frame["unit"])
        return frame

    @property
    def plot(self) -> ForecastPlots:
        """Its pictures as matplotlib axes."""
        return ForecastPlots(self._content)

    def lines(self) -> list[str]:
        """Return it in words, as lines."""
        from asyncdp_sim.sentences import forecast
        from asyncdp_sim.sentences.forecast import lines

        if self.others is None or self.found.gains is None:
            return lines(self.found)
        return [*lines(self.found), "", *forecast.lines_of_others(self.found.gains, self.others)]

    @cached_property
    def _content(self) -> dict[str, Any]:
        from asyncdp_sim.sentences.forecast import as_json, content_of_others

        return dict(json.loads(as_json(self.found, content_of_others(self.others or ()))))

    def __repr__(self) -> str:
        return f"<Forecast: expected ψ {number(self.found.psi)}, {self.found.method}>"

    def _repr_html_(self) -> str:
        from asyncdp_sim.sentences.forecast import MOST, figures, owners

        html = html_table(self.decision.rows(), title="Forecast")
        html += html_table(figures(self.found))
        listed = self._content["owners"]
        return html + (html_table(owners(listed)[: MOST + 1]) if len(listed) > 0 else "")
