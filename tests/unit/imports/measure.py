"""Simulated replicates as the tables that a measurement of them would give."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import to_units
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.trace import EventKind

COLUMNS = ("owner", "request", "read", "release", "end")


def measured(network: Network, file: Path, seed: int = 1, *, refused: bool = False) -> Path:
    """Write the table of one replicate, with the requests that were refused or without."""
    trace = simulate(network, Streams(seed).within("replicate", 1), events=True)
    found = trace.exchanges[trace.exchanges["outcome"] == 2]
    frame = pd.DataFrame({"owner": [f"bank {i}" for i in found["owner"]]})
    for name in COLUMNS[1:]:
        frame[name] = to_units(found[f"{name}_tick"])
    if refused:
        events = trace.events[trace.events["kind"] == EventKind.request_refused]
        more = pd.DataFrame({"owner": [f"bank {i}" for i in events["owner"]]})
        more["request"] = to_units(events["tick"])
        frame = pd.concat([frame, more])
    frame.sort_values("request").to_csv(file, index=False)
    return file


def shuffled(file: Path, seed: int) -> None:
    """Write the rows of a table in another order."""
    pd.read_csv(file).sample(frac=1, random_state=seed).to_csv(file, index=False)


def client_log(network: Network, file: Path, form: str, *, pause: float = 0.0) -> Path:
    """Write when each client was sent the model and answered, in seconds or in ISO 8601 times.

    ``pause`` is added before every round.
    """
    trace = simulate(network, Streams(1).within("replicate", 1))
    rows = trace.exchanges[trace.exchanges["outcome"] == 2]
    shift = pause * rows["read_k"]
    frame = pd.DataFrame({"client": [f"site-{owner}" for owner in rows["owner"]]})
    for name, step in (("sent", "read"), ("received", "end")):
        frame[name] = to_units(rows[f"{step}_tick"]) + shift
        if form == "iso":
            frame[name] = [_moment(time).isoformat() for time in frame[name]]
    frame.to_csv(file, index=False)
    return file


def _moment(seconds: float) -> datetime:
    return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=float(seconds))
