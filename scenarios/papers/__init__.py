"""The papers' figures, one command each, held against what was published."""

from scenarios.papers import async_drawings, collab, collab_optimum, polar
from scenarios.papers.figure import PaperFigure
from scenarios.papers.hospital import figures as hospital
from scenarios.papers.lending import figures as lending

FIGURES: tuple[PaperFigure, ...] = (
    *async_drawings.FIGURES,
    *lending.FIGURES,
    *hospital.FIGURES,
    *collab.FIGURES,
    *collab_optimum.FIGURES,
    *polar.FIGURES,
)
"""Every figure of the papers, in their order."""

__all__ = ["FIGURES", "PaperFigure"]
