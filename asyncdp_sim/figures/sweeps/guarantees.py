"""The cost of a guarantee: mean ψ at the end against ε, a line for each way to hide records."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter

from asyncdp_sim.figures.kit.numbers import as_float, number, wrapped
from asyncdp_sim.figures.kit.outcomes import mean_psi_at_end, psi_of_replicates
from asyncdp_sim.figures.kit.privacy_label import label, named_guarantee
from asyncdp_sim.figures.kit.source import Result, Sweep
from asyncdp_sim.figures.kit.style import BAND, MARKERS, canvas, colours, plain_numbers
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table, as_columns
from asyncdp_sim.privacy.manifest_facts import gradient_norm

Array = npt.NDArray[np.float64]
EPSILON = "privacy.epsilon"
LEAST = 2  # lines, and budgets
MOST_SERIES = 7
BOUNDS = "in the domain record gradients"
"""How the sentence on Ξ₁ and Ξ₂ begins that a run in a bounded domain says."""


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
    others = [path for path in sweep.paths if path != EPSILON]
    found: dict[str, dict[float, Result]] = {}
    for cell in sweep.cells:
        epsilon = as_float(cell.values[EPSILON])
        if epsilon is not None and 0 < epsilon < np.inf and cell.result.summary["updates"] > 0:
            found.setdefault(cell.label(others), {})[epsilon] = cell.result
    if not LEAST <= len(found) <= MOST_SERIES:
        return f"{len(found)} lines, and {LEAST} to {MOST_SERIES} can be shown"
    ways = {_way(next(iter(line.values()))) for line in found.values()}
    if len(ways) < len(found):
        return "lines that hide records in the same way"
    if min(map(len, found.values())) < LEAST:
        return f"fewer than {LEAST} budgets"
    return PrivacySeries.sorted(found)


def panels(found: Sequence[PrivacySeries], rows: Sequence[Table]) -> Figure:
    """Draw mean and quartiles of ψ of the last model against ε, each line with its guarantee."""
    figure, axes = canvas(height=3.9 + 0.2 * len(found))
    axes.set_xscale("log")
    axes.set_yscale("log")
    keys: list[Artist] = []
    looks = zip(colours(len(found)), MARKERS * 2, strict=False)
    for each, some, (shade, marker) in zip(found, rows, looks, strict=False):
        look: dict[str, Any] = {
            "color": shade,
            "marker": marker,
            "markersize": 4.5,
            "linewidth": 1.2,
        }
        if not each.private:
            look |= {"linestyle": "--", "markerfacecolor": "white"}
        _draw(axes, some, look)
        keys.append(Line2D([], [], label=wrapped(each.legend), **look))
    still = _before([result for each in found for result in each.results])
    if still is not None:
        axes.axhline(still, color="black", linestyle=":", linewidth=0.9, zorder=0)
        keys.append(_line("before the first update", color="black", linestyle=":"))
    keys.append(Patch(color=BAND, alpha=0.4, linewidth=0, label="25–75 % of replicates"))
    budgets = np.unique(np.concatenate([some["epsilon"] for some in rows])).tolist()
    axes.set_xticks(budgets, list(map(number, budgets)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    plain_numbers(axes)
    axes.grid(axis="y")
    axes.set_xlabel("stated privacy budget $\\epsilon$ per owner")
    axes.set_ylabel("mean $\\psi$ at the end")
    figure.legend(handles=keys, loc="outside upper left", ncols=1)
    return figure


def _draw(axes: Axes, rows: Table, look: Mapping[str, Any]) -> None:
    """Draw one line and its band; what is not finite is left out."""
    low, mean, high = (
        np.where(np.isfinite(rows[name]), rows[name], np.nan)
        for name in ("psi_final_q25", "psi_final_mean", "psi_final_q75")
    )
    axes.fill_between(rows["epsilon"], low, high, color=look["color"], alpha=0.2, linewidth=0)
    axes.plot(rows["epsilon"], mean, **look)


def _line(name: str, **look: Any) -> Line2D:
    return Line2D([], [], linewidth=0.9, label=name, **look)


def _rows(each: PrivacySeries) -> Table:
    """Return what is drawn of one line: a row for every ε."""
    rows = []
    for epsilon, result in zip(each.at, each.results, strict=True):
        mean, low, high = mean_psi_at_end(result)
        quartiles = np.quantile(psi_of_replicates(result), (0.25, 0.75), method="nearest")
        rows.append(
            {"line": each.name, "epsilon": epsilon, "psi_final_mean": mean}
            | {"psi_final_mean_low": low, "psi_final_mean_high": high}
            | {"psi_final_q25": quartiles[0], "psi_final_q75": quartiles[1]}
            | {"projected": _projected(result), "noise_bound": _xi(result)}
            | label([result]).values()
        )
    return as_columns(rows)


def _caption(found: Sequence[PrivacySeries], rows: Sequence[Table]) -> str:
    del rows  # the results say more
    said = (
        "Mean over replicates of ψ of the last model against the ε that is stated (bands: 25–75 % "
        "of replicates), for ways to hide the records that otherwise learn alike, each with its "
        "guarantee; dashed: not private as claimed"
    )
    results = [result for each in found for result in each.results]
    bounds = [w for result in results for w in result.warnings if w.startswith(BOUNDS)]
    said += "".join(f"; {sentence}" for sentence in dict.fromkeys(bounds))
    active = [
        f"{100 * share:.2g} % of the updates of {each.name} at ε = {number(epsilon)}"
        for each in found
        for epsilon, result in zip(each.at, each.results, strict=True)
        if (share := _projected(result)) > 0
    ]
    said += f". Mean ψ over that of {found[0].name}: {_ratios(found)}"
    where = f"in {', '.join(active)}" if active else "in no update"
    return f"{said}. The projection onto Θ changed a model {where}."


def _ratios(found: Sequence[PrivacySeries]) -> str:
    """Return each line's mean ψ over the first line's, at the ε that both have."""
    means = [
        {e: mean_psi_at_end(r).value for e, r in zip(each.at, each.results, strict=True)}
        for each in found
    ]
    first = means[0]
    return "; ".join(
        f"{each.name} "
        + ", ".join(
            f"{number(mean[e] / first[e])} at ε = {number(e)}" for e in mean if first.get(e, 0) > 0
        )
        for each, mean in zip(found[1:], means[1:], strict=True)
    )


def _way(result: Result) -> str:
    """Return all of a scenario's privacy but ε, as a text."""
    said = {key: value for key, value in result.scenario["privacy"].items() if key != "epsilon"}
    return json.dumps(said, sort_keys=True)


