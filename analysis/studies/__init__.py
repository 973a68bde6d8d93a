"""Pictures of single entries of the catalogue; ``python -m scenarios NAME`` draws them too."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from asyncdp_sim.figures.sweep_figure import SweepFigure

_PLACES: Mapping[str, str] = {
    "async-05": "psi_lines.FIGURE",
    "async-06": "psi.ASYNC_06",
    "async-07": "psi_lines.FIGURE",
    "async-10": "psi.ASYNC_10",
    "availability-and-fairness": "fairness.FIGURE",
    "bias-of-absence": "where_it_ends.FIGURE",
    "collab-03": "psi_lines.FIGURE",
    "collab-06": "four_cases.FIGURE",
    "collab-08": "psi_lines.FIGURE",
    "collab-11": "four_cases.FIGURE",
    "correlated-noise": "psi.CORRELATED_NOISE",
    "hide-the-owner": "psi.HIDE_THE_OWNER",
    "owner-learner-collude": "collusion.FIGURE",
    "privacy-over-distance": "over_distance.FIGURE",
    "steps-against-staleness": "where_it_ends.FIGURE",
    "whom-to-ask": "whom_to_ask.FIGURE",
    "wifi-contention": "fixed_point.FIGURE",
}
"""By the entry's name: the module here, and the figure in it that is of the entry's sweep."""


def studies(name: str) -> dict[str, SweepFigure[Any]]:
    """Return an entry's own figure by its name; nothing for other names."""
    if name not in _PLACES:
        return {}
    module, figure = _PLACES[name].split(".")
    return {name: getattr(import_module(f"{__name__}.{module}"), figure)}
