"""Figures of papers run in their small size, drawn, and judged."""

from collections.abc import Sequence
from pathlib import Path

from scenarios.papers.claims import Judged
from scenarios.papers.figure import PaperFigure
from scenarios.papers.verify import verify


def verdicts(
    figure: PaperFigure, out: Path, *more: str, variants: Sequence[str] = ()
) -> list[Judged]:
    """Return what is found of a figure in ``out``, with some settings changed."""
    return verify([figure], out, full=False, workers=1, variants=variants, more=more, say=str)
