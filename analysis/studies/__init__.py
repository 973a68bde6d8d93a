"""Pictures of single entries of the catalogue; ``python -m scenarios NAME`` draws them too.

A module here has ``STUDIES``: by the name of an entry, the figure that is of its sweep.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from asyncdp_sim.figures.sweep_figure import SweepFigure


def every() -> dict[str, SweepFigure[Any]]:
    """Return all of them by their entry, in alphabetical order."""
    found: dict[str, SweepFigure[Any]] = {}
    for module in iter_modules(__path__):
        found |= import_module(f"{__name__}.{module.name}").STUDIES
    return dict(sorted(found.items()))


def studies(name: str) -> dict[str, SweepFigure[Any]]:
    """Return an entry's own figure by its name; nothing for other names."""
    return {entry: figure for entry, figure in every().items() if entry == name}
