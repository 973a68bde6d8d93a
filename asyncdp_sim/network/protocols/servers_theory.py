"""Servers that step together: how often, and in words who learns what of whom."""

from collections.abc import Iterator
from typing import Any

from asyncdp_sim.network.facts import Facts
from asyncdp_sim.network.graphs.connected import GraphKind
from asyncdp_sim.network.graphs.metropolis import matrices_of
from asyncdp_sim.network.latency import STAGES, laws_of
from asyncdp_sim.theory.formulas.polar import disagreement_left
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.words import extent

STEPS = "servers: Δ/(Δ(q + Gc + a + 2s) + Me) for constant times, G gradients a step, M exchanges"


def steps(facts: Facts, protocol: Any) -> float | Unknown:
    """Return steps per unit of servers that step together, or why they do not.

    A step takes the query q, G gradients of c each (one per server under "basic", else G = 1),
    the answer a and twice a server's own latency s; every Δ of them exchanges e follow: two where
    all servers agree, one where neighbours do.
    """
    own = [[facts.laws(stage)[i] for stage in STAGES] for i in range(facts.n_owners)]
    theirs = laws_of(protocol.latency, protocol.count)
    everything = [*(law for laws in own for law in laws), *theirs, protocol.exchange]
    if not all(law.constant for law in everything):
        return Unknown("times are random: servers and clients wait for the slowest of several")
    gradients = protocol.answers_each
    computing = facts.network.mean_times("compute")
    each = [s + (gradients - 1) * c for s, c in zip(facts.services, computing, strict=True)]
    slow = max(law.mean for law in theirs)
    if max(each) - min(each) > 1e-12 * max(each) or slow > min(law.mean for law in theirs):
        return Unknown("clients or servers are not equally fast")
    turns = protocol.agreements
    if any(len(others) == 0 for near in turns if near is not None for others in near):
        return Unknown("servers without neighbours in some agreement are ahead of the others")
    exchanges = sum(2 if near is None else 1 for near in turns) / len(turns)
    window = protocol.window * (each[0] + 2 * slow) + exchanges * protocol.exchange.mean
    return protocol.window / window if window > 0 else Unknown("steps take no time")


def words(protocol: Any, said: str) -> Iterator[str]:
    """Say who talks to whom, and what the servers learn of it all the same."""
    means = [law.mean for law in laws_of(protocol.latency, protocol.count)]
    more = f", and {extent(means)} for each message to or from a server"
    yield f"network: {said}{more if max(means) > 0 else ''}"
    yield (
        f"servers: {protocol.count}, each client talks to {protocol.n_reached} ({protocol.read}), "
        f"consensus after every {protocol.window} steps"
    )
    if protocol.graph is not None and any(near is not None for near in protocol.agreements):
        yield from _neighbours(protocol.graph, protocol)
        return
    if protocol.count == 2:
        yield "consensus hides nothing between two servers: each learns the other's model"
    if protocol.window == 1:
        yield (
            "consensus after every step: a server that subtracts its own part learns the gradient "
            "of the whole objective (POLAR, remark 1)"
        )


def _neighbours(graph: GraphKind, protocol: Any) -> Iterator[str]:
    """Say how servers agree that do not all talk to each other, and who learns what of it."""
    turns = graph.cycle()
    apart = sum(len(each.faults(protocol.count)) > 0 for each in turns)
    per = "an agreement leaves"
    if len(turns) > 1:
        cut = f", {apart} of them not connected by themselves" if apart > 0 else ""
        yield f"server graphs: {len(turns)} in turn{cut}; together they are connected"
        per = f"{len(turns)} agreements leave"
    left = disagreement_left(matrices_of(protocol.agreements, protocol.count))
    yield (
        f"servers average with their neighbours by Metropolis weights: {per} at most {left:.4g} "
        "of their disagreement, and the mean over servers is a model that none of them need hold"
    )
    yield (
        "models go to neighbours as they are, for secure consensus needs a complete graph: a "
        "curious server learns its neighbours' (POLAR, section V-C)"
    )
