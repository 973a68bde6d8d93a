"""The value of collaboration: who profits from joining, at which ε, under which budget."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, PercentFormatter

from asyncdp_sim.figures.kit.numbers import number, wrapped
from asyncdp_sim.figures.kit.outcomes import mean_psi_at_end
from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.privacy_label import label
from asyncdp_sim.figures.kit.source import Result, Sweep, not_a_result
from asyncdp_sim.figures.kit.style import MARKERS, colours, panels, plain_numbers, style
from asyncdp_sim.figures.sweeps.guarantees import PrivacySeries, series_of

Array = npt.NDArray[np.float64]
APART = 1.16
"""Ratio of ε between the marks of two budgets at one ε, so that they stand side by side."""


def why_not(sweep: Sweep) -> str | None:
    """Return in words why a sweep does not tell who profits under which budget; None if it does."""
    found = series_of(sweep)
    if isinstance(found, str):
        return found
    results = [result for each in found for result in each.results]
    if not all("profits_psi" in result.summary for result in results):
        return "owners alone are not known: run.alone"
    first = _of_owners(results[0], "psi_alone")
    if not all(np.array_equal(_of_owners(each, "psi_alone"), first) for each in results):
        return "owners are not the same in all cells"
    return None


def picture(sweep: Sweep) -> Picture:
    """Draw the share of owners that profit against ε for each budget, and which, by their size.

    An owner profits by ψ where the mean of ψ at the end is below ψ(θ_i*), and by its own held-out
    rows where their mean loss under the final models is below that under θ_i*.

    Raises
    ------
    ResultError
        If this is not known, or a table is damaged.
    """
    reason, found = why_not(sweep), series_of(sweep)
    if reason is not None or isinstance(found, str):
        raise not_a_result(sweep.directory, str(reason))
    results = [result for each in found for result in each.results]
    rows = [_rows(each) for each in found]
    table = {name: np.concatenate([some[name] for some in rows]) for name in rows[0]}
    unseen = not np.isnan(table["profits_held_out"].astype(float)).any()
    with style():
        figure, (above, below) = panels((1.0, 1.5), height=5.4 + 0.2 * len(found))
        keys = []
        for place, (each, some) in enumerate(zip(found, rows, strict=True)):
            shade, marker = colours(len(found))[place], (MARKERS * 2)[place]
            look: dict[str, Any] = {"color": shade, "marker": marker, "markersize": 4.5}
            n_owners = results[0].n_owners
            share = some["profits_psi"].reshape(-1, n_owners).mean(axis=1)
            above.plot(each.epsilon, share, linewidth=1.3, **look)
            if unseen:
                share = some["profits_held_out"].reshape(-1, n_owners).mean(axis=1)
                plain = look | {"markerfacecolor": "white", "linestyle": "--", "linewidth": 0.9}
                above.plot(each.epsilon, share, zorder=1.5, **plain)
            gains = some["profits_psi"].astype(bool)
            beside = APART ** (place - (len(found) - 1) / 2)
            below.plot(
                some["epsilon"][gains] * beside, some["records"][gains], linestyle="none", **look
            )
            keys.append(Line2D([], [], label=wrapped(each.legend), linewidth=1.3, **look))
        if unseen:
            said = "the same, by the owner's own held-out rows instead of ψ"
            gray: dict[str, Any] = {"color": "#666666", "marker": "o", "markerfacecolor": "white"}
            keys.append(Line2D([], [], label=said, linestyle="--", markersize=4.5, **gray))
        _scale(above, below, results)
        figure.legend(handles=keys, loc="outside upper left", ncols=1)
    return Picture("collaboration", figure, table, _caption(found, rows, unseen), label(results))


def _scale(above: Axes, below: Axes, results: Sequence[Result]) -> None:
    """Scale the axes of both panels and name them."""
    budgets = sorted({float(each.scenario["privacy"]["epsilon"]) for each in results})
    sizes = _of_owners(results[0], "records")
    below.set_xscale("log")
    below.set_xticks(budgets, list(map(number, budgets)))
    below.xaxis.set_minor_formatter(NullFormatter())
    below.set_xlim(budgets[0] / 1.5, budgets[-1] * 1.5)
    above.set_ylim(-0.04, 1.04)
    above.yaxis.set_major_formatter(PercentFormatter(1.0))
    above.set_ylabel("owners that profit")
    below.set_yscale("log")
    below.set_ylim(sizes.min() / 1.3, sizes.max() * 1.3)
    plain_numbers(below)
    below.set_ylabel("who profits (by $\\psi$):\nrows trained on $n_i$")
    below.set_xlabel("privacy budget $\\epsilon$ per owner")
    for axes in (above, below):
        axes.grid(axis="y")


def _rows(series: PrivacySeries) -> dict[str, npt.NDArray[Any]]:
    """Return what is drawn of one budget: a row for every ε and owner."""
    rows: list[dict[str, npt.NDArray[Any]]] = []
    for epsilon, result in zip(series.epsilon, series.results, strict=True):
        alone, n_owners = _of_owners(result, "psi_alone"), result.n_owners
        mean = mean_psi_at_end(result).value
        held = np.full(n_owners, np.nan)
        if "profits_held_out" in result.summary:
            joint, own = (_of_owners(result, f"held_out_{name}") for name in ("loss", "alone"))
            held = (own > joint).astype(float)
        said = {"line": series.name, "epsilon": epsilon, "psi_final_mean": mean}
        said |= label([result]).values()
        rows.append(
            {name: np.full(n_owners, value) for name, value in said.items()}
            | {"owner": np.arange(1, n_owners + 1), "records": _of_owners(result, "records")}
            | {"psi_alone": alone, "profits_psi": (alone > mean).astype(int)}
            | {"profits_held_out": held}
        )
    return {name: np.concatenate([each[name] for each in rows]) for name in rows[0]}


def _of_owners(result: Result, name: str) -> Array:
    """Return the mean over replicates of a column of ``owners``, shape (N,)."""
    (values,) = result.columns("owners", name)
    return np.asarray(values.reshape(-1, result.n_owners).mean(axis=0))


def _caption(
    found: Sequence[PrivacySeries], rows: Sequence[dict[str, npt.NDArray[Any]]], unseen: bool
) -> str:
    told = []
    for each, some in zip(found, rows, strict=True):
        n_owners = each.results[0].n_owners
        counts = some["profits_psi"].reshape(-1, n_owners).sum(axis=1)
        listed = ", ".join(
            f"{count} at ε = {number(epsilon)}"
            for epsilon, count in zip(each.epsilon, counts, strict=True)
            if count > 0
        )
        told.append(f"{each.name}: {listed or 'nobody at any ε'}")
    held = " Hollow and dashed: who profits by the loss on its own held-out rows." if unseen else ""
    return (
        "Above: the share of owners that profit from joining, whose own optimum θ_i*, learned "
        "alone and without noise, has a larger ψ than the final models in the mean over "
        f"replicates, against ε, for each budget and its guarantee.{held} Below: each mark is an "
        "owner that profits by ψ, at its number of rows trained on; budgets stand side by side. Of "
        f"{found[0].results[0].n_owners} owners profit by ψ: {'; '.join(told)}."
    )
