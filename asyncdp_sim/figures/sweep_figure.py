"""Figures of sweeps: figures of merit with intervals, series of cells, declarations, captions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.units import in_unit, unit_of
from asyncdp_sim.core.words import as_float, known, number
from asyncdp_sim.figures.drawer import Declaration, reaches_zero
from asyncdp_sim.figures.picture import CAPTIONS, Picture, label, row_labels
from asyncdp_sim.results import Cell, Result, Sweep, not_a_result
from asyncdp_sim.scenario import Participants
from asyncdp_sim.scenario.paths import words
from asyncdp_sim.theory.formulas import binomial_quantile, t_quantile

LEVEL = 0.95


class OutcomeEstimate(NamedTuple):
    """A value and the ends of its 95 % interval; NaN where they are not known."""

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")


def interval(summary: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Return the 95 % interval that a summary gives for one of its quantities; NaN without one."""
    pair = (summary.get("intervals") or {}).get(name)
    if isinstance(pair, list) and len(pair) == 2:
        low, high = (as_float(value) for value in pair)
        if low is not None and high is not None:
            return low, high
    middle, half = as_float(summary.get(name)), as_float(summary.get(f"{name}_ci95"))
    if middle is not None and half is not None:
        return middle - half, middle + half
    return float("nan"), float("nan")


def time_to_end(result: Result) -> OutcomeEstimate:
    """Return the mean time of update T, with Student's t; nothing unless all runs reach T."""
    k, time = result.last("k", "time")
    return mean_of(time) if len(k) > 0 and (k == result.updates).all() else OutcomeEstimate()


def psi_at_end(result: Result) -> OutcomeEstimate:
    """Return the median over replicates of ψ of the last model, with its exact interval.

    The interval is between order statistics: (x_(l), x_(R+1−l)) holds the median with probability
    1 − 2 P(Bin(R, 1/2) < l) ≥ 0.95, from 6 replicates on; of fewer it is their whole range.
    """
    psi = psi_of_replicates(result)
    if len(psi) == 0:
        return OutcomeEstimate()
    ordered = np.sort(psi)
    place = max(1, int(binomial_quantile((1 - LEVEL) / 2, len(ordered), 0.5)))
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1].mean()
    if len(ordered) == 1:
        return OutcomeEstimate(float(middle))
    return OutcomeEstimate(float(middle), float(ordered[place - 1]), float(ordered[-place]))


def mean_psi_at_end(result: Result) -> OutcomeEstimate:
    """Return the mean over replicates of ψ of the last model, with Student's t."""
    psi = psi_of_replicates(result)
    return mean_of(psi) if len(psi) > 0 and np.isfinite(psi).all() else OutcomeEstimate(np.inf)


def psi_of_replicates(result: Result) -> Array:
    """Return ψ of the last model of every replicate, shape (R,); what has overflowed is ∞."""
    (psi,) = result.last("relative_fitness")
    return np.where(np.isnan(psi), np.inf, psi)


def updates_made(result: Result) -> OutcomeEstimate:
    """Return the mean number of updates of a replicate."""
    return OutcomeEstimate(float(result.summary["updates"]) / max(1, len(result.replicates)))


def answers_paid(result: Result) -> OutcomeEstimate:
    """Return the mean number of answers that are charged for each one that is delivered."""
    if not result.has("owners"):
        return OutcomeEstimate()
    released, collided, lost = (
        result.of_owners(name).sum(axis=1) for name in ("answers_released", "collided", "lost")
    )
    return mean_of(released / np.maximum(released - collided - lost, 1))


def of_summary(name: str) -> Callable[[Result], OutcomeEstimate]:
    """Return what reads a quantity of the summary."""
    return lambda result: OutcomeEstimate(
        known(result.summary.get(name)), *interval(result.summary, name)
    )


_BY_ITSELF: dict[str, Callable[[Result], OutcomeEstimate]] = {
    "updates_made": updates_made, "time_to_end": time_to_end, "answers_paid": answers_paid,
    "psi_final_median": psi_at_end,
}  # fmt: skip
QUANTITIES: dict[str, tuple[str, Callable[[Result], OutcomeEstimate]]] = {
    name: (title, _BY_ITSELF.get(name) or of_summary(name))
    for name, title in CAPTIONS["axes"].items()
}
"""What pictures of sweeps show, by column: the text of an axis, and how values are read."""


def mean_of(values: Array) -> OutcomeEstimate:
    """Return the mean of values of replicates, shape (R,), with Student's t."""
    count, middle = len(values), float(values.mean())
    if count < 2:
        return OutcomeEstimate(middle)
    with np.errstate(over="ignore"):  # of models that diverge the interval is all numbers
        spread = float(values.std(ddof=1))
    half = t_quantile(count - 1, (1 + LEVEL) / 2) * spread / np.sqrt(count)
    return OutcomeEstimate(middle, middle - half, middle + half)


def owner_table(owners: Participants) -> Columns:
    """Return the columns that say which owner a row is of: its number, and its whole name."""
    named = {} if len(owners.names) == 0 else {"name": np.array(owners.names)}
    return {"owner": np.array(owners.numbers), **named}


class Shown(Protocol):
    """One line of a figure: all that is asked of it here is whose results it shows."""

    @property
    def results(self) -> Sequence[Result]:
        """The results that are shown."""


S = TypeVar("S", bound=Shown)


