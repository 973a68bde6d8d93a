"""Availability and fairness: how well a model serves owners that are online less."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analysis import one_panel
from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import Declaration, Layer, measured
from asyncdp_sim.figures.picture import row_labels
from asyncdp_sim.figures.style import THEORY, is_wide, looks, per_cent
from asyncdp_sim.figures.sweep_figure import Series, SweepFigure, owner_table, psi_of_replicates
from asyncdp_sim.results import Result, Sweep

SEED = "run.seed"
LEAST, MOST_SERIES = 3, 7  # availabilities that differ; lines


@dataclass(frozen=True)
class SeedSeries(Series):
    """The cells that learn alike, one for each seed and so for each draw of the owners' data."""

    @property
    def online(self) -> Array:
        """The probability that an owner is online, shape (N,)."""
        return np.array(_online(self.results[0]))

    @cached_property
    def relative(self) -> Array:
        """Mean loss on own held-out rows over that of θ*, by seed and owner, shape (S, N)."""
        joint, best = (
            np.stack([result.of_owners(f"held_out_{of}").mean(axis=0) for result in self.results])
            for of in ("loss", "optimum")
        )
        return np.asarray(joint / best)

    @property
    def psi(self) -> float:
        """Mean of ψ of the last model over seeds and replicates."""
        return float(np.concatenate(list(map(psi_of_replicates, self.results))).mean())


def select(sweep: Sweep) -> list[SeedSeries] | str:
    """Return a sweep's lines, or in words why it does not compare owners' losses.

    Cells that differ in their seed alone have owners of their own; their mean is the line.
    """
    results = [cell.result for cell in sweep.cells]
    if not all("held_out_optimum" in result.summary for result in results):
        return "no rows were held out"
    first = _online(results[0])
    if first is None or len(set(first)) < LEAST:
        return f"owners are not online with {LEAST} probabilities or more"
    if any(_online(result) != first for result in results):
        return "owners' availability is not the same in all cells"
    if min(first) == 0:
        return "some owners are never online"
    paths = [path for path in sweep.paths if path != SEED]
    series = SeedSeries.grouped(sweep.cells, lambda c: c.label(paths), lambda c: c.number)
    return series if len(series) <= MOST_SERIES else f"more than {MOST_SERIES} lines"


def declared(found: Sequence[SeedSeries], rows: Sequence[Columns]) -> Declaration:
    """Say each owner's held-out loss, over that of θ*, against how often it is online.

    Owners of all seeds are faint, below their mean with its standard error.
    """
    online, marks = found[0].online, list[Layer]()
    order = np.argsort(online, kind="stable")
    faint = {"linestyle": "none", "alpha": 0.3, "markersize": 3, "markeredgewidth": 0}
    for series, look in zip(found, looks(len(found), markersize=5), strict=True):
        marks += [Layer("line", online, row, look=look | faint) for row in series.relative]
        middle, error = series.relative.mean(axis=0), _error(series.relative)
        name = f"{series.name} (mean $\\psi$ {number(series.psi)})"
        values = np.array([middle, middle - error, middle + error])[:, order]
        marks.append(measured(online[order], values, name=name, linewidth=1.3, **look))
    dashed = {"color": THEORY, "linestyle": "--", "linewidth": 1}
    named = "as good as θ*: all records, without privacy"
    marks.append(Layer("level", y=1.0, name=named, look=dashed))
    losses = np.concatenate([series.relative.ravel() for series in found])
    x, y = {"ticks": online.tolist()}, {"log": is_wide(losses)}
    return one_panel.declared("fairness", served(rows), marks, 3.3, x, y)


def served(rows: Sequence[Columns]) -> str:
    """Return how well the owner that is online least is served, by line."""
    parts = []
    for table in rows:
        least = int(np.argmin(table["online"]))
        loss, error = table["relative_loss"][least], table["relative_loss_se"][least]
        spread = f" ± {2 * error:.2f}" if error > 0 else ""
        parts.append(f"{loss:.2f}{spread} with {table['line'][least]}".removesuffix(" with "))
    share = per_cent(float(rows[0]["online"].min()))
    return f"The owner online {share} of the time has this many times the loss of θ*: " + ", ".join(
        parts
    )


def _error(values: Array) -> Array:
    """Return the standard error of the mean over rows; 0 of one row, which has none to show."""
    if len(values) < 2:
        return np.zeros(values.shape[1])
    return np.asarray(values.std(axis=0, ddof=1) / np.sqrt(len(values)))


def _online(result: Result) -> list[float] | None:
    """Return the probability that each owner is online, where it has one of its own."""
    probability = result.scenario["availability"].get("probability")
    return [float(chance) for chance in probability] if isinstance(probability, list) else None


def _rows(each: SeedSeries) -> Columns:
    """Return what is drawn of one line: a row for every owner."""
    n_owners = len(each.online)
    return {
        "line": np.repeat([each.name], n_owners),
        **owner_table(each.results[0].participants),
        "online": each.online,
        "relative_loss": each.relative.mean(axis=0),
        "relative_loss_se": _error(each.relative),
        "seeds": np.repeat(len(each.relative), n_owners),
        **row_labels([each.results], n_owners),
    }


FIGURE = SweepFigure("fairness", select, _rows, declared, lambda *_: one_panel.text("fairness"))
STUDIES = {"availability-and-fairness": FIGURE}
