"""Results of others, one command each, held against what was printed.

Only what was read is here, and every statement is quoted with its place; pages of ``docs/beyond``
say what was read, what came out, and which results of others are not here.
"""

from importlib import import_module

from scenarios.papers.figure import PaperFigure

_MODULES = (
    "muffliato", "observers.linear_systems", "decor", "absence", "waves", "lasting", "routing",
    "routing_accuracy", "devices", "observers.secure_sums",
)  # fmt: skip
RESULTS: tuple[PaperFigure, ...] = tuple(
    figure for name in _MODULES for figure in import_module(f"{__name__}.{name}").RESULTS
)
"""In the order of their page."""
