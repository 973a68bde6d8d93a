"""The door for Python: what ``import asyncdp_sim as ad`` has, beside the command line."""

from asyncdp_sim.api.forecasts import Forecast
from asyncdp_sim.api.functions import (
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
from asyncdp_sim.api.results import Comparison, Result, Sweep
from asyncdp_sim.api.traces import Trace
from asyncdp_sim.audits import Audit
from asyncdp_sim.errors import (
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
