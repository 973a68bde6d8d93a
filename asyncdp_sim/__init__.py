"""Discrete-event simulation of asynchronous networks that learn under differential privacy.

``import asyncdp_sim as ad`` loads next to nothing: names are found when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncdp_sim.api.functions import (
        audit,
        audit_answers,
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
    from asyncdp_sim.api.results import Comparison, Result, Sweep
    from asyncdp_sim.api.traces import Forecast, Trace
    from asyncdp_sim.audits import Audit
    from asyncdp_sim.core.errors import (
        AsyncDPError,
        AsyncDPWarning,
        DataError,
        InputError,
        MachineError,
        ReplayError,
        ResultError,
        SpecError,
    )
    from asyncdp_sim.scenario import Scenario

__version__ = "0.2.0"

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
    "audit_answers",
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
    """Return a public name: an error, or a function or what functions take and return."""
    if name not in __all__:
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        raise import_module(f"{__name__}.api").no_attribute(__name__, name, __all__)
    errors = import_module(f"{__name__}.core.errors")
    home = errors if hasattr(errors, name) else import_module(f"{__name__}.api.functions")
    return getattr(home, name)


def __dir__() -> list[str]:
    return sorted([*(name for name in globals() if name.startswith("__")), *__all__])
