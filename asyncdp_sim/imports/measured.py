"""A measured trace as laws and a scenario: its first half is compared with its second."""

from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.words import aligned, extent, number
from asyncdp_sim.imports.exchanges import MeasuredTrace, read_trace
from asyncdp_sim.imports.fitted import ENOUGH, FittedLaw, FittedOwners, fit_laws, fit_owners
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.latency import Latency
from asyncdp_sim.network.laws import Law
from asyncdp_sim.results.write import write_into
from asyncdp_sim.scenario import SCHEMA_LINE, load
from asyncdp_sim.scenario.toml import listed, toml

REPLICATES = 20
"""Simulations of the second half."""
_MANY = 10**9
_HEAD = f"""\
{SCHEMA_LINE}
# The network is that of {{file}}. The records, data, model, algorithm and
# privacy below were not measured: choose them. Owners by number:
{{owners}}
"""


def import_trace(file: Path, out: Path, seed: int) -> list[str]:
    """Fit a measured trace, compare its first half with its second, and write a scenario.

    Parameters
    ----------
    file : Path
        A CSV or Parquet file with a row per request: the owner, and when it asked, when the model
        was read for it, when its answer left and when that was received; empty from where an
        exchange did not come to its end. Or a row per client, sent and received. Times are numbers
        (time units) or ISO 8601 (a time unit is a second).
    out : Path
        The scenario, .toml.
    seed : int
        Seed of the simulations.

    Returns
    -------
    list of str
        The laws with intervals, and the prediction, in words.

    Raises
    ------
    DataError
        If the file is no such table, or too short.
    """
    if out.suffix != ".toml":
        raise DataError([Fault("-o", repr(str(out)), "allowed is a name that ends in .toml")])
    trace = read_trace(file)
    n, length = len(trace.names), float(np.nanmax([trace.request, trace.end]))
    early = trace.request < length / 2
    halves = {"first": trace.only(early), "second": trace.only(~early)}
    for which, part in halves.items():
        answers, least = len(part.answered.owner), np.bincount(part.owner, minlength=n).min()
        if answers < ENOUGH or least < 3:
            problem = f"a {which} half with too few (answers: {answers}, of an owner: {least})"
            remedy = f"allowed are {ENOUGH} answers in each half, and 3 requests of each owner"
            raise DataError([Fault("", problem, remedy)], str(file))
    laws, owners = fit_laws(trace, length / 2), fit_owners(trace)
    half = {stage: [item.half for item in items] for stage, items in laws.items()}
    early_network = _network(trace, half, fit_owners(halves["first"]), length / 2)
    final = {stage: [item.law for item in items] for stage, items in laws.items()}
    network = _network(trace, final, owners, length)
    compared = _compared(early_network, halves["second"], seed)
    _write(network, trace, file, out)
    return [
        f"{len(trace.owner):,} requests of {n} owners, "
        f"{len(trace.answered.owner):,} answers in {number(length)} units",
        f"protocol: {', busy '.join(trace.protocol.model_dump(include={'kind', 'busy'}).values())}",
        *(_words(stage, items) for stage, items in laws.items()),
        *owners.lines,
        *compared,
    ]


def _words(stage: str, laws: tuple[FittedLaw, ...]) -> str:
    """Return a stage's laws in words."""
    name = stage if stage == "compute" else f"latency.{stage}"
    if len(laws) == 1:
        return f"{name}: {laws[0]}"
    worst = min(laws, key=lambda item: item.p)
    return f"{name}: {extent(item.law.mean for item in laws)}, a law per owner; worst: {worst}"


def _network(
    trace: MeasuredTrace, laws: dict[str, list[Law]], owners: FittedOwners, until: float
) -> Network:
    """Return the network of a trace, with budgets that are never exhausted."""
    stages: dict[str, Any] = {
        stage: items[0] if len(items) == 1 else tuple(items) for stage, items in laws.items()
    }
    return Network(
        answers_allowed=(_MANY,) * len(trace.names),
        updates=_MANY,
        answers_per_update=None if trace.in_rounds else 1,
        until=until,
        clock=owners.clock,
        availability=owners.availability,
        compute=stages.pop("compute"),
        latency=Latency(**stages),
        protocol=trace.protocol,
    )


def _compared(network: Network, second: MeasuredTrace, seed: int) -> list[str]:
    """Return the second half as it was, and as a network predicts it."""
    n, length = network.n_owners, network.until or 0.0
    streams = (Streams(seed).within("replicate", number) for number in range(1, REPLICATES + 1))
    runs = [simulate(network, each).updates for each in streams]
    owner = second.answered.owner
    rows = [("throughput", len(owner) / length, [len(run) / length for run in runs])]
    if not second.in_rounds:  # there every answer is of the newest model
        predicted = [float(run["staleness"].mean()) if len(run) > 0 else 0.0 for run in runs]
        rows.append(("mean staleness", float(second.staleness.mean()), predicted))
    cells = [
        (name, number(value), number(float(np.mean(drawn))), number(float(np.std(drawn, ddof=1))))
        for name, value, drawn in rows
    ]
    shares = [np.bincount(run["owner"] - 1, minlength=n) / max(len(run), 1) for run in runs]
    apart = np.bincount(owner, minlength=n) / len(owner) - np.mean(shares, axis=0)
    return [
        "a fit of the first half predicts the second (± one standard deviation of a run):",
        *aligned([("second half", "measured", "predicted", "±"), *cells]),
        f"owners' shares: total variation distance {number(float(np.abs(apart).sum() / 2))}",
    ]


def _write(network: Network, trace: MeasuredTrace, file: Path, out: Path) -> None:
    """Write the scenario of a network, with placeholders for what was not measured."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in file.stem.lower()).split()
    measured = network.model_dump(
        include={"compute", "latency", "clock", "availability", "protocol"}, exclude_none=True
    )
    gossip, rounds = {"kind": "async-gossip", "rho": 1.0}, {"kind": "collab-2", "step": 0.1}
    ended = int(trace.rounds()[0].max()) + 1 if trace.in_rounds else len(trace.answered.owner)
    tables = {
        "schema": 1,
        "id": "-".join(words) or "measured",
        "title": f"The network of {file.name}",
        **measured,
        "run": {"updates": ended, "until": network.until},
        "owners": {"count": network.n_owners, "records": 100},
        "data": {"kind": "gaussian", "features": 10},
        "model": {"kind": "ridge", "regularisation": 1e-3},
        "algorithm": rounds if trace.in_rounds else gossip,
        "privacy": {"epsilon": 1.0, "sensitivity": {"kind": "clip", "bound": 1.0}},
    }
    names = "\n".join(f"#   {i}: {name!r}" for i, name in enumerate(trace.names, start=1))
    text = _HEAD.format(file=repr(file.name), owners=names) + toml(listed(tables))
    write_into(out.absolute().parent, out.name, text)
    load(out)
