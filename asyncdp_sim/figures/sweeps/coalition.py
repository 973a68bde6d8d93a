"""The value of a coalition: what the first m owners learn together, as ever more of them join."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.axes import BETTER, draw_line, key, legend, looks, scale, wrapped
from asyncdp_sim.figures.kit.outcomes import Estimate, mean_psi_at_end
from asyncdp_sim.figures.kit.style import FEW_OWNERS, THEORY, plain_text
from asyncdp_sim.figures.kit.style import panels as stacked_panels
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table, ends, estimates
from asyncdp_sim.results import Cell, Result, Sweep

Array = npt.NDArray[np.float64]
MEMBERS = "availability.probability"
LEAST, MOST_SERIES = 3, 5  # coalitions, and lines
LETTERS = 9  # of an owner's name in one line below the axis
FIRST = 0  # whose own held-out rows judge every coalition, from 0


@dataclass(frozen=True)
class Coalitions(Series):
    """The coalitions of one line, from the smallest to the largest."""

    unseen: bool
    """Whether held-out rows judge them too."""


def select(sweep: Sweep) -> list[Coalitions] | str:
    """Return a sweep's coalitions, or in words why it has none.

    A coalition is the owners that are always online, where all others never are; each must hold
    the smaller ones. The others' records still count in f, so that ψ is of one objective.
    """
    if MEMBERS not in sweep.paths:
        return "who takes part is not swept"
    rest = [path for path in sweep.paths if path != MEMBERS]
    if any(_members(cell) is None for cell in sweep.cells):
        return "an owner that is online at times is neither in nor out"
    cells = [cell for cell in sweep.cells if cell.result.summary["updates"] > 0]
    unseen = all("held_out_optimum" in cell.result.summary for cell in cells)
    series = Coalitions.grouped(cells, lambda c: c.label(rest), _members, unseen=unseen)
    if len(series) == 0 or min(len(item.at) for item in series) < LEAST:
        return f"fewer than {LEAST} coalitions"
    if len(series) > MOST_SERIES:
        return f"{len(series)} lines, more than {MOST_SERIES}"
    sizes = [cell.result.of_owners("records")[0] for cell in sweep.cells]
    if not all(np.array_equal(item, sizes[0]) for item in sizes):
        return "owners are not the same in all cells"
    return series


def panels(found: Sequence[Coalitions], rows: Sequence[Table]) -> Figure:
    """Draw ψ of all records, and the first owner's held-out loss, against the coalition."""
    both = found[0].unseen
    figure, shown = stacked_panels((1.0, 1.0) if both else (1.0,), height=5.8 if both else 3.8)
    keys = []
    for place, (table, look) in enumerate(zip(rows, looks(len(found)), strict=True)):
        look |= {"markersize": 4 + 1.8 * (len(rows) - 1 - place)}  # lines that coincide are seen
        for axes, column in zip(shown, ("psi_final_mean", "first"), strict=False):
            _draw(axes, table, column, look)
        keys.append(key(str(table["line"][0]) or "model", **look))
    ring: dict[str, Any] = {"marker": "o", "markersize": 10, "markerfacecolor": "none"}
    keys.append(key("the best coalition", linestyle="none", color="#444444", **ring))
    if both:
        keys += _alone(shown[1], found[0].results[0])
    titles = (
        f"mean $\\psi$, all owners' records\n{BETTER}",
        f"held-out loss of {_who(found)},\nover that of θ*",
    )
    for axes, name in zip(shown, titles, strict=False):
        scale(axes, ylabel=name)
    _joined(shown[-1], found)
    legend(figure, keys, 2)
    return figure


def _draw(axes: Axes, rows: Table, what: str, look: Any) -> None:
    """Draw one line, and a ring around its least value."""
    drawn = ends(rows, what)
    value = drawn[0]
    draw_line(axes, rows["members"], drawn, linewidth=1.2, elinewidth=1.1, **look)
    best = int(np.argmin(value))
    axes.plot(
        rows["members"][best], value[best], "o", color=look["color"], markersize=11,
        markerfacecolor="none",
    )  # fmt: skip


