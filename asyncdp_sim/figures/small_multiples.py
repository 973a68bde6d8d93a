"""One figure of one network, or small multiples: the same panel for each of several."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.figures.axes import legend, wrapped
from asyncdp_sim.figures.picture import Picture, label, row_labels
from asyncdp_sim.figures.style import small_panels, style
from asyncdp_sim.results import Result

ACROSS = 2
NAME = 50  # letters of a panel's name in one line
WIDE = 20.0  # panels whose axes differ by more than this ratio have their own
LOW = 0.62  # height of one of several panels, over that of one alone


@dataclass(frozen=True)
class Panel:
    """A network that is drawn, and what sets it apart; a network alone has no name.

    Attributes
    ----------
    result : Result
        That is drawn.
    name : str
    others : sequence of Result
        Of the same network, for which it stands: they share its updates.
    """

    result: Result
    name: str = ""
    others: Sequence[Result] = ()

    @property
    def results(self) -> list[Result]:
        """All results whose updates are drawn."""
        return [self.result, *self.others]


Draw = Callable[[Axes, Result], tuple[Columns, str]]
"""Draws one result on axes; returns its numbers as columns, and its own caption."""


@dataclass(frozen=True)
class NetworkFigure:
    """A picture of networks, with a panel for each.

    Attributes
    ----------
    name : str
        Of the files.
    head : str
        What all panels show, as the caption begins.
    draw : callable
        Draws a panel.
    why_not : callable
        From a result to why it has no such picture; None if it has.
    height : float or callable
        Inches of a panel that stands alone; of the tallest, where panels differ.
    one_scale : str
        Axes that all panels have alike, ``y`` or ``xy``, unless one panel's would end at a
        twentieth of them or before.
    """

    name: str
    head: str
    draw: Draw
    why_not: Callable[[Result], str | None]
    height: float | Callable[[Sequence[Panel]], float] = 3.6
    one_scale: str = ""

    def of(self, result: Result) -> Picture:
        """Draw one network.

        Raises
        ------
        ResultError
            If the result kept no updates, or has none.
        """
        return self.picture([Panel(result)])

    def picture(self, shown: Sequence[Panel]) -> Picture:
        """Draw a panel for each of these networks; at least one."""
        height = self.height(shown) if callable(self.height) else self.height
        with style():
            alone = len(shown) == 1
            rows = -(-len(shown) // ACROSS)
            size = (6.5, height) if alone else (7.2, LOW * height * rows + 0.8)
            figure, several = small_panels(len(shown), *size)
            drawn = []
            for axes, panel in zip(several, shown, strict=True):
                drawn.append(self.draw(axes, panel.result))
                axes.set_title(wrapped(panel.name, NAME), loc="left", fontsize=7.5)
            for side in self.one_scale:
                limits = [getattr(axes, f"get_{side}lim")() for axes in several]
                low, high = min(low for low, _ in limits), max(high for _, high in limits)
                if high <= WIDE * min(high for _, high in limits):
                    for axes in several:
                        axes.set(**{f"{side}lim": (low, high)})
            for place, axes in enumerate(several):  # names of axes stand at the left and below
                if place < len(several) - ACROSS:
                    axes.set_xlabel("")
                if place % ACROSS > 0:
                    axes.set_ylabel("")
            keys: dict[str, Artist] = {}
            for axes in several:
                for artist, text in zip(*axes.get_legend_handles_labels(), strict=True):
                    keys.setdefault(text, artist)
            if keys:
                legend(figure, list(keys.values()), 4, right=alone)
        tables = [
            rows | row_labels([panel.results], len(next(iter(rows.values()))))
            for (rows, _), panel in zip(drawn, shown, strict=True)
        ]
        table = _stacked(tables, [panel.name for panel in shown])
        named = [
            f"{panel.name}: {sentence}" if panel.name else sentence
            for panel, (_, sentence) in zip(shown, drawn, strict=True)
        ]
        caption = f"{self.head}: {named[0]}."
        if len(shown) > 1:
            caption = f"{self.head}, a panel for each network. {'. '.join(named)}."
        results = [result for panel in shown for result in panel.results]
        if len(results) > len(shown):
            caption += " Cells with the same network have one panel."
        return Picture(self.name, figure, table, caption, label(results), exact=False)


def no_updates(result: Result) -> str | None:
    """Return why a picture of updates does not apply; None if it does."""
    return None if result.has("updates") else "no updates.parquet was kept"


def untimed(result: Result) -> str | None:
    """Return why a picture of times does not apply; None if it does."""
    still = result.summary["simulated_time"] == 0
    return no_updates(result) or ("nothing takes time" if still else None)


def _stacked(tables: Sequence[Columns], names: Sequence[str]) -> Columns:
    """Return tables as one, with a column for the network; what one lacks is NaN there."""
    if len(tables) == 1:
        return tables[0]
    sizes = [len(next(iter(table.values()))) for table in tables]
    stacked: Columns = {"network": np.repeat(list(names), sizes)}
    for column in dict.fromkeys(column for table in tables for column in table):
        parts = (
            table[column].tolist() if column in table else [np.nan] * size
            for table, size in zip(tables, sizes, strict=True)
        )
        stacked[column] = np.array(list(chain.from_iterable(parts)))
    return stacked
