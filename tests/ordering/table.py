"""A trace as text: what a golden file holds."""

from collections.abc import Iterable, Sequence

import numpy as np

from asyncdp_sim.core.specification import Spec
from asyncdp_sim.network import Network
from asyncdp_sim.network.availability import Always, Intervals
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.network.laws import Constant, NoTime
from asyncdp_sim.network.protocols import Request
from asyncdp_sim.trace import Detail, EventKind, ExchangeOutcome, Trace
from tests.ordering.scene import Losing

MESSAGES = ("request", "query", "answer")


def time(tick: int) -> str:
    """Exact decimal time units: 1500000000 is 1.5, one tick less is 1.499999999."""
    return f"{tick // 10**9}.{tick % 10**9:09d}".rstrip("0").ljust(3, "0")


def render(rule: str, network: Network, trace: Trace, scheduled: int | None) -> str:
    """Lay out events, exchanges and counters under the sentence of the rule."""
    parts = [rule, describe(network), event_table(trace), exchange_table(trace)]
    parts.append(owner_table(network, trace))
    last = [f"end {time(trace.end_tick)}, {trace.n_updates} updates of T = {network.updates}"]
    if network.channel.contended is not None:
        last.append(f"on air {time(trace.on_air_ticks)} in all")
    if scheduled is not None:
        last.append(f"events taken from the kernel's queue or left in it: {scheduled}")
    return "\n\n".join([*parts, "\n".join(last)]) + "\n"


def describe(network: Network) -> str:
    lines = []
    if network.protocol.kind not in ("rounds", "servers"):  # there clocks have no say
        clock = network.clock.model_dump()
        kind = clock.pop("kind")
        lines.append(f"clock     {kind} " + ", ".join(f"{k} {_plain(v)}" for k, v in clock.items()))
    laws = {name: getattr(network.latency, name) for name in MESSAGES}
    laws = {**laws, "compute": network.compute, "acknowledgement": network.latency.acknowledgement}
    said = [f"{name} {_plain(law)}" for name, law in laws.items() if law != NoTime()]
    lines.append(f"durations {', '.join(said) if said else 'none'}")
    if network.protocol != Request():
        lines.append(f"protocol  {_told(network.protocol)}")
    if network.channel != Ideal():
        lines.append(f"channel   {_told(network.channel)}")
    if network.topology is not None:
        lines.append(f"topology  {_told(network.topology)}")
    for part in getattr(network.availability, "parts", [network.availability]):
        lines += _presence(part, network.n_owners)
    rest = "" if network.apart is None else f", {network.apart} updates apart"
    lines.append(f"answers   {_plain(network.answers_allowed)} allowed{rest}")
    if network.answers_per_update is not None and network.answers_per_update > 1:
        lines.append(f"buffer    {network.answers_per_update} answers make one update")
    if network.aggregation is not None:
        lines.append(f"sums      of {network.aggregation.least} answers at least")
    if network.stops:
        lines.append("until     the model is good enough")
    if network.until is not None:
        lines.append(f"until     {network.until:.9g}")
    return "\n".join(lines)


def event_table(trace: Trace) -> str:
    """The events; columns of attempts and details stand where there is something to tell."""
    resent = bool(np.any(trace.events["attempt"] > 1))
    told = bool(trace.events["detail"].any())
    rows = [
        (
            time(int(e["tick"])),
            EventKind(e["kind"]).name,
            e["owner"] or "-",
            e["message"] or "-",
            *([e["attempt"] or "-"] if resent else []),
            *([Detail(e["detail"]).name if e["detail"] else "-"] if told else []),
        )
        for e in trace.events
    ]
    head = ("time", "kind", "owner", "message")
    return aligned((*head, *["attempt"] * resent, *["detail"] * told), rows)


def exchange_table(trace: Trace) -> str:
    """The exchanges; when they were asked for, and how often sent, stand where that differs."""
    rows = trace.exchanges
    asked = bool(np.any(rows["request_tick"] != rows["read_tick"]))
    resent = bool(np.any(rows["transmissions"] > 1))
    lines = [
        (
            x["message"],
            x["owner"],
            *([time(int(x["request_tick"]))] if asked else []),
            time(int(x["read_tick"])),
            time(int(x["release_tick"])),
            time(int(x["end_tick"])),
            *([x["transmissions"]] if resent else []),
            ExchangeOutcome(x["outcome"]).name,
            x["end_k"] - x["read_k"],
        )
        for x in rows
    ]
    head = ["exchange", "owner", *["request"] * asked, "read", "release", "end"]
    return aligned([*head, *["sent"] * resent, "outcome", "staleness"], lines)


def owner_table(network: Network, trace: Trace) -> str:
    """What every owner did; requests lost, and its share of time online, where they may matter."""
    unheard = bool(np.any(trace.owners["unheard"]))
    wired = network.topology is None or network.topology.failures is None
    shares = getattr(network.availability, "kind", "") != "always" or not wired
    used = trace.updates["owner"].tolist()
    rows = [
        (
            row["owner"],
            row["attempts"],
            row["refused"],
            *([row["unheard"]] if unheard else []),
            released,
            allowed - released,
            used.count(row["owner"]),
            *([f"{row['online']:.6g}"] if shares else []),
        )
        for row, released, allowed in zip(
            trace.owners, trace.released, network.answers_allowed, strict=True
        )
    ]
    head = ["owner", "attempts", "refused", *["unheard"] * unheard]
    return aligned([*head, "released", "left", "updates", *["online"] * shares], rows)


def aligned(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    cells = [[str(c) for c in row] for row in rows]
    table = [list(head), *cells]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join(lines if cells else [*lines, "(none)"])


def _presence(availability: Spec, n_owners: int) -> list[str]:
    if isinstance(availability, Intervals):
        periods = [availability.periods(number) for number in range(1, n_owners + 1)]
        told = [" and ".join(f"[{time(a)}, {time(b)})" for a, b in own) for own in periods]
        return [f"presence  intervals {'; '.join(each or 'never' for each in told)}"]
    if isinstance(availability, Always):
        return []
    fields = availability.model_dump()
    kind = fields.pop("kind")
    said = [
        f"{name} {value.get('value', value['kind']) if isinstance(value, dict) else _plain(value)}"
        for name, value in fields.items()
        if value is not None
    ]
    return [f"presence  {kind} {', '.join(said)}"]


def _told(spec: Spec) -> str:
    """Return the kind of a part and what is set in it, left out where it is the default."""
    fields = type(spec).model_fields
    said = [
        f"{name} {_plain(value)}"
        for name, value in spec
        if name != "kind" and value != fields[name].default
    ]
    return " ".join([getattr(spec, "kind", ""), ", ".join(said)]).strip()


def _plain(value: object) -> str:
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_plain(v) for v in value) + "]"
    if isinstance(value, NoTime):
        return "none"
    if isinstance(value, Constant):
        return f"{value.value:g}"
    if isinstance(value, Losing):
        return f"of messages {_plain(value.numbers)}"
    if isinstance(value, Spec):
        return f"({_told(value)})"
    return f"{value:.10g}" if isinstance(value, float) else str(value)
