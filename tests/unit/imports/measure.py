"""Simulated replicates as the tables that a measurement of them would give."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
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
    frame = pd.read_csv(file)
    order = np.random.default_rng(seed).permutation(len(frame))
    frame.iloc[order].to_csv(file, index=False)


def client_log(network: Network, file: Path, form: str, *, pause: float = 0.0) -> Path:
    """Write when each client was sent the model and answered, as a table or as others log it.

    ``pause`` is added before every round.
    """
    trace = simulate(network, Streams(1).within("replicate", 1))
    rows = trace.exchanges[trace.exchanges["outcome"] == 2]
    shift = pause * rows["read_k"]
    sent, left, received = (
        to_units(rows[f"{name}_tick"]) + shift for name in ("read", "release", "end")
    )
    clients = [f"site-{owner}" for owner in rows["owner"]]
    if form in ("seconds", "iso"):
        frame = pd.DataFrame({"client": clients, "sent": sent, "received": received})
        if form == "iso":
            for name in ("sent", "received"):
                frame[name] = [_moment(time).isoformat() for time in frame[name]]
        frame.to_csv(file, index=False)
    elif form == "nvflare":
        file.write_text("\n".join(_nvflare(clients, sent, received)), encoding="utf-8")
    else:
        file.write_text("\n".join(_flower(clients, sent, left, received)), encoding="utf-8")
    return file


def _moment(seconds: float) -> datetime:
    return datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=float(seconds))


def _clock(seconds: float) -> str:
    return f"{_moment(seconds):%Y-%m-%d %H:%M:%S,%f}"[:-3]


def _nvflare(clients: list[str], sent: np.ndarray, received: np.ndarray) -> list[str]:
    """Return the lines of NVFlare's server that name a client's task."""
    lines = []
    for i, (client, start, end) in enumerate(zip(clients, sent, received, strict=True)):
        said = (
            f"ServerRunner - INFO - [identity=server, run=1, wf=scatter_and_gather, peer={client}]"
        )
        task = f"name=train, id={i:08x}-2edf"
        lines.append((start, 1, f"{said} - assigned task to client {client}: {task}"))
        lines.append((end, 0, f"{said} - got result from client {client} for task: {task}"))
    return [f"{_clock(time)} - {line}" for time, _, line in sorted(lines)]


def _flower(clients, sent, left, received):
    """Return the logs of Flower's SuperNodes, one after the other."""
    lines = []
    for client in sorted(set(clients)):
        lines.append(f"\x1b[92mINFO {_clock(0)}\x1b[0m:      SuperNode ID: {client}")
        mine = [times[np.array(clients) == client] for times in (sent, left, received)]
        for number, times in enumerate(zip(*mine, strict=True), start=1):
            start, answered, end = map(_clock, times)
            for time, text in (
                (start, f"[RUN 7, ROUND {number}]"),
                (start, f"Receiving: train message (ID: {number})"),
                (start, "Received successfully"),
                (answered, f"Sending: train message (ID: {number}a)"),
                (end, "Sent successfully"),
            ):
                lines.append(f"\x1b[92mINFO {time}\x1b[0m:      {text}")
    return lines
