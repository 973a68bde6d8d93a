"""Discrete-event simulation of asynchronous networks that learn under differential privacy.

``import asyncdp_sim as ad`` loads next to nothing: names are found when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncdp_sim.api import (
        AsyncDPError,
        AsyncDPWarning,
        Audit,
        Comparison,
        DataError,
        Forecast,
        InputError,
        MachineError,
        ReplayError,
        Result,
        ResultError,
        Scenario,
        SpecError,
        Sweep,
        Trace,
        audit,
        compare,
        forecast,
        load,
        open,
        plot,
        replay,
        run,
        simulate,
        sweep,
    )

__version__ = "0.1.0"

__all__ = [
    "AsyncDPError",
    "AsyncDPWarning",
    "Audit",
    "Comparison",
    "DataError",
    "Forecast",
    "InputError",
    "MachineError",
    "ReplayError",
    "Result",
    "ResultError",
    "Scenario",
    "SpecError",
    "Sweep",
    "Trace",
    "audit",
    "compare",
    "forecast",
    "load",
    "open",
    "plot",
    "replay",
    "run",
    "simulate",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """Return a public name, from where it is at home."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.api"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