@dataclass(frozen=True)
class Series:
    """The cells of one line, in ascending order of the numbers ``at`` which they are drawn."""

    name: str
    at: tuple[Any, ...]
    cells: tuple[Cell, ...]

    @property
    def results(self) -> tuple[Result, ...]:
        """The results that are shown."""
        return tuple(cell.result for cell in self.cells)

    @classmethod
    def grouped(
        cls,
        cells: Iterable[Cell],
        name: Callable[[Cell], str],
        at: Callable[[Cell], Any],
        **more: Any,
    ) -> list[Self]:
        """Return a series for each name, in the order in which the cells have them.

        Parameters
        ----------
        cells : iterable of Cell
        name, at : callable
            Name of a cell's line, and the number at which the cell is drawn.
        **more
            What else all these series are.
        """
        lines: dict[str, list[Cell]] = {}
        for cell in cells:
            lines.setdefault(name(cell), []).append(cell)
        for group in lines.values():
            group.sort(key=at)
        return [
            cls(line, tuple(map(at, group)), tuple(group), **more) for line, group in lines.items()
        ]

    def rows(self, named: str, x: str, **columns: Callable[[Result], OutcomeEstimate]) -> Columns:
        """Return its name, its numbers, estimates with the ends of their intervals, and labels."""
        table: Columns = {named: np.repeat([self.name], len(self.at)), x: np.array(self.at)}
        for column, estimate in columns.items():
            table |= estimates(column, map(estimate, self.results))
        return table | row_labels([[result] for result in self.results])


@dataclass(frozen=True)
class SweepFigure(Generic[S]):
    """A figure of a sweep.

    Attributes
    ----------
    name : str
        Of its files.
    select : callable
        From a sweep to the series that are drawn, or in words why there are none.
    rows : callable
        From a series to its numbers, as columns: the CSV is those of all.
    declared : callable
        From series and rows to what is drawn; its title answers by the rows.
    caption : callable
        From series and rows to what is said below.
    """

    name: str
    select: Callable[[Sweep], Sequence[S] | str]
    rows: Callable[[S], Columns]
    declared: Callable[[Sequence[S], Sequence[Columns]], Declaration]
    caption: Callable[[Sequence[S], Sequence[Columns]], str]

    def why_not(self, sweep: Sweep) -> str | None:
        """Return in words why a sweep has no such figure; None if it has."""
        selected = self.select(sweep)
        return selected if isinstance(selected, str) else None

    def picture(self, sweep: Sweep) -> Picture:
        """Draw it.

        Raises
        ------
        ResultError
            If there is nothing to draw, or a table is damaged.
        """
        selected = self.select(sweep)
        if isinstance(selected, str):
            raise not_a_result(sweep.directory, "a sweep without this figure", selected)
        rows = list(map(self.rows, selected))
        unit = unit_of(result.manifest["scenario"] for line in selected for result in line.results)
        declared = self.declared(selected, rows)
        panels = [replace(p, x=p.x.in_unit(unit), y=p.y.in_unit(unit)) for p in declared.panels]
        declared = replace(declared, panels=panels, title=in_unit(declared.title, unit))
        table = {name: np.concatenate([part[name] for part in rows]) for name in rows[0]}
        figure_label = label([result for line in selected for result in line.results])
        caption = self.caption(selected, rows)
        if reaches_zero(declared):
            caption += " Arrows at the frame: intervals that reach 0, which no such axis shows."
        return Picture(self.name, declared, table, caption, figure_label)


def least_in_words(rows: Sequence[Columns], what: str, called: str, *names: str) -> str:
    """Return in a sentence where a quantity is least, its interval, and how many others meet it.

    Without an interval: how many other values are the same.

    Parameters
    ----------
    rows : sequence of Columns
        The table in parts.
    what : str
        Column of the quantity; two more have the ends of its intervals.
    called : str
        The quantity in words.
    *names : str
        Columns that say which setting a row is of: texts, or values of the path of this name.
    """
    value, low, high = np.concatenate([ends(table, what) for table in rows], axis=1)
    if not np.isfinite(value).any():
        return f"No setting has a finite {called}"
    best = int(np.nanargmin(np.where(np.isfinite(value), value, np.nan)))
    values = [np.concatenate([table[name] for table in rows])[best] for name in names]
    setting = ", ".join(
        str(item) if isinstance(item, str) else words(name, float(item))
        for name, item in zip(names, values, strict=True)
        if str(item)
    )
    text = f"{called[0].upper()}{called[1:]} is least, {number(value[best])}"
    if np.isfinite([low[best], high[best]]).all() and low[best] < high[best]:
        text += f" ({number(low[best])} to {number(high[best])})"
        near = int(np.count_nonzero(low <= high[best])) - 1
        also = f"; {near} of {len(value) - 1} other intervals meet its own" * (near > 0)
    else:
        same = int(np.count_nonzero(value == value[best])) - 1
        also = f"; {same} of {len(value) - 1} other values are the same" * (same > 0)
    return f"{text}, for {setting}{also}" if setting else text


def estimates(what: str, found: Iterable[OutcomeEstimate] | Array) -> Columns:
    """Return estimates as a column, and as two more the ends of their intervals."""
    columns = np.array(list(found), dtype=float).reshape(-1, 3).T
    return dict(zip((what, f"{what}_low", f"{what}_high"), columns, strict=True))


def ends(rows: Columns, what: str) -> Array:
    """Return a column of estimates and the ends of their intervals, shape (3, J)."""
    return np.array([rows[what], rows[f"{what}_low"], rows[f"{what}_high"]])


def is_number(value: Any) -> bool:
    """Return whether a swept value is a number."""
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
