"""The papers' figures, one command each, held against what was published."""

from scenarios.papers import async_drawings, collab, collab_optimum, hospital, lending, polar
from scenarios.papers.figure import PaperFigure

_FILES = (async_drawings, lending, hospital, collab, collab_optimum, polar)
FIGURES: tuple[PaperFigure, ...] = tuple(figure for each in _FILES for figure in each.FIGURES)
"""Every figure of the papers, in their order."""

__all__ = ["FIGURES", "PaperFigure"]
