"""What does not fit together among the parts of a network, and networks that lead nowhere."""

from typing import Any

from asyncdp_sim.errors import Fault
from asyncdp_sim.network.channels import SlottedAloha, Tdma
from asyncdp_sim.network.channels.loss import loss_shares
from asyncdp_sim.network.channels.slotted_aloha import too_long
from asyncdp_sim.network.latency import laws_of
from asyncdp_sim.spec import wrong_length


def conflicts(n_owners: int, parts: Any) -> list[Fault]:
    """Return what does not fit together among the network's parts.

    Parameters
    ----------
    n_owners : int
        N.
    parts : Network or Scenario
        Has ``clock``, ``availability``, ``channel``, ``latency``, ``payload``, ``numbers``,
        ``topology``, ``compute``, ``protocol`` and ``withholds``.
    """
    found: list[Fault] = parts.clock.faults(n_owners) + parts.availability.faults(n_owners)
    found += parts.channel.faults(n_owners)
    if parts.topology is not None:
        found += parts.topology.faults(n_owners)
    laws = {f"latency.{name}": getattr(parts.latency, name) for name in _MESSAGES}
    for key, value in {**laws, "latency.rate_bytes": parts.latency.rate_bytes}.items():
        found += wrong_length(key, value, n_owners, "number" if "bytes" in key else "law")
    found += wrong_length("compute", parts.compute, n_owners, "law")
    if len(found) > 0:
        return found
    if parts.protocol.kind == "servers":
        found += parts.protocol.faults(n_owners, parts)
    if len(found) > 0:
        return found
    found = _saturated(n_owners, parts) + _airtime(parts) + _hopeless(n_owners, parts)
    found += _gossip(n_owners, parts) + _withholding(parts)
    if parts.clock.superposed:
        found += not_superposable(parts)
    return found


def superposable(parts: Any) -> bool:
    """Return whether one clock could tick for all owners of these parts."""
    return parts.clock.memoryless and len(not_superposable(parts)) == 0


def not_superposable(parts: Any) -> list[Fault]:
    """Return what keeps one clock from ticking for all owners."""
    found = []
    if not parts.availability.memoryless:
        allowed = (
            "superposed clocks need availability always, bernoulli, diurnal without random phases, "
            "or on-off with exponential laws"
        )
        found.append(Fault("availability.kind", repr(parts.availability.kind), allowed))
    if parts.protocol.kind not in ("request", "push"):
        allowed = "superposed clocks need owners that act on their ticks: request or push"
        found.append(Fault("protocol.kind", repr(parts.protocol.kind), allowed))
    if getattr(parts.protocol, "busy", "refuse") == "retry":
        allowed = 'superposed clocks need busy = "refuse" or "queue"'
        found.append(Fault("protocol.busy", "'retry'", allowed))
    if getattr(parts.protocol, "offline", "finish") == "vanish":
        allowed = 'superposed clocks need offline = "finish"'
        found.append(Fault("protocol.offline", "'vanish'", allowed))
    if parts.topology is not None:
        allowed = "superposed clocks need owners that are equally far: no topology"
        found.append(Fault("topology.kind", repr(parts.topology.kind), allowed))
    laws = {f"latency.{name}": getattr(parts.latency, name) for name in (*_MESSAGES, "rate_bytes")}
    for key, value in {**laws, "compute": parts.compute}.items():
        if isinstance(value, tuple):
            allowed = "superposed clocks need one law for all owners"
            found.append(Fault(key, f"{len(value)} values", allowed))
    return found


_MESSAGES = ("request", "query", "answer", "acknowledgement")


def _saturated(n_owners: int, parts: Any) -> list[Fault]:
    """Ask of owners without a clock that they can work at once, on jobs that last."""
    found: list[Fault] = []
    if not parts.clock.saturated:
        return found
    if parts.protocol.kind != "push":
        allowed = "a saturated clock needs protocol push: refused owners would ask for ever"
        found.append(Fault("protocol.kind", repr(parts.protocol.kind), allowed))
    if parts.availability.kind != "always":
        allowed = "a saturated clock needs owners that are always online"
        found.append(Fault("availability.kind", repr(parts.availability.kind), allowed))
    if parts.topology is not None and parts.topology.failures is not None:
        allowed = "a saturated clock needs links that never fail"
        found.append(Fault("topology.failures", "a table", allowed))
    if parts.channel.contended is not None and parts.channel.contended.kind == "csma":
        allowed = "a saturated clock needs a channel that lets every answer begin"
        found.append(Fault("channel.kind", repr(parts.channel.kind), allowed))
    if max(loss_shares(parts.channel.loss_query, n_owners)) == 1:
        allowed = "a saturated clock needs queries that arrive, or an owner asks for ever"
        found.append(Fault("channel.loss_query", "1 for some owner", allowed))
    if parts.channel.contended is None and min(_least_times(n_owners, parts, mean=True)) == 0:
        allowed = "a saturated clock needs jobs that take time: set compute or a latency"
        found.append(Fault("compute", "jobs that take no time", allowed))
    return found


