"""A trace as text: what a golden file holds."""

from collections.abc import Iterable, Sequence

from asyncdp_sim.network import Network
from asyncdp_sim.trace import EventKind, Outcome, Trace


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
    lines.append(f"answers   {_plain(network.answers_allowed)} allowed")
    if network.until is not None:
        lines.append(f"until     {network.until:.9g}")
    return "\n".join(lines)


def event_table(trace: Trace) -> str:
    rows = [
        (time(int(e["tick"])), EventKind(e["kind"]).name, e["owner"], e["message"] or "-")
        for e in trace.events
    ]
    return aligned(("time", "kind", "owner", "message"), rows)


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
    used = trace.updates["owner"].tolist()
    rows = [
        (
            row["owner"],
            row["attempts"],
            row["refused"],
            released,
            allowed - released,
            used.count(row["owner"]),
        )
        for row, released, allowed in zip(
            trace.owners, trace.released, network.answers_allowed, strict=True
        )
    ]
    return aligned(("owner", "attempts", "refused", "released", "left", "updates"), rows)


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
