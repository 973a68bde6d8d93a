"""Agreement of simulations with rehearsals: paired differences over replicates, by scenario."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.units import to_units
from asyncdp_sim.measures import repeated, shares
from asyncdp_sim.network.laws import Empirical, NoTime
from asyncdp_sim.rehearsals import rehearse
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.trace import Trace
from tests.rehearsals.scenes import PLAIN, scenario
from tests.tables import table

SCENARIOS: dict[str, dict[str, Any]] = table(__file__, "agreement.toml")
"""What differs from the plain scenario, by name."""


def scenes(name: str, updates: int, replicates: int, most: int | None = None) -> list[Scenario]:
    """Return a scenario of these as parts of at most so many replicates, each with its own seed."""
    changes = dict(SCENARIOS[name])
    owners = PLAIN["owners"] | {"count": changes.pop("n")}
    updates = round(updates * changes.pop("part", 1))
    replicates = round(replicates * changes.pop("times", 1))
    parts = np.array_split(np.arange(replicates), 1 if most is None else -(-replicates // most))
    lengths = (
        {"updates": updates, "replicates": len(part), "seed": 21 + number}
        for number, part in enumerate(parts)
    )
    return [scenario(**changes, owners=owners, run=length) for length in lengths]


@dataclass(frozen=True)
class Part:
    """Replicates of a scenario, rehearsed by one crew and simulated.

    Attributes
    ----------
    scenario : Scenario
    measured, simulated : tuple of Trace
    unit : float
        Seconds.
    excess, null : array of float
        Seconds: of exchanges beyond what their owners slept, and of null exchanges before the run.
    """

    scenario: Scenario
    measured: tuple[Trace, ...]
    simulated: tuple[Trace, ...]
    unit: float
    excess: Array
    null: Array


def played(scenario: Scenario, unit: float | None = None) -> Part:
    """Rehearse a part, whose unit of time takes these seconds, or of which all takes a minute."""
    found = rehearse(scenario, unit=unit)
    traces = tuple(found.measured.traces), tuple(found.simulated.traces)
    return Part(found.simulated.scenario, *traces, found.unit, found.excess, found.null)


def costing(parts: Sequence[Part]) -> list[Scenario]:
    """Return the scenarios of parts with what the machine cost as a law of their queries.

    Raises
    ------
    ValueError
        If queries take time already.
    """
    if not all(isinstance(part.scenario.latency.query, NoTime) for part in parts):
        raise ValueError("there is no stage left for what the machine cost")
    values = np.concatenate([np.maximum(part.excess, 0) / part.unit for part in parts])
    law = Empirical(values=tuple(values.tolist() if values.size else [0.0]))
    return [part.scenario.replace(latency={"query": law}) for part in parts]


def ratio(part: Callable[[Trace], float], whole: Callable[[Trace], float]) -> Any:
    """Return what reduces traces to (R, 2): parts and wholes."""
    return lambda traces: np.array([(part(each), whole(each)) for each in traces], dtype=float)


def _one(_: Trace) -> float:
    return 1.0


def _asked(trace: Trace) -> float:
    return float(trace.owners["refused"].sum()) + len(trace.exchanges) - trace.recomputed


def _stale_90(trace: Trace) -> float:
    return float(np.quantile(trace.updates["staleness"], 0.9))


@dataclass(frozen=True)
class Figure:
    """A figure that is compared.

    Attributes
    ----------
    name : str
    of : callable
        From the traces to parts and wholes, of which it is the ratio of sums.
    relative : bool
        Whether differences are in per cent of the simulation, else in points (a hundredth).
    """

    name: str
    of: Callable[[Sequence[Trace]], Array]
    relative: bool


FIGURES = (
    Figure("updates per unit", ratio(lambda t: t.n_updates, lambda t: to_units(t.end_tick)), True),
    Figure("time to T", ratio(lambda t: to_units(t.end_tick), _one), True),
    Figure("refused", ratio(lambda t: t.owners["refused"].sum(), _asked), False),
    Figure(
        "mean staleness", ratio(lambda t: t.updates["staleness"].sum(), lambda t: len(t.updates)),
        True,
    ),
    Figure("90 % of staleness", ratio(_stale_90, _one), True),
    Figure("P(same twice)", ratio(repeated, lambda t: max(1, len(t.updates) - 1)), False),
)  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """What was measured less what was simulated, and its paired standard error.

    Attributes
    ----------
    simulated : float
        The figure itself.
    value, error : float
        In per cent of it, or in points.
    """

    simulated: float
    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:+.2f} ± {self.error:.2f}"


def difference(
    figure: Figure, measured: Sequence[Trace], simulated: Sequence[Trace]
) -> Difference | None:
    """Return the paired difference of a figure; None where it is 0 in both."""
    ours, theirs = figure.of(measured), figure.of(simulated)
    if ours[:, 0].sum() == 0 == theirs[:, 0].sum():
        return None
    values, spreads = zip(*(_linear(each) for each in (ours, theirs)), strict=True)
    error = float(np.std(spreads[0] - spreads[1], ddof=1)) / len(ours) ** 0.5
    base = values[1] if figure.relative else 1.0
    return Difference(values[1], 100 * (values[0] - values[1]) / base, 100 * error / base)


def _linear(pairs: Array) -> tuple[float, Array]:
    """Return Σa/Σb, and by how much each replicate moves it."""
    value = float(pairs[:, 0].sum() / pairs[:, 1].sum())
    return value, (pairs[:, 0] - value * pairs[:, 1]) / pairs[:, 1].mean()


def share_difference(measured: Sequence[Trace], simulated: Sequence[Trace]) -> Difference:
    """Return the largest difference of an owner's share of updates, in points."""
    apart = np.array([shares(a) - shares(b) for a, b in zip(measured, simulated, strict=True)])
    mean, error = apart.mean(axis=0), apart.std(axis=0, ddof=1) / len(apart) ** 0.5
    most = int(np.argmax(np.abs(mean)))
    return Difference(1 / apart.shape[1], 100 * float(mean[most]), 100 * float(error[most]))


