"""Pictures that answer a single entry's own question, beyond the common ones."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

STUDIES: Mapping[str, str] = {
    "async-06": "mean_psi:ASYNC_06",
    "async-10": "mean_psi:ASYNC_10",
    "bias-of-absence": "where_it_ends",
    "collab-06": "four_cases",
    "collab-11": "four_cases",
    "correlated-noise": "mean_psi:CORRELATED_NOISE",
    "hide-the-owner": "mean_psi:HIDE_THE_OWNER",
    "joules-against-accuracy": "energy_frontier",
    "owner-learner-collude": "collusion",
    "privacy-over-distance": "over_distance",
    "steps-against-staleness": "where_it_ends",
    "whom-to-ask": "whom_to_ask",
    "wifi-contention": "fixed_point",
}
"""By the entry's name: the module here whose FIGURE, or other name, is of the entry's sweep."""


def study(name: str) -> Any:
    """Return an entry's own figure; nothing for other names."""
    if name not in STUDIES:
        return None
    module, _, figure = STUDIES[name].partition(":")
    return getattr(import_module(f"{__name__}.{module}"), figure or "FIGURE")
