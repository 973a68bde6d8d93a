"""Figures of a page: every picture of a directory as inline SVG, with its caption as its words."""

from dataclasses import dataclass

from asyncdp_sim.figures.draw import pictures
from asyncdp_sim.figures.kit.planned import Shown
from asyncdp_sim.figures.kit.source import Result, Sweep
from asyncdp_sim.figures.kit.svg import inline

BUDGET = 3_000_000
"""Characters of all figures together."""


@dataclass(frozen=True)
class DrawnFigure:
    """A figure.

    Attributes
    ----------
    name : str
    inner : str
        Of its ``svg`` element.
    width, height : float
        In points.
    alt : str
        What it shows, in the words of its own caption.
    caption : str
        The same with its number; settings stand once on the page, and the label in the drawing.
    """

    name: str
    inner: str
    width: float
    height: float
    alt: str
    caption: str

    @property
    def box(self) -> str:
        """Its view box."""
        return f"0 0 {self.width:g} {self.height:g}"


def figures(opened: Result | Sweep, without: str) -> tuple[list[DrawnFigure], list[str]]:
    """Return the figures of a directory but for one, and notes on what is not drawn."""
    entries, notes = pictures(opened)
    kept = [entry for entry in entries if entry[0].name != without]
    each = BUDGET // max(1, len(kept))
    found = [drawn(entry, number, each) for number, entry in enumerate(kept, start=1)]
    return found, notes


def drawn(entry: Shown, number: int, largest: int, prefix: str = "figure") -> DrawnFigure:
    """Return one picture as it stands in the page."""
    picture, _ = entry
    inner, (width, height) = inline(picture, f"{prefix}-{number}", largest)
    caption = f"Figure {number}. {picture.caption}"
    return DrawnFigure(picture.name, inner, width, height, picture.caption, caption)
