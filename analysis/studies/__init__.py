"""Pictures of single entries of the catalogue; ``python -m scenarios NAME`` draws them too."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from asyncdp_sim.figures.sweep_figure import SweepFigure

_MODULES: Mapping[str, str] = {
    "bias-of-absence": "where_it_ends",
    "collab-06": "four_cases",
    "collab-11": "four_cases",
    "privacy-over-distance": "over_distance",
    "steps-against-staleness": "where_it_ends",
    "whom-to-ask": "whom_to_ask",
    "wifi-contention": "fixed_point",
}
"""By the entry's name: the module here whose FIGURE is of the entry's sweep."""


def studies(name: str) -> dict[str, SweepFigure[Any]]:
    """Return an entry's own figure by its name; nothing for other names."""
    if name not in _MODULES:
        return {}
    return {name: import_module(f"{__name__}.{_MODULES[name]}").FIGURE}
