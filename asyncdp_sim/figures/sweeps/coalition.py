"""The value of a coalition: what the first m owners learn together, as ever more of them join."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from asyncdp_sim.figures.kit.numbers import number
from asyncdp_sim.figures.kit.outcomes import mean_psi_at_end
from asyncdp_sim.figures.kit.source import Result, Sweep
from asyncdp_sim.figures.kit.style import (
    FEW_OWNERS,
    MARKERS,
    THEORY,
    colours,
    plain_numbers,
)
from asyncdp_sim.figures.kit.style import (
    panels as stacked_panels,
)
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table, as_columns, strokes

Array = npt.NDArray[np.float64]
MEMBERS = "availability.probability"
LEAST, MOST_SERIES = 3, 5  # coalitions, and lines
FIRST = 0  # whose own held-out rows judge every coalition, from 0


def select(sweep: Sweep) -> list[Series] | str:
    """Return a sweep's coalitions, or in words why it has none.

    A coalition is the owners that are always online, where all others never are; each must hold
    the smaller ones. The others' records still count in f, so that ψ is of one objective.
    """
    if MEMBERS not in sweep.paths:
        return "who takes part is not swept"
    others = [path for path in sweep.paths if path != MEMBERS]
    found: dict[str, dict[int, Result]] = {}
    for cell in sweep.cells:
        count = _members(cell.result)
        if count is None:
            return "an owner that is online at times is neither in nor out"
        if cell.result.summary["updates"] > 0:
            found.setdefault(cell.label(others), {})[count] = cell.result
    if len(found) == 0 or min(map(len, found.values())) < LEAST:
        return f"fewer than {LEAST} coalitions"
    if len(found) > MOST_SERIES:
        return f"{len(found)} lines, more than {MOST_SERIES}"
    sizes = [_of_owners(cell.result, "records") for cell in sweep.cells]
    if not all(np.array_equal(each, sizes[0]) for each in sizes):
        return "owners are not the same in all cells"
    return Series.sorted(found)


def panels(found: Sequence[Series], rows: Sequence[Table]) -> Figure:
    """Draw ψ of all records, and the first owner's held-out loss, against who has joined."""
    both = _judged_twice(rows)
    figure, shown = stacked_panels((1.0, 1.0) if both else (1.0,), height=5.8 if both else 3.8)
    looks = list(zip(colours(len(found)), MARKERS * 2, strict=False))
    keys = []
    for place, (some, (shade, marker)) in enumerate(zip(rows, looks, strict=False)):
        size = 4 + 1.8 * (len(rows) - 1 - place)  # lines that coincide remain visible
        look: dict[str, Any] = {"color": shade, "marker": marker, "markersize": size}
        for axes, what in zip(shown, ("psi_final_mean", "first"), strict=False):
            _draw(axes, some, what, look)
        keys.append(Line2D([], [], label=str(some["line"][0]) or "model", **look))
    ring: dict[str, Any] = {"marker": "o", "markersize": 10, "markerfacecolor": "none"}
    ring |= {"linestyle": "none", "color": "#444444", "label": "the best coalition"}
    keys.append(Line2D([], [], **ring))
    shown[0].set_ylabel("mean $\\psi$ on all owners' records")
    if both:
        keys += _alone(shown[1], found[0].results[0])
        shown[1].set_ylabel("loss on owner 1's\nheld-out rows, over that of θ*")
    for axes in shown:
        axes.set_yscale("log")
        plain_numbers(axes)
        axes.grid(axis="y")
    _joined(shown[-1], found)
    figure.legend(handles=keys, loc="outside upper left", ncols=2)
    return figure


def _judged_twice(rows: Sequence[Table]) -> bool:
    """Whether held-out rows judge the coalitions too."""
    return "held_out" in rows[0]


def _draw(axes: Axes, rows: Table, what: str, look: Any) -> None:
    """Draw one line, and a ring around its least value."""
    value, low, high = (rows[f"{what}{end}"] for end in ("", "_low", "_high"))
    errors = strokes(value, low, high)
    errors[0] = np.minimum(errors[0], 0.9 * value)  # a logarithmic axis has no place for less
    axes.errorbar(
        rows["members"], value, yerr=errors, linewidth=1.2, elinewidth=1.1, capsize=2, **look
    )
    best = int(np.argmin(value))
    axes.plot(
        rows["members"][best], value[best], "o", color=look["color"], markersize=11,
        markerfacecolor="none",
    )  # fmt: skip


