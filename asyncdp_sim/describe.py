"""A scenario in words, with what theory predicts of it: what ``asyncdp check`` prints."""

from collections.abc import Iterator
from math import fsum
from operator import mul
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.learning.algorithms import Polar
from asyncdp_sim.learning.algorithms.polar import matrices_of
from asyncdp_sim.network import Network
from asyncdp_sim.network.compatibility import superposable
from asyncdp_sim.network.graphs.connected import GraphKind
from asyncdp_sim.network.latency import laws_of
from asyncdp_sim.network.protocols import Gossip, Rounds, Servers
from asyncdp_sim.privacy import Gaussian
from asyncdp_sim.privacy.label import UNTIMED, composition, record_unit
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.formulas.polar import disagreement_left
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.theory.predict.gossip_spectrum import contraction
from asyncdp_sim.theory.predict.update_order import shares
from asyncdp_sim.theory.prediction import Prediction, Unknown


def describe(scenario: Scenario) -> list[str]:
    """Return one line each on owners, load, budgets, and predictions with their assumptions.

    No data are read and nothing is simulated.
    """
    return [
        *_owners(scenario),
        *_network(scenario),
        *_privacy(scenario),
        *_conduct(scenario),
        *_sweep(scenario),
    ]


def _owners(scenario: Scenario) -> Iterator[str]:
    n_owners, records = scenario.owners.count, scenario.records
    if records is None:
        held = "as many records as their values of the splitting column"
    elif len(set(records)) == 1:
        held = f"{records[0]} records each"
    else:
        held = f"{min(records)} to {max(records)} records"
    path = getattr(scenario.data, "path", None)
    yield f"owners: {n_owners}, {held}, {scenario.data.kind} data, {path or 'synthetic'}"
    if scenario.data.held_out > 0:
        yield f"held out: a share {scenario.data.held_out:g} of every owner's records"
    run = scenario.run
    until = "" if run.until is None else f" or until {run.until:g} time units"
    until += "" if run.target is None else f" or down to ψ = {run.target:g}"
    yield f"run: {run.replicates} replicates of T = {run.updates} updates{until}, seed {run.seed}"


def _network(scenario: Scenario) -> Iterator[str]:
    network = scenario.network
    rates = network.clock.rates(network.n_owners)
    stages = [network.mean_times(stage) for stage in ("query", "compute", "answer")]
    services = np.array([fsum(parts) for parts in zip(*stages, strict=True)])
    airtime = network.airtime
    service = float(services.mean()) + (0.0 if airtime is None else airtime)
    said = f"an exchange takes {service:.4g} units in the mean"
    if isinstance(network.protocol, Gossip):
        yield from _graph(network.protocol, network.n_owners)
    elif isinstance(network.protocol, Servers):
        yield from _servers(network.protocol, said)
    elif isinstance(network.protocol, Rounds):
        yield f"network: rounds, {said}"
    elif rates is None:
        yield f"network: {network.clock.kind} clocks, {said}"
    else:
        yield f"network: {fsum(rates):.4g} ticks per unit, {said}"
        online = network.availability.online_share(network.n_owners) or (1.0,) * len(rates)
        load = fsum(map(mul, rates, online)) * service
        yield f"offered load: {load:.4g} (ticks met online per unit times that, were none dropped)"
    yield f"protocol: {network.protocol.kind}, channel {network.channel.kind}"
    if airtime is not None:
        yield f"airtime: {airtime:.4g} units for an answer of {network.answer_bytes} bytes"
    yield from _online(scenario)
    predicted = predict(network)
    for each in predicted:
        yield f"predicted {each.quantity}: {_said(each)}"
    rate = next((each.value for each in predicted if each.quantity == "throughput"), None)
    if rate is not None and rate > 0:
        yield f"predicted: T updates take {scenario.run.updates / rate:.4g} units"
    if network.n_owners >= _MANY and not network.superposed and superposable(network):
        yield (
            f'{network.n_owners} owners: clock.population = "superposed" simulates the same law '
            "faster and in less memory, with other random numbers"
        )
    if not network.protocol.makes_updates and _unequal(network):
        yield (
            "i_k is not uniform in the long run: owners are chosen unequally often, and the "
            "published step optimises another objective "
            '(algorithm.selection = "inverse-rate" removes the bias)'
        )


