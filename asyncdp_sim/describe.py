"""A scenario in words, with what theory predicts of it: what ``asyncdp check`` prints."""

from collections.abc import Iterator
from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.network.availability import Always, Bernoulli, Diurnal
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import NoTime
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory import contribution, lock


def describe(scenario: Scenario) -> list[str]:
    """Return one line each on owners, load, budgets, and predictions with their assumptions.

    No data are read and nothing is simulated.
    """
    return [
        *_owners(scenario),
        *_network(scenario),
        *_privacy(scenario),
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
    run = scenario.run
    until = "" if run.until is None else f" or until {run.until:g} time units"
    yield f"run: {run.replicates} replicates of T = {run.updates} updates{until}, seed {run.seed}"


def _network(scenario: Scenario) -> Iterator[str]:
    n_owners = scenario.owners.count
    rates = scenario.clock.rates(n_owners)
    latency = scenario.latency
    stages = {"query": latency.query, "computing": scenario.compute, "answer": latency.answer}
    service = fsum(law.mean for law in stages.values())
    if rates is None:
        ticks = f"{scenario.clock.kind} clocks"
        yield f"network: {ticks}, an exchange takes {service:.4g} units in the mean"
    else:
        load = fsum(rates) * service
        yield f"network: {fsum(rates):.4g} ticks per unit, an exchange takes {service:.4g} units"
        yield f"offered load: {load:.4g} (ticks per unit times the mean length of an exchange)"
    yield from _online(scenario)
    online = scenario.availability.online_share(n_owners)
    per_tick = isinstance(scenario.availability, Always | Bernoulli | Diurnal)
    steady = isinstance(scenario.availability, Always | Bernoulli) or (per_tick and service == 0)
    if (
        isinstance(scenario.clock, PoissonClock)
        and rates is not None
        and online is not None
        and min(online) > 0
        and steady
        and isinstance(latency.request, NoTime)
        and scenario.protocol.kind == "request"
    ):
        thinned = [rate * share for rate, share in zip(rates, online, strict=True)]
        predicted = lock.refusing_unequal(thinned, [service] * n_owners)
        yield (
            f"predicted while no budget is spent: {predicted.update_rate:.4g} updates per unit, "
            f"learner busy {predicted.busy_fraction:.4g}, "
            f"requests refused {predicted.refusal_probability:.4g} (locked learner, any law)"
        )
        total = scenario.run.updates / predicted.update_rate
        yield f"predicted: T updates take {total:.4g} units"
        if len(set(thinned)) == 1:
            yield (
                f"predicted: i_k uniform, P(i_k+1 = i_k) = {1 / n_owners:.4g}; all owners have "
                f"contributed after {contribution.mean_until_all(n_owners):.4g} updates in the mean"
            )
        else:
            yield (
                "i_k is not uniform: owner i is chosen in proportion to its rate times its "
                "availability, and the published step optimises another objective "
                '(algorithm.selection = "inverse-rate" removes the bias)'
            )
    else:
        yield (
            "predicted rates: not applicable (the formula needs protocol request, Poisson clocks, "
            "requests that take no time, and availability that is always or drawn for each tick)"
        )


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
        yield "privacy: none, the answers are exact gradients"
        return
    epsilon = privacy.epsilons(n_owners)
    allowed = np.array(privacy.budget.answers_allowed(n_owners, scenario.run.updates))
    each = epsilon / allowed
    yield (
        f"privacy: ε {_range(epsilon)} per owner over {_range(allowed)} answers, "
        f"{_range(each)} per answer, one record replaced"
    )
    if int(allowed.sum()) < scenario.run.updates:
        yield (
            f"the budgets allow {int(allowed.sum())} answers in all, fewer than "
            f"T = {scenario.run.updates}: every run ends early"
        )
    yield from _claims(scenario)


def _claims(scenario: Scenario) -> Iterator[str]:
    privacy, sensitivity = scenario.privacy, scenario.privacy.sensitivity
    if privacy.noise == "scalar-as-published":
        yield "not private: one noise draw on all coordinates is not private for any ε"
    if sensitivity is None:
        return
    if sensitivity.norm == "l2-as-published":
        yield "not private as claimed: Laplace noise scaled to an L2 bound gives up to √p ε"
    if sensitivity.kind == "declared":
        yield f"the bound {sensitivity.bound:g} is declared: the run checks it against the records"
    if scenario.records is not None:
        xi = sensitivity.xi(scenario.model.theta_max, scenario.data.features)
        records = np.array(scenario.records)
        noise = privacy.noise_for(records, scenario.run.updates, xi)
        yield f"noise: Laplace with scale {_range(noise.scale)} on each coordinate of an answer"


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
