"""A trace as text: what a golden file holds."""

from collections.abc import Iterable, Sequence

from asyncdp_sim.network import Network
from asyncdp_sim.spec import Spec
from asyncdp_sim.trace import Detail, EventKind, Outcome, Trace


def time(tick: int) -> str:
    """Exact decimal time units: 1500000000 is 1.5, one tick less is 1.499999999."""
    return f"{tick // 10**9}.{tick % 10**9:09d}".rstrip("0").ljust(3, "0")


def render(rule: str, network: Network, trace: Trace, scheduled: int | None) -> str:
    """Lay out events, exchanges and counters under the sentence of the rule."""
    parts = [rule, describe(network), event_table(trace), exchange_table(trace)]
    parts.append(owner_table(network, trace))
    last = [f"end {time(trace.end_tick)}, {len(trace.updates)} updates of T = {network.updates}"]
    if scheduled is not None:
        last.append(f"events taken from the kernel's queue or left in it: {scheduled}")
    return "\n\n".join([*parts, "\n".join(last)]) + "\n"


def describe(network: Network) -> str:
    lines = []
    clock = network.clock.model_dump()
    kind = clock.pop("kind")
    lines.append(f"clock     {kind} " + ", ".join(f"{k} {_plain(v)}" for k, v in clock.items()))
    laws = {**{n: getattr(network.latency, n) for n in ("request", "query", "answer")}}
    laws["compute"] = network.compute
    said = [f"{name} {law.value:g}" for name, law in laws.items() if law.kind == "constant"]
    lines.append(f"durations {', '.join(said) if said else 'none'}")
    for part in getattr(network.availability, "parts", [network.availability]):
        lines += _presence(part)
    lines.append(f"answers   {_plain(network.answers_allowed)} allowed")
    if network.until is not None:
        lines.append(f"until     {network.until:.9g}")
    return "\n".join(lines)


def event_table(trace: Trace) -> str:
    """The events; the column of details stands where one of them has any."""
    told = bool(trace.events["detail"].any())
    rows = [
        (
            time(int(e["tick"])),
            EventKind(e["kind"]).name,
            e["owner"],
            e["message"] or "-",
            *([Detail(e["detail"]).name if e["detail"] else "-"] if told else []),
        )
        for e in trace.events
    ]
    head = ("time", "kind", "owner", "message", "detail")
    return aligned(head if told else head[:-1], rows)


def _presence(availability: Spec) -> list[str]:
    fields = availability.model_dump()
    kind = fields.pop("kind")
    if kind == "always":
        return []
    said = [
        f"{name} {value.get('value', value['kind']) if isinstance(value, dict) else _plain(value)}"
        for name, value in fields.items()
    ]
    return [f"presence  {kind} {', '.join(said)}"]


def exchange_table(trace: Trace) -> str:
    rows = [
        (
            x["message"],
            x["owner"],
            time(int(x["read_tick"])),
            time(int(x["release_tick"])),
            time(int(x["end_tick"])),
            Outcome(x["outcome"]).name,
            x["end_k"] - x["read_k"],
        )
        for x in trace.exchanges
    ]
    head = ("exchange", "owner", "read", "release", "end", "outcome", "staleness")
    return aligned(head, rows)


def owner_table(network: Network, trace: Trace) -> str:
    """What every owner did; its share of time online stands where it may differ from 1."""
    shares = getattr(network.availability, "kind", "") != "always"
    used = trace.updates["owner"].tolist()
    rows = [
        (
            row["owner"],
            row["attempts"],
            row["refused"],
            released,
            allowed - released,
            used.count(row["owner"]),
            *([f"{row['online']:.6g}"] if shares else []),
        )
        for row, released, allowed in zip(
            trace.owners, trace.released, network.answers_allowed, strict=True
        )
    ]
    head = ("owner", "attempts", "refused", "released", "left", "updates", "online")
    return aligned(head if shares else head[:-1], rows)


def aligned(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    cells = [[str(c) for c in row] for row in rows]
    table = [list(head), *cells]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join(lines if cells else [*lines, "(none)"])


def _plain(value: object) -> str:
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_plain(v) for v in value) + "]"
    return f"{value:.10g}" if isinstance(value, float) else str(value)
