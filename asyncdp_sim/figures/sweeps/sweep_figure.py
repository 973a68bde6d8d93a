"""Figures of sweeps as specifications: what is selected, its rows, the panels, the caption."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.privacy_label import label
from asyncdp_sim.figures.kit.source import Result, Sweep, not_a_result
from asyncdp_sim.figures.kit.style import style

Table = dict[str, npt.NDArray[Any]]


class Shown(Protocol):
    """One line of a figure: all that is asked of it here is whose results it shows."""

    @property
    def results(self) -> tuple[Result, ...]:
        """The results that are shown."""


S = TypeVar("S", bound=Shown)


@dataclass(frozen=True)
class Series:
    """The cells of one line, in ascending order of the numbers ``at`` which they are drawn."""

    name: str
    at: tuple[Any, ...]
    results: tuple[Result, ...]

    @classmethod
    def sorted(cls, lines: Mapping[str, Mapping[Any, Result]]) -> list[Self]:
        """Return a series for each line, from its results by number."""
        return [
            cls(name, tuple(sorted(line)), tuple(line[number] for number in sorted(line)))
            for name, line in lines.items()
        ]


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
        From the series to the numbers of each, as columns: the CSV is all of them.
    panels : callable
        From series and rows to the drawn figure.
    caption : callable
        From series and rows to what is said below.
    """

    name: str
    select: Callable[[Sweep], list[S] | str]
    rows: Callable[[Sequence[S]], list[Table]]
    panels: Callable[[Sequence[S], Sequence[Table]], Figure]
    caption: Callable[[Sequence[S], Sequence[Table]], str]

    def why_not(self, sweep: Sweep) -> str | None:
        """Return in words why a sweep has no such figure; None if it has."""
        found = self.select(sweep)
        return found if isinstance(found, str) else None

    def picture(self, sweep: Sweep) -> Picture:
        """Draw it.

        Raises
        ------
        ResultError
            If there is nothing to draw, or a table is damaged.
        """
        found = self.select(sweep)
        if isinstance(found, str):
            raise not_a_result(sweep.directory, found)
        rows = self.rows(found)
        with style():
            figure = self.panels(found, rows)
        table = {name: np.concatenate([some[name] for some in rows]) for name in rows[0]}
        said = label([result for each in found for result in each.results])
        return Picture(self.name, figure, table, self.caption(found, rows), said)


def as_columns(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return rows of one set of names as columns."""
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def of_owners(result: Result, name: str) -> npt.NDArray[np.float64]:
    """Return the mean over replicates of a column of ``owners``, shape (N,)."""
    (values,) = result.columns("owners", name)
    return np.asarray(values.reshape(-1, result.n_owners).mean(axis=0))


def strokes(value: Any, low: Any, high: Any) -> npt.NDArray[np.float64]:
    """Return the lengths of error bars, shape (2, J); 0 where an end is not known."""
    return np.nan_to_num(np.abs([value - low, high - value]))


def draw_rows(axes: Axes, rows: Table, x: str, what: str, look: Mapping[str, Any]) -> None:
    """Draw a column against another, its interval in ``_low`` and ``_high`` as strokes."""
    value, low, high = (rows[f"{what}{end}"] for end in ("", "_low", "_high"))
    axes.errorbar(rows[x], value, yerr=strokes(value, low, high), **look)


def key(name: str, shade: str, marker: str) -> Line2D:
    """Return what stands in the legend for a line with markers."""
    return Line2D([], [], color=shade, marker=marker, markersize=4, linewidth=1.1, label=name)