def _alone(axes: Axes, result: Result) -> list[Line2D]:
    """Draw what owner 1's own optimum loses on its held-out rows, where it is known."""
    if "profits_held_out" not in result.summary:
        return []
    own, best = (result.of_owners(f"held_out_{name}")[0][FIRST] for name in ("alone", "optimum"))
    look: dict[str, Any] = {"color": THEORY, "linestyle": ":", "linewidth": 1.2}
    axes.axhline(own / best, **look)
    return [key(r"$\theta_1^*$: owner 1 alone, without privacy", **look)]


def _joined(axes: Axes, found: Sequence[Coalitions]) -> None:
    """Label the axis of coalitions; under each of a few, the last owner and its settings."""
    largest = found[0].results[-1]
    records, epsilon = largest.of_owners("records")[0], largest.of_owners("epsilon")[0]
    counts = sorted({count for series in found for count in series.at})
    if len(records) <= FEW_OWNERS:
        owners = largest.participants
        names = [
            f"{wrapped(plain_text(owners.labels[m - 1]), LETTERS, 3)}\n{number(records[m - 1])}\n"
            f"{number(epsilon[m - 1])}"
            for m in counts
        ]
        axes.set_xticks(counts, names)
        of = f" (of: {found[0].name})" if len(found) > 1 else ""
        axes.set_xlabel(
            "owners 1 to $m$ have joined; below, of the last to join:\n"
            f"rows trained on $n_m$, and $\\epsilon_m${of}"
        )
    else:
        axes.set_xlabel("owners 1 to $m$ have joined")


def _who(found: Sequence[Coalitions]) -> str:
    """Return what the first owner is called."""
    return plain_text(found[0].results[0].participants.said(FIRST))


def _rows(line: Coalitions) -> Table:
    """Return what is drawn of one line: a row for every coalition."""
    last, noise = [], []
    for members, result in zip(line.at, line.results, strict=True):
        records, epsilon = result.of_owners("records")[0], result.of_owners("epsilon")[0]
        last.append((records[members - 1], epsilon[members - 1]))
        # Σ 1/ε_i² over n²: Collab, Theorem 2
        noise.append(np.sum(epsilon[:members] ** -2.0) / np.sum(records[:members]) ** 2)
    table = line.rows("line", "members", psi_final_mean=mean_psi_at_end)
    names = line.results[-1].participants.names
    if len(names) > 0:
        table["last_to_join"] = np.array([names[members - 1] for members in line.at])
    table |= dict(zip(("records", "epsilon"), np.array(last).T, strict=True))
    table["noise_law"] = np.array(noise)
    if line.unseen:
        means = [float(run.summary["held_out_final"]["mean"]) for run in line.results]
        table |= estimates("first", map(_first, line.results)) | {"held_out": np.array(means)}
    return table


def _first(result: Result) -> Estimate:
    """Return the loss on owner 1's held-out rows over that of θ*, and its standard error."""
    loss, best = (result.of_owners(f"held_out_{name}")[:, FIRST] for name in ("loss", "optimum"))
    relative = loss / best[0]
    error = relative.std(ddof=1) / np.sqrt(len(relative)) if len(relative) > 1 else 0.0
    middle = relative.mean()
    return Estimate(middle, middle - error, middle + error)


def _members(cell: Cell) -> int | None:
    """Return m where owners 1 to m are always online and all others never; None elsewhere."""
    probability = cell.result.scenario["availability"].get("probability")
    if not isinstance(probability, list):
        return None
    online = [float(chance) for chance in probability]
    count = online.count(1.0)
    return count if count > 0 and online == [1.0] * count + [0.0] * (len(online) - count) else None


def _caption(found: Sequence[Coalitions], rows: Sequence[Table]) -> str:
    del rows  # the results say more
    first_owner = found[0].results[0].participants.said(FIRST)
    held = (
        f" Below: the mean loss of the final model on the held-out rows of {first_owner}, over "
        "that of θ* (strokes: standard errors), and that of its own optimum."
        if found[0].unseen
        else ""
    )
    return (
        "The model that owners 1 to m learn jointly. The other owners are never online, so that "
        "their answers are not used; f, θ* and ψ are over the records of all owners, so "
        "that coalitions are comparable. Above: mean over replicates of ψ of the "
        f"last model (strokes: 95 % intervals).{held} Rings: the least value of each line."
    )


FIGURE = SweepFigure("coalition", select, _rows, panels, _caption)