def _graph(protocol: Gossip, n_owners: int) -> Iterator[str]:
    """Say who gossips, and how fast averaging brings models together."""
    edges = protocol.graph.edges(n_owners)
    rates = protocol.clock.rates(len(edges))
    pace = f"{protocol.clock.kind} clocks"
    if rates is not None:
        pace = f"{fsum(rates):.4g} wake-ups per unit"
    nodes = len(protocol.graph.nodes(n_owners))
    yield f"network: gossip, {protocol.graph.kind}, {nodes} nodes, {len(edges)} edges, {pace}"
    left = contraction(protocol, n_owners)
    yield (
        f"spectral gap: {1 - left:.4g} (averaging alone leaves at most λ_2(E W) = {left:.4g} of "
        "the expected disagreement after an update, were no wake-up dropped)"
    )


_MANY = 10_000
"""Owners from which one clock for all of them is worth other random numbers."""


def _servers(protocol: Servers, said: str) -> Iterator[str]:
    """Say who talks to whom, and what the servers learn of it all the same."""
    means = [law.mean for law in laws_of(protocol.latency, protocol.count)]
    more = f", and {_range(np.array(means))} for each message to or from a server"
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


def _neighbours(graph: GraphKind, protocol: Servers) -> Iterator[str]:
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


def _said(prediction: Prediction) -> str:
    if prediction.value is None:
        return f"not applicable, {prediction.reason} ({prediction.formula})"
    return f"{prediction.value:.4g} ({prediction.formula})"


def _unequal(network: Network) -> bool:
    if isinstance(network.protocol, Rounds | Servers):  # every owner has a part in every update
        return False
    known = shares(network)
    return not isinstance(known, Unknown) and max(known) - min(known) > 1e-12


def _online(scenario: Scenario) -> Iterator[str]:
    kind = scenario.availability.kind
    share = scenario.availability.online_share(scenario.owners.count)
    if share is None:
        yield f"availability: {kind}, without a long-run share"
    elif kind != "always":
        yield f"availability: {kind}, owners online {_range(np.array(share))} of the time"


def _privacy(scenario: Scenario) -> Iterator[str]:
    privacy, n_owners = scenario.privacy, scenario.owners.count
    if privacy.mechanism == "none":
        exact = not isinstance(scenario.algorithm, Polar)
        said = "none, the answers are exact gradients" if exact else "obfuscated, no DP guarantee"
        yield f"privacy: {said}"
        return
    accountant = privacy.accountant(n_owners, scenario.run.updates)
    epsilon, allowed = accountant.epsilon, accountant.answers
    each = accountant.spent(np.ones_like(allowed))
    stated = "" if privacy.delta is None else f", δ = {privacy.delta:g}"
    yield (
        f"privacy: ε {_range(epsilon)} per owner over {_range(allowed)} answers{stated}, "
        f"{_range(each)} per answer, one record replaced"
    )
    if privacy.learner is not None:
        yield (
            f"copies: one of {n_owners}, whose learner is owner {privacy.learner.owner}; "
            f"privacy.epsilon is for all together, 1/{privacy.learner.parts(n_owners)} of it for "
            f"each, and the learner's own answers are {privacy.learner.own}"
        )
    unit = record_unit({"scenario": scenario.plain(), "summary": {}})
    if unit is not None:
        yield unit
    if isinstance(accountant, Gaussian):
        rho = accountant.zcdp(allowed)
        yield (
            f"noise multiplier {_range(accountant.multiplier)}; all answers of an owner are "
            f"{_range(rho)}-zCDP (ρ); an answer's own ε is at the same δ and does not add up"
        )
    if privacy.overlap > 1:
        yield (
            f"overlap: {privacy.overlap} owners may hold one record; together they spend at most "
            f"ε {_range(privacy.asked(n_owners).min(keepdims=True))} of it"
        )
    per_update = scenario.algorithm.answers_per_update or 1
    if int(allowed.sum()) < scenario.run.updates * per_update:
        takes = "" if per_update == 1 else f" updates of {per_update}"
        yield (
            f"the budgets allow {int(allowed.sum())} answers in all, fewer than "
            f"T = {scenario.run.updates}{takes}: every run ends early"
        )
    yield from _claims(scenario)
    yield from _together(scenario)