def _alone(axes: Axes, result: Result) -> list[Line2D]:
    """Draw what owner 1's own optimum loses on its held-out rows, where it is known."""
    if "profits_held_out" not in result.summary:
        return []
    own, best = (_of_owners(result, f"held_out_{name}")[FIRST] for name in ("alone", "optimum"))
    look: dict[str, Any] = {"color": THEORY, "linestyle": ":", "linewidth": 1.2}
    axes.axhline(own / best, **look)
    return [Line2D([], [], label="θ_1*: owner 1 alone, without privacy", **look)]


def _joined(axes: Axes, found: Sequence[Series]) -> None:
    """Name the axis of coalitions; under each of few stands who came last, and what it brings."""
    largest = found[0].results[-1]
    records, epsilon = _of_owners(largest, "records"), _of_owners(largest, "epsilon")
    counts = sorted({count for each in found for count in each.at})
    if len(records) <= FEW_OWNERS:
        names = [f"{m}\n{number(records[m - 1])}\n{number(epsilon[m - 1])}" for m in counts]
        axes.set_xticks(counts, names)
        of = f" (of: {found[0].name})" if len(found) > 1 else ""
        axes.set_xlabel(
            "owners 1 to $m$ have joined; below, of the last to join:\n"
            f"rows trained on $n_m$, and $\\epsilon_m${of}"
        )
    else:
        axes.set_xlabel("owners 1 to $m$ have joined")


def _all_rows(found: Sequence[Series]) -> list[Table]:
    results = [result for each in found for result in each.results]
    unseen = all("held_out_optimum" in result.summary for result in results)
    return [_rows(each, unseen=unseen) for each in found]


def _rows(series: Series, *, unseen: bool) -> Table:
    """Return what is drawn of one line: a row for every coalition."""
    rows: list[dict[str, Any]] = []
    for members, result in zip(series.at, series.results, strict=True):
        psi, low, high = mean_psi_at_end(result)
        records, epsilon = _of_owners(result, "records"), _of_owners(result, "epsilon")
        row: dict[str, Any] = {"line": series.name, "members": members}
        row |= {"records": records[members - 1], "epsilon": epsilon[members - 1]}
        row |= {"psi_final_mean": psi, "psi_final_mean_low": low, "psi_final_mean_high": high}
        noise = np.sum(epsilon[:members] ** -2.0) / np.sum(records[:members]) ** 2
        row["noise_law"] = noise  # Σ 1/ε_i² over n²: Collab, Theorem 2
        if unseen:
            best = _of_owners(result, "held_out_optimum")[FIRST]
            (loss,) = result.columns("owners", "held_out_loss")
            relative = loss.reshape(-1, result.n_owners)[:, FIRST] / best
            error = relative.std(ddof=1) / np.sqrt(len(relative)) if len(relative) > 1 else 0.0
            middle = relative.mean()
            row |= {"first": middle, "first_low": middle - error, "first_high": middle + error}
            row["held_out"] = float(result.summary["held_out_final"]["mean"])
        rows.append(row)
    return as_columns(rows)


def _members(result: Result) -> int | None:
    """Return m where owners 1 to m are always online and all others never; None elsewhere."""
    given = result.scenario["availability"].get("probability")
    if not isinstance(given, list):
        return None
    online = [float(each) for each in given]
    count = online.count(1.0)
    return count if count > 0 and online == [1.0] * count + [0.0] * (len(online) - count) else None


def _of_owners(result: Result, name: str) -> Array:
    """Return a column of ``owners`` that is the same in all replicates, shape (N,)."""
    (values,) = result.columns("owners", name)
    return np.asarray(values[: result.n_owners])


def _caption(found: Sequence[Series], rows: Sequence[Table]) -> str:
    del found  # the rows have all
    told = []
    for some in rows:
        psi = some["psi_final_mean"]
        best, last = int(np.argmin(psi)), len(psi) - 1
        law = int(some["members"][np.argmin(some["noise_law"])])
        name = f"{some['line'][0]}: " if some["line"][0] else ""
        told.append(
            f"{name}least ψ with owners 1 to {some['members'][best]} "
            f"({number(psi[best])}; {number(psi[last])} once owner "
            f"{some['members'][last]} has joined; Σ 1/ε_i²/n² is least with {law})"
        )
    held = (
        " Below: the mean loss of the final model on owner 1's own held-out rows, over that of θ* "
        "(strokes: standard errors), beside that of owner 1's own optimum."
        if _judged_twice(rows)
        else ""
    )
    return (
        "What owners 1 to m learn together. Those who have not joined are never online, so that "
        "no answer of theirs is used; f, θ* and ψ are over the records of all, joined or not, so "
        "that coalitions are judged by one yardstick. Above: mean over replicates of ψ of the "
        f"last model (strokes: 95 % intervals).{held} Rings: the least value of each line. "
        f"{'; '.join(told)}."
    )


FIGURE = SweepFigure("coalition", select, _all_rows, panels, _caption)
