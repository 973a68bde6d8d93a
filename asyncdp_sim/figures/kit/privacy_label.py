"""The privacy label on a figure, in words that cannot be missed."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from asyncdp_sim.figures.kit.source import Result
from asyncdp_sim.figures.kit.style import VERMILION
from asyncdp_sim.privacy import label as labels
from asyncdp_sim.privacy.label import COLUMNS, Label

POINTS = 7.0


def label(results: Sequence[Result]) -> Label:
    """Return the label of a figure that shows these results (at least one)."""
    return labels.label([result.manifest for result in results])


def row_labels(
    shown: Sequence[Sequence[Result]], rows: Sequence[int]
) -> dict[str, npt.NDArray[Any]]:
    """Return the label's columns of a table: of so many ``rows`` each the label of some results.

    Nothing where a row shows none.
    """
    said = [label(some) if len(some) > 0 else None for some in shown]
    return {
        name: np.repeat(np.array([getattr(each, name, None) for each in said], dtype=object), rows)
        for name in COLUMNS
    }


def named_guarantee(results: Sequence[Result]) -> str:
    """Return what these results guarantee, in a few words."""
    return labels.named_guarantee([result.manifest for result in results])


def put(figure: Figure, said: Label, of: str = "") -> None:
    """Write a label under the axes, what the figure is of before it; the layout makes room."""
    points = 72 * figure.get_figwidth()
    text = textwrap.fill(
        f"{of}. {said.text}" if of else said.text, width=int(points / (0.55 * POINTS))
    )
    mild = said.private is True and said.timing_accounted
    figure.supxlabel(
        text, x=0.01, ha="left", fontsize=POINTS, color="#444444" if mild else VERMILION
    )


__all__ = ["Label", "label", "named_guarantee", "put", "row_labels"]
