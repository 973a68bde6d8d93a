"""Results of others, one command each, held against what was printed.

Only what was read is here, and every statement is quoted with its place; ``docs/beyond.md`` says
what was read of each, what came out, and which results of others are not here.
"""

from scenarios.beyond import absence, devices, lasting, muffliato, routing, routing_accuracy, waves
from scenarios.papers.figure import PaperFigure

RESULTS: tuple[PaperFigure, ...] = (
    *muffliato.RESULTS,
    *absence.RESULTS,
    *waves.RESULTS,
    *lasting.RESULTS,
    *routing.RESULTS,
    *routing_accuracy.RESULTS,
    *devices.RESULTS,
)
"""In the order of their page."""

__all__ = ["RESULTS"]
