"""A trace as text: what a golden file holds."""

from collections.abc import Iterable, Mapping

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
TIMES = ("request", "read", "release", "end")


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
    laws = {name: getattr(network.latency, name) for name in MESSAGES}
    laws |= {"compute": network.compute, "acknowledgement": network.latency.acknowledgement}
    taken = [f"{name} {_plain(law)}" for name, law in laws.items() if law != NoTime()]
    lines = [("durations", ", ".join(taken) or "none")]
    if network.protocol.kind not in ("rounds", "servers"):  # there clocks have no say
        clock = network.clock.model_dump()
        kind = clock.pop("kind")
        fields = ", ".join(f"{name} {_plain(value)}" for name, value in clock.items())
        lines.insert(0, ("clock", f"{kind} {fields}"))
    usual = {"protocol": Request(), "channel": Ideal(), "topology": None}
    for name, part in usual.items():
        if getattr(network, name) != part:
            lines.append((name, _told(getattr(network, name))))
    for part in getattr(network.availability, "parts", [network.availability]):
        lines += [("presence", said) for said in _presence(part, network.n_owners)]
    rest = "" if network.apart is None else f", {network.apart} updates apart"
    lines.append(("answers", f"{_plain(network.answers_allowed)} allowed{rest}"))
    if network.answers_per_update is not None and network.answers_per_update > 1:
        lines.append(("buffer", f"{network.answers_per_update} answers make one update"))
    if network.aggregation is not None:
        lines.append(("sums", f"of {network.aggregation.least} answers at least"))
    if network.stops:
        lines.append(("until", "the model is good enough"))
    if network.until is not None:
        lines.append(("until", f"{network.until:.9g}"))
    return "\n".join(f"{name:<9} {said}" for name, said in lines)


def event_table(trace: Trace) -> str:
    """The events; columns of attempts and details stand where there is something to tell."""
    events = trace.events
    return aligned(
        {
            "time": map(time, events["tick"].tolist()),
            "kind": [EventKind(kind).name for kind in events["kind"]],
            "owner": [owner or "-" for owner in events["owner"]],
            "message": [message or "-" for message in events["message"]],
            "attempt": [attempt or "-" for attempt in events["attempt"]],
            "detail": [Detail(detail).name if detail else "-" for detail in events["detail"]],
        },
        attempt=np.any(events["attempt"] > 1),
        detail=np.any(events["detail"]),
    )


def exchange_table(trace: Trace) -> str:
    """The exchanges; when they were asked for, and how often sent, stand where that differs."""
    rows = trace.exchanges
    times = {name: map(time, rows[f"{name}_tick"].tolist()) for name in TIMES}
    return aligned(
        {
            "exchange": rows["message"],
            "owner": rows["owner"],
            **times,
            "sent": rows["transmissions"],
            "outcome": [ExchangeOutcome(outcome).name for outcome in rows["outcome"]],
            "staleness": rows["end_k"] - rows["read_k"],
        },
        request=np.any(rows["request_tick"] != rows["read_tick"]),
        sent=np.any(rows["transmissions"] > 1),
    )


def owner_table(network: Network, trace: Trace) -> str:
    """What every owner did; requests lost, and its share of time online, where they may matter."""
    owners, used = trace.owners, trace.updates["owner"].tolist()
    wired = network.topology is None or network.topology.failures is None
    return aligned(
        {
            "owner": owners["owner"],
            "attempts": owners["attempts"],
            "refused": owners["refused"],
            "unheard": owners["unheard"],
            "released": trace.released,
            "left": network.answers_allowed - trace.released,
            "updates": [used.count(owner) for owner in owners["owner"]],
            "online": [f"{share:.6g}" for share in owners["online"]],
        },
        unheard=np.any(owners["unheard"]),
        online=getattr(network.availability, "kind", "") != "always" or not wired,
    )


def aligned(columns: Mapping[str, Iterable[object]], **shown: bool) -> str:
    """Lay out columns; those of which it is said are shown only if so."""
    table = [[head, *map(str, cells)] for head, cells in columns.items() if shown.get(head, True)]
    padded = [[cell.ljust(max(map(len, column))) for cell in column] for column in table]
    lines = ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]
    return "\n".join(lines if len(lines) > 1 else [*lines, "(none)"])


def _presence(availability: Spec, n_owners: int) -> list[str]:
    if isinstance(availability, Intervals):
        periods = [availability.periods(number) for number in range(1, n_owners + 1)]
        told = [" and ".join(f"[{time(a)}, {time(b)})" for a, b in own) for own in periods]
        return [f"intervals {'; '.join(each or 'never' for each in told)}"]
    if isinstance(availability, Always):
        return []
    fields = availability.model_dump()
    kind = fields.pop("kind")
    said = [
        f"{name} {value.get('value', value['kind']) if isinstance(value, dict) else _plain(value)}"
        for name, value in fields.items()
        if value is not None
    ]
    return [f"{kind} {', '.join(said)}"]


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
