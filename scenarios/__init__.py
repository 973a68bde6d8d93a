"""The catalogue of scenarios, and the command that runs one and draws its figures.

Names are found when they are first used, as the command hears Ctrl-C from its first moment on.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncdp_sim.scenario.catalogue import Entry, entry

__all__ = ["Entry", "entry"]


def __getattr__(name: str) -> Any:
    """Return a public name, from where it is at home."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("asyncdp_sim.scenario.catalogue"), name)
