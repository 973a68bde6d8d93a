"""The papers' figures, one command each, held against what was published."""

from scenarios.papers import (
    async_drawings,
    async_hospital,
    async_lending,
    collab,
    collab_optimum,
    polar,
)
from scenarios.papers.figure import PaperFigure

FIGURES: tuple[PaperFigure, ...] = (
    *async_drawings.FIGURES,
    *async_lending.FIGURES,
    *async_hospital.FIGURES,
    *collab.FIGURES,
    *collab_optimum.FIGURES,
    *polar.FIGURES,
)
"""Every figure of the papers, in their order."""

__all__ = ["FIGURES", "PaperFigure"]
