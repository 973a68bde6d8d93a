"""The cost of a guarantee: mean ψ at the end against ε, a line for each way to hide records."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from asyncdp_sim.core.words import as_float, known
from asyncdp_sim.figures.kit.axes import BETTER, key, legend, looks, number_ticks, scale, wrapped
from asyncdp_sim.figures.kit.outcomes import mean_psi_at_end, psi_of_replicates
from asyncdp_sim.figures.kit.picture import label, named_guarantee
from asyncdp_sim.figures.kit.style import BAND, canvas
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table
from asyncdp_sim.privacy.label import gradient_norm
from asyncdp_sim.results import Cell, Result, Sweep

EPSILON = "privacy.epsilon"
LEAST = 2  # lines, and budgets
MOST_SERIES = 7
BOUNDS = "in the domain record gradients"
"""Beginning of the sentence on Ξ₁ and Ξ₂ of a run in a bounded domain."""


@dataclass(frozen=True)
class PrivacySeries(Series):
    """The cells that hide records in the same way, in ascending order of ε."""

    @property
    def private(self) -> bool:
        """Whether all are private as they claim."""
        return label(self.results).private is True

    @property
    def legend(self) -> str:
        """Its name, the bound that its noise is scaled for, and what it guarantees."""
        return f"{self.name} ({_bound(self.results)}): {named_guarantee(self.results)}"


def series_of(sweep: Sweep) -> list[PrivacySeries] | str:
    """Return a sweep's ways to hide records, or in words why it compares none over ε."""
    if EPSILON not in sweep.paths:
        return f"{EPSILON} is not swept"
    rest = [path for path in sweep.paths if path != EPSILON]
    cells = [cell for cell in sweep.cells if _finite(cell) and cell.result.summary["updates"] > 0]
    series = PrivacySeries.grouped(
        cells, lambda c: c.label(rest), lambda c: float(c.values[EPSILON])
    )
    if not LEAST <= len(series) <= MOST_SERIES:
        return f"{len(series)} lines, and {LEAST} to {MOST_SERIES} can be shown"
    if len({_way(line.results[0]) for line in series}) < len(series):
        return "lines that hide records in the same way"
    if min(len(line.at) for line in series) < LEAST:
        return f"fewer than {LEAST} budgets"
    return series


def panels(found: Sequence[PrivacySeries], rows: Sequence[Table]) -> Figure:
    """Draw mean and quartiles of ψ of the last model against ε, each line with its guarantee."""
    figure, axes = canvas(height=3.9 + 0.2 * len(found))
    keys: list[Artist] = []
    lines = looks(len(found), markersize=4.5, linewidth=1.2)
    for series, table, look in zip(found, rows, lines, strict=True):
        if not series.private:
            look |= {"linestyle": "--", "markerfacecolor": "white"}
        _draw(axes, table, look)
        keys.append(key(wrapped(series.legend), **look))
    still = _before([result for series in found for result in series.results])
    if still is not None:
        dotted: dict[str, Any] = {"color": "black", "linestyle": ":", "linewidth": 0.9}
        axes.axhline(still, zorder=0, **dotted)
        keys.append(key("before the first update", **dotted))
    keys.append(Patch(color=BAND, alpha=0.4, linewidth=0, label="25–75 % of replicates"))
    scale(axes, "xy", ylabel=f"mean $\\psi$ at the end\n{BETTER}")
    axes.set_xlabel("stated privacy budget $\\epsilon$ per owner")
    number_ticks(axes, [epsilon for series in found for epsilon in series.at])
    legend(figure, keys)
    return figure


def _draw(axes: Axes, rows: Table, look: Mapping[str, Any]) -> None:
    """Draw one line and its band; what is not finite is left out."""
    low, mean, high = (
        np.where(np.isfinite(rows[name]), rows[name], np.nan)
        for name in ("psi_final_q25", "psi_final_mean", "psi_final_q75")
    )
    axes.fill_between(rows["epsilon"], low, high, color=look["color"], alpha=0.2, linewidth=0)
    axes.plot(rows["epsilon"], mean, **look)


def _rows(each: PrivacySeries) -> Table:
    """Return what is drawn of one line: a row for every ε."""
    quartiles = [
        np.quantile(psi_of_replicates(result), (0.25, 0.75), method="nearest")
        for result in each.results
    ]
    table = each.rows("line", "epsilon", psi_final_mean=mean_psi_at_end)
    table |= dict(zip(("psi_final_q25", "psi_final_q75"), np.array(quartiles).T, strict=True))
    table["projected"] = np.array([result.projected for result in each.results])
    table["noise_bound"] = np.array([_xi(result) for result in each.results])
    return table


def _caption(found: Sequence[PrivacySeries], rows: Sequence[Table]) -> str:
    text = (
        "Mean over replicates of ψ of the last model against the stated ε (bands: 25–75 % "
        "of replicates), for several mechanisms with otherwise equal settings, each with its "
        "guarantee; dashed: not private as claimed"
    )
    results = [result for item in found for result in item.results]
    bounds = [w for result in results for w in result.warnings if w.startswith(BOUNDS)]
    text += "".join(f"; {sentence}" for sentence in dict.fromkeys(bounds))
    most = max(float(np.nan_to_num(table["projected"]).max()) for table in rows)
    return (
        f"{text}. The projection onto Θ changed a model in {100 * most:.2g} % of updates at most."
    )


def _way(result: Result) -> str:
    """Return all of a scenario's privacy but ε, as a text."""
    settings = {key: value for key, value in result.scenario["privacy"].items() if key != "epsilon"}
    return json.dumps(settings, sort_keys=True)


def _xi(result: Result) -> float:
    return known((result.manifest.get("constants") or {}).get("noise_bound"))


def _bound(results: Sequence[Result]) -> str:
    """Return Ξ that noise is scaled for, in L1 or L2, such as ``Ξ₁ = 5``."""
    privacy = results[0].scenario["privacy"]
    norm = (privacy.get("sensitivity") or {}).get("norm")
    plain = gradient_norm(results[0].manifest)
    sign = "Ξ₁" if (norm or plain) == "l1" else "Ξ₂"
    bounds = sorted({xi for result in results if np.isfinite(xi := _xi(result))})
    return f"{sign} = {', '.join(f'{xi:.4g}' for xi in bounds)}" if bounds else "no bound"


def _finite(cell: Cell) -> bool:
    epsilon = as_float(cell.values[EPSILON])
    return epsilon is not None and 0 < epsilon < np.inf


def _before(results: Sequence[Result]) -> float | None:
    """Return ψ before the first update, where it is the same in all runs."""
    curves = [result.columns("curve", "k", "relative_fitness") for result in results]
    first = np.concatenate([psi[k == 0] for k, psi in curves])
    same = len(first) > 0 and np.allclose(first, first[0], rtol=1e-3)
    return float(first[0]) if same and 0 < first[0] < np.inf else None


FIGURE = SweepFigure("guarantees", series_of, _rows, panels, _caption)
