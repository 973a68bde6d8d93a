"""Figures of sweeps: what is selected, its rows, its declaration, the caption."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.units import in_unit, unit_of
from asyncdp_sim.figures.kit.drawer import Declaration, draw, reaches_zero
from asyncdp_sim.figures.kit.outcomes import OutcomeEstimate
from asyncdp_sim.figures.kit.picture import Picture, label, row_labels
from asyncdp_sim.results import Cell, Result, Sweep, not_a_result


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
        From series and rows to what is drawn.
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
            raise not_a_result(sweep.directory, selected)
        rows = list(map(self.rows, selected))
        figure = draw(self.declared(selected, rows))
        unit = unit_of(result.manifest["scenario"] for line in selected for result in line.results)
        for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
            axis.label.set_text(in_unit(axis.label.get_text(), unit))
        table = {name: np.concatenate([part[name] for part in rows]) for name in rows[0]}
        figure_label = label([result for line in selected for result in line.results])
        caption = self.caption(selected, rows)
        if reaches_zero(figure):
            caption += " Arrows at the frame: intervals that reach 0, which no such axis shows."
        return Picture(self.name, figure, table, caption, figure_label)


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
