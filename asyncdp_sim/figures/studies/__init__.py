"""Pictures that answer a single entry's own question, beyond the common ones."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

STUDIES: Mapping[str, tuple[str, str]] = {
    "collab-06": ("four_cases", "four_cases"),
    "collab-11": ("four_cases", "four_cases"),
    "data-market": ("data_market", "market_of"),
    "joules-against-accuracy": ("energy_frontier", "energy_frontier"),
    "privacy-over-distance": ("by_distance", "by_distance"),
    "value-of-aggregation": ("sums", "value_of_sums"),
    "value-of-local-steps": ("local_steps", "local_steps"),
    "value-of-subsampling": ("subsampling", "subsampling"),
    "whom-to-ask": ("whom_to_ask", "whom_to_ask"),
    "wifi-contention": ("fixed_point", "bianchi"),
}
"""By the entry's name: the module here, and its function from a sweep to a picture."""


def study(name: str) -> Any:
    """Return what draws an entry's own picture of its sweep; nothing for other names."""
    if name not in STUDIES:
        return None
    module, function = STUDIES[name]
    return getattr(import_module(f"{__name__}.{module}"), function)
