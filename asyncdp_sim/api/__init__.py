"""The door for Python: what ``import asyncdp_sim as ad`` has, beside the command line."""

from asyncdp_sim.api.comparisons import Comparison
from asyncdp_sim.api.forecasts import Forecast
from asyncdp_sim.api.reading import compare, load, open, plot
from asyncdp_sim.api.results import Result, Sweep
from asyncdp_sim.api.traces import Trace
from asyncdp_sim.api.working import audit, forecast, replay, run, simulate, sweep
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
