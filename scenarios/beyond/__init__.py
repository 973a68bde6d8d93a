"""Results of others, one command each, held against what was printed.

Only what was read is here, and every statement is quoted with its place; pages of ``docs/beyond``
say what was read, what came out, and which results of others are not here.
"""

from scenarios.beyond import (
    absence,
    devices,
    hidden_users,
    lasting,
    muffliato,
    pairwise,
    routing,
    routing_accuracy,
    waves,
)
from scenarios.beyond.observers import linear_systems, secure_sums
from scenarios.papers.figure import PaperFigure

_ROWS = (
    muffliato, linear_systems, pairwise, hidden_users, absence, waves, lasting, routing,
    routing_accuracy, devices, secure_sums,
)  # fmt: skip
RESULTS: tuple[PaperFigure, ...] = tuple(figure for each in _ROWS for figure in each.RESULTS)
"""In the order of their page."""