def _withholding(parts: Any) -> list[Fault]:
    """Ask that owners that may withhold answers answer one by one, and that time passes between."""
    found: list[Fault] = []
    if not parts.withholds:
        return found
    if parts.protocol.kind not in ("request", "push", "broadcast"):
        allowed = "owners that may withhold answers need protocol request, push or broadcast"
        found.append(Fault("protocol.kind", repr(parts.protocol.kind), allowed))
    if parts.clock.saturated:
        allowed = "owners that may withhold answers need clocks, or they begin anew without end"
        found.append(Fault("clock.kind", "'saturated'", allowed))
    return found


def _gossip(n_owners: int, parts: Any) -> list[Fault]:
    """Refuse what gossip does not have: clocks of owners, a learner's lines, and losses."""
    if parts.protocol.kind != "gossip":
        return []
    found = [fault.under("protocol") for fault in parts.protocol.faults(n_owners)]
    plain = parts.clock.kind == "poisson" and parts.clock.population == "per-owner"
    if plain and parts.clock.rate != 1.0:
        allowed = "under protocol gossip edges have clocks, not owners: set protocol.clock"
        found.append(Fault("clock.rate", str(parts.clock.rate), allowed))
    elif parts.clock.kind not in ("poisson", "saturated"):
        allowed = "under protocol gossip edges have clocks, not owners: set protocol.clock"
        found.append(Fault("clock.kind", repr(parts.clock.kind), allowed))
    if parts.channel.contended is not None:
        allowed = "protocol gossip needs channel ideal: neighbours talk side by side"
        found.append(Fault("channel.kind", repr(parts.channel.kind), allowed))
    for name in ("loss", "loss_query", "loss_request", "loss_acknowledgement"):
        share = max(loss_shares(getattr(parts.channel, name), n_owners))
        if share > 0:
            allowed = "protocol gossip loses no messages: allowed is 0"
            found.append(Fault(f"channel.{name}", f"{share:g} for some owner", allowed))
    if parts.channel.retransmissions > 0:
        allowed = "protocol gossip sends nothing again: allowed is 0"
        given = str(parts.channel.retransmissions)
        found.append(Fault("channel.retransmissions", given, allowed))
    if any(law.kind != "none" for law in laws_of(parts.latency.acknowledgement, n_owners)):
        allowed = "protocol gossip acknowledges nothing: allowed is none"
        found.append(Fault("latency.acknowledgement", "a law", allowed))
    if parts.topology is not None:
        allowed = "protocol gossip has a graph of its own: allowed is nothing"
        found.append(Fault("topology.kind", repr(parts.topology.kind), allowed))
    return found


def _airtime(parts: Any) -> list[Fault]:
    """Refuse slots, and queries, that follow each other faster than an answer can be sent."""
    shared = parts.channel.contended
    if shared is None:
        return []
    airtime = shared.answer_airtime(
        parts.payload.size(getattr(parts, "answer_numbers", parts.numbers))
    )
    found = []
    if shared.rate_bytes is not None and isinstance(shared, SlottedAloha | Tdma):
        guard = shared.guard if isinstance(shared, Tdma) else 0.0
        inside = "channel" if shared is parts.channel else "channel.each"
        found = [fault.under(inside) for fault in too_long(shared.slot, airtime + guard)]
    if parts.protocol.kind == "broadcast" and parts.protocol.interval < airtime:
        allowed = f"allowed is a number ≥ the airtime {airtime:g}"
        found.append(Fault("protocol.interval", f"{parts.protocol.interval:g}", allowed))
    return found


def _hopeless(n_owners: int, parts: Any) -> list[Fault]:
    """Return why no update can ever happen, where that is plain beforehand."""
    found = []
    online = parts.availability.online_share(n_owners)
    if online is not None and max(online) == 0:
        allowed = "no owner is ever online, so no update can ever happen"
        found.append(Fault("availability.kind", repr(parts.availability.kind), allowed))
    least = min(_least_times(n_owners, parts, mean=False))
    for name in ("timeout", "deadline"):
        patience = getattr(parts.protocol, name, None)
        if patience is not None and least > patience:
            allowed = f"an answer takes at least {least:g}, so no update can ever happen"
            found.append(Fault(f"protocol.{name}", f"{patience:g}", allowed))
    return found


def _least_times(n_owners: int, parts: Any, *, mean: bool) -> list[float]:
    """Return each owner's mean or least time from a query to the arrival of its answer."""
    stages = (parts.latency.query, parts.compute, parts.latency.answer)
    each = [laws_of(stage, n_owners) for stage in stages]
    contended = parts.channel.contended
    airtime = 0.0
    if contended is not None:
        airtime = contended.answer_airtime(
            parts.payload.size(getattr(parts, "answer_numbers", parts.numbers))
        )
    return [
        airtime + sum(law.mean if mean else law.least for law in laws)
        for laws in zip(*each, strict=True)
    ]


def _answer_bytes(parts: Any) -> int:
    """Return the bytes of an answer, whose numbers are a scenario's own where it says so."""
    size: int = parts.payload.size(getattr(parts, "answer_numbers", parts.numbers))
    return size