def _together(scenario: Scenario) -> Iterator[str]:
    """Say of what all this is said: of one replicate of one cell."""
    cells = [scenario.cell(chosen) for chosen in scenario.grid()]
    hoped = [_hoped(cell) | {"digest": number} for number, cell in enumerate(cells or [scenario])]
    alone = composition(hoped)
    if alone is not None:
        yield f"that is said of {alone}"


def _hoped(scenario: Scenario) -> dict[str, Any]:
    """Return what a manifest says of a run in which no bound is exceeded and nothing diverges."""
    privacy, timed = scenario.privacy, scenario.timing_unaccounted is None
    told = privacy.noise == "scalar-as-published" or scenario.data.unsound is not None
    epsilon = np.inf if told else float(privacy.asked(scenario.owners.count).max())
    delta = privacy.delta if privacy.mechanism == "gaussian" else 0
    summary = {"epsilon_true": epsilon, "delta": delta, "timing_accounted": timed}
    return {"scenario": scenario.plain(), "summary": summary}


def _claims(scenario: Scenario) -> Iterator[str]:
    privacy, sensitivity = scenario.privacy, scenario.privacy.sensitivity
    if privacy.noise == "scalar-as-published":
        yield "not private: one noise draw on all coordinates is not private for any ε"
    if sensitivity is None:
        return
    if sensitivity.norm == "l2-as-published":
        yield "not private as claimed: Laplace noise scaled to an L2 bound gives up to √p ε"
    if sensitivity.kind == "domain":
        yield sensitivity.words(scenario.model, scenario.data.features, privacy.norm)
    if sensitivity.kind == "declared":
        yield (
            f"the bound {sensitivity.bound:g} is declared: the run looks for records beyond it at "
            "every query that is answered, and ε is at least what it finds"
        )
    xi = scenario.xi
    if scenario.trained_on is not None and xi is not None:
        records = np.array(scenario.trained_on)
        noise = privacy.noise_for(records, scenario.run.updates, xi, scenario.answer_numbers)
        scale = f"{_NOISE[privacy.mechanism]} {_range(noise.scale)}"
        yield f"noise: {scale} on each coordinate of an answer"


_NOISE = {
    "laplace": "Laplace with scale",
    "gaussian": "Gaussian with standard deviation",
    "discrete-laplace": "discrete Laplace with scale",
}


def _conduct(scenario: Scenario) -> Iterator[str]:
    if scenario.adversary is not None:
        yield f"adversary: {scenario.adversary.words()}"
    if scenario.acceptance is not None:
        yield f"acceptance: {scenario.acceptance.words()}"
    if scenario.trigger is not None:
        yield f"trigger: {scenario.trigger.words()}"
    if scenario.timing_unaccounted is not None:
        yield f"not private, no finite ε: {UNTIMED}{scenario.timing_unaccounted}"
    if scenario.data.unsound is not None:
        yield f"not private, no finite ε: {scenario.data.unsound}"


def _sweep(scenario: Scenario) -> Iterator[str]:
    if len(scenario.sweep) > 0:
        cells = sum(1 for _ in scenario.grid())
        swept = ", ".join(
            f"{path} ({len(values)} values)" for path, values in scenario.sweep.items()
        )
        yield f"sweep: {cells} cells over {swept}"


def _range(values: npt.NDArray[Any]) -> str:
    low, high = float(np.min(values)), float(np.max(values))
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
