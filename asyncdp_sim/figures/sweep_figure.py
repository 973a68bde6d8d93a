"""Figures of sweeps: what is selected, its rows, its declaration, the caption."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.units import in_unit, unit_of
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.drawer import Declaration, reaches_zero
from asyncdp_sim.figures.kit.outcomes import OutcomeEstimate
from asyncdp_sim.figures.kit.picture import Picture, label, row_labels
from asyncdp_sim.results import Cell, Result, Sweep, not_a_result
from asyncdp_sim.scenario.labels import words


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
            raise not_a_result(sweep.directory, selected)
        rows = list(map(self.rows, selected))
        unit = unit_of(result.manifest["scenario"] for line in selected for result in line.results)
        said = _in_unit(self.declared(selected, rows), unit)
        table = {name: np.concatenate([part[name] for part in rows]) for name in rows[0]}
        figure_label = label([result for line in selected for result in line.results])
        caption = self.caption(selected, rows)
        if reaches_zero(said):
            caption += " Arrows at the frame: intervals that reach 0, which no such axis shows."
        return Picture(self.name, said, table, caption, figure_label)


def _in_unit(said: Declaration, unit: str | None) -> Declaration:
    """Return a declaration whose times are in a named unit, if they have one."""
    panels = [
        replace(
            panel,
            x=replace(panel.x, name=in_unit(panel.x.name, unit)),
            y=replace(panel.y, name=in_unit(panel.y.name, unit)),
        )
        for panel in said.panels
    ]
    return replace(said, panels=panels, title=in_unit(said.title, unit))


def least(rows: Sequence[Columns], what: str, called: str, *names: str) -> str:
    """Return in a sentence where a figure is least, its interval, and how many others meet it.

    Parameters
    ----------
    rows : sequence of Columns
        The table in parts.
    what : str
        Column of the figure; two more have the ends of its intervals.
    called : str
        The figure in words.
    *names : str
        Columns that say which setting a row is of: texts, or values of the path of this name.
    """
    value, low, high = np.concatenate([ends(table, what) for table in rows], axis=1)
    if not np.isfinite(value).any():
        return f"No setting has a finite {called}"
    best = int(np.nanargmin(np.where(np.isfinite(value), value, np.nan)))
    given = [np.concatenate([table[name] for table in rows])[best] for name in names]
    setting = ", ".join(
        str(each) if isinstance(each, str) else words(name, float(each))
        for name, each in zip(names, given, strict=True)
        if str(each)
    )
    text = f"{called[0].upper()}{called[1:]} is least, {number(value[best])}"
    if np.isfinite([low[best], high[best]]).all() and low[best] < high[best]:
        text += f" ({number(low[best])} to {number(high[best])})"
        near = int(np.count_nonzero(low <= high[best])) - 1
        also = f"; {near} of {len(value) - 1} other intervals meet its own" * (near > 0)
    else:
        also = ""
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