Row = list[str]


@dataclass(frozen=True)
class Compared:
    """Rows of a scenario: as it is, with what the machine cost, and what that was."""

    as_is: Row
    with_cost: Row
    cost: Row


def compared(name: str, parts: Sequence[Part]) -> Compared:
    """Compare what was rehearsed of a scenario with both simulations."""
    measured, simulated = ([trace for part in parts for trace in getattr(part, traces)]
                           for traces in ("measured", "simulated"))  # fmt: skip
    with_cost = [trace for each in costing(parts) for trace in run(each).traces]
    rows = [_row(name, measured, each) for each in (simulated, with_cost)]
    null, excess = (1e3 * np.concatenate([getattr(part, times) for part in parts])
                    for times in ("null", "excess"))  # fmt: skip
    spread = [np.median(excess), np.quantile(excess, 0.9), excess.max()]
    answers = sum(len(trace.updates) for trace in measured)
    length = f"{parts[0].scenario.run.updates} × {len(measured)}"
    cost = [name, length, str(answers), f"{np.mean([part.unit for part in parts]):.3g}"]
    cost += [f"{each:.2f}" for each in (null.mean(), excess.mean(), *spread)]
    return Compared(rows[0], rows[1], cost)


def _row(name: str, measured: Sequence[Trace], simulated: Sequence[Trace]) -> Row:
    found = [difference(figure, measured, simulated) for figure in FIGURES]
    if any(trace.answers_per_update != 1 for trace in measured):
        found[-1] = None  # of rounds it says nothing
    said = ["–" if each is None else str(each) for each in found]
    return [name, *said, str(share_difference(measured, simulated))]


HEAD = ["scenario", *(f"{f.name} ({'%' if f.relative else 'points'})" for f in FIGURES)]
HEAD += ["largest share (points)"]
COST_HEAD = [
    "scenario", "T × replicates", "answers used", "unit (s)", "null exchange (ms)",
    "excess: mean (ms)", "median", "90 %", "largest",
]  # fmt: skip
