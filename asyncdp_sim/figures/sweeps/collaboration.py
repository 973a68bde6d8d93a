"""The value of collaboration: owners that gain by joining, by ε and budget."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from asyncdp_sim.figures.kit.axes import key, legend, looks, number_ticks, scale, wrapped
from asyncdp_sim.figures.kit.outcomes import mean_psi_at_end, owner_table
from asyncdp_sim.figures.kit.picture import row_labels
from asyncdp_sim.figures.kit.style import panels as stacked_panels
from asyncdp_sim.figures.runs.profit import headline
from asyncdp_sim.figures.sweeps.guarantees import PrivacySeries, series_of
from asyncdp_sim.figures.sweeps.sweep_figure import SweepFigure, Table
from asyncdp_sim.results import Result, Sweep

Array = npt.NDArray[np.float64]
APART = 1.3
"""Ratio of ε between the marks of two budgets at one ε, so that they do not overlap."""


def select(sweep: Sweep) -> list[PrivacySeries] | str:
    """Return a sweep's budgets, or in words why it does not compare gains under them."""
    series = series_of(sweep)
    if isinstance(series, str):
        return series
    results = [result for item in series for result in item.results]
    if not all("profits_psi" in result.summary for result in results):
        return "owners alone are not known: run.alone"
    first = _mean(results[0], "psi_alone")
    if not all(np.array_equal(_mean(item, "psi_alone"), first) for item in results):
        return "owners are not the same in all cells"
    return series


def panels(found: Sequence[PrivacySeries], rows: Sequence[Table]) -> Figure:
    """Draw the share of owners that gain against ε for each budget, and which, by their size.

    Where rows are held out, an owner gains whose own ones the final models err less on than θ_i*,
    in the mean; else one with ψ(θ_i*) above the mean of ψ at the end.
    """
    unseen = _unseen(rows)
    decides = "profits_held_out" if unseen else "profits_psi"
    figure, (above, below) = stacked_panels((1.0, 1.5), height=5.4 + 0.2 * len(found))
    keys = []
    lines = zip(found, rows, looks(len(found), markersize=4.5), strict=True)
    for place, (line, table, look) in enumerate(lines):
        above.plot(line.at, _shares(line, table, decides), linewidth=1.3, **look)
        if unseen:
            plain = look | {"markerfacecolor": "white", "linestyle": "--", "linewidth": 0.9}
            above.plot(line.at, _shares(line, table, "profits_psi"), zorder=1.5, **plain)
        gains = table[decides].astype(bool)
        beside = APART ** (place - (len(found) - 1) / 2)
        below.plot(
            table["epsilon"][gains] * beside, table["records"][gains], linestyle="none", **look
        )
        keys.append(key(wrapped(line.legend), linewidth=1.3, **look))
    if unseen:
        name = "owners for which the joint model has a smaller $\\psi$ (fits all records better)"
        gray: dict[str, Any] = {"color": "#666666", "marker": "o", "markerfacecolor": "white"}
        keys.append(key(name, linestyle="--", markersize=4.5, **gray))
    _scale(above, below, found)
    legend(figure, keys)
    return figure


def _shares(each: PrivacySeries, rows: Table, which: str) -> Array:
    """Return the share of owners that gain at each ε, or have a larger ψ alone."""
    return np.asarray(rows[which].reshape(len(each.at), -1).mean(axis=1))


def _unseen(rows: Sequence[Table]) -> bool:
    """Whether held-out rows decide which owners gain."""
    return not any(np.isnan(table["profits_held_out"].astype(float)).any() for table in rows)


def _scale(above: Axes, below: Axes, found: Sequence[PrivacySeries]) -> None:
    """Scale the axes of both panels and name them."""
    budgets = [epsilon for series in found for epsilon in series.at]
    sizes = _mean(found[0].results[0], "records")
    above.set_ylim(-0.04, 1.04)
    above.yaxis.set_major_formatter(PercentFormatter(1.0))
    scale(above, "", ylabel="owners that gain")
    below.set(xlim=(min(budgets) / 1.5, max(budgets) * 1.5))
    below.set(ylim=(sizes.min() / 1.3, sizes.max() * 1.3))
    scale(below, "xy", ylabel="who gains:\nrows trained on $n_i$")
    below.set_xlabel("privacy budget $\\epsilon$ per owner")
    number_ticks(below, budgets)


def _rows(series: PrivacySeries) -> Table:
    """Return what is drawn of one budget: a row for every ε and owner."""
    rows: list[Table] = []
    for epsilon, result in zip(series.at, series.results, strict=True):
        mean, alone = mean_psi_at_end(result).value, _mean(result, "psi_alone")
        held = np.full(result.n_owners, np.nan)
        if "profits_held_out" in result.summary:
            score = headline(result.summary)
            joint, own = (_mean(result, f"held_out_{score.name}{end}") for end in ("", "_alone"))
            held = (joint > own if score.more_is_better else own > joint).astype(float)
        constants = {"line": series.name, "epsilon": epsilon, "psi_final_mean": mean}
        rows.append(
            {name: np.full(result.n_owners, value) for name, value in constants.items()}
            | owner_table(result.participants)
            | {"records": _mean(result, "records")}
            | {"psi_alone": alone, "profits_psi": (alone > mean).astype(int)}
            | {"profits_held_out": held}
            | row_labels([[result]], [result.n_owners])
        )
    return {name: np.concatenate([table[name] for table in rows]) for name in rows[0]}


def _mean(result: Result, name: str) -> Array:
    """Return the mean over replicates of a column of ``owners``, shape (N,)."""
    return np.asarray(result.of_owners(name).mean(axis=0))


def _caption(found: Sequence[PrivacySeries], rows: Sequence[Table]) -> str:
    smaller = "whose own optimum θ_i*, learned alone and without noise, has a larger ψ"
    gainers = f"{smaller} than the final models in the mean over replicates"
    if _unseen(rows):
        gainers = (
            "that have a smaller held-out error with the final models (mean over replicates) than "
            "with their own optimum θ_i*, learned alone without noise (hollow and dashed: owners "
            f"{smaller} than the final models)"
        )
    return (
        f"Above: the share of {found[0].results[0].n_owners} owners that gain by joining, "
        f"{gainers}, against ε, for each budget and its guarantee. Below: each mark is an owner "
        "that gains, at its number of training rows; budgets are shifted slightly."
    )


FIGURE = SweepFigure("collaboration", select, _rows, panels, _caption)