def _bound(results: Sequence[Result]) -> str:
    """Return Ξ that noise is scaled for, in L1 or L2, such as ``Ξ₁ = 5``."""
    said = results[0].scenario["privacy"]
    norm = (said.get("sensitivity") or {}).get("norm")
    plain = gradient_norm(results[0].manifest)
    sign = "Ξ₁" if (norm or plain) == "l1" else "Ξ₂"
    known = sorted({xi for each in results if np.isfinite(xi := _xi(each))})
    return f"{sign} = {', '.join(f'{xi:.4g}' for xi in known)}" if known else "no bound"


def _xi(result: Result) -> float:
    found = as_float((result.manifest.get("constants") or {}).get("noise_bound"))
    return np.nan if found is None else found


def _projected(result: Result) -> float:
    """Return the share of updates in which the projection onto Θ changed a model."""
    count = as_float(result.summary.get("clip_count"))
    return np.nan if count is None else count / float(result.summary["updates"])


def _before(results: Sequence[Result]) -> float | None:
    """Return ψ before the first update, where it is the same in all runs."""
    starts = []
    for result in results:
        k, psi = result.columns("curve", "k", "relative_fitness")
        starts.append(psi[k == 0])
    known = np.concatenate(starts)
    same = len(known) > 0 and np.allclose(known, known[0], rtol=1e-3)
    return float(known[0]) if same and 0 < known[0] < np.inf else None


FIGURE = SweepFigure(
    "guarantees", series_of, lambda found: list(map(_rows, found)), panels, _caption
)
