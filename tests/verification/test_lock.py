"""Oracles 12 and 13: a locked learner that refuses, whatever the law of the service."""

import numpy as np
import pytest

from asyncdp_sim.core.units import to_units
from asyncdp_sim.measures.summary import busy_ticks
from asyncdp_sim.network import Latency
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Constant, Exponential, Lognormal, NoTime
from asyncdp_sim.theory.formulas.exchanges import refusing_unequal
from tests.theory.lock import poisson_source, refusing

from .networks import network, own_seed, runs
from .zscores import counts, flat, fresh_seeds, require_kinds, score, seen, shared

pytestmark = pytest.mark.oracle(
    "rate of updates, share of time with a locked learner, refusals, owner of the next update"
)

RUNS = 40
UPDATES = {"constant": 900, "exponential": 1500, "lognormal": 3600}
"""Per run; what a standard error of 0.3 % takes."""
SIZES = (2, 10, 50)
CASES = [(law, n_owners) for law in UPDATES for n_owners in SIZES]
CI = [("constant", 2), ("exponential", 10), ("lognormal", 2)]
"""What every run measures; the others' turn comes at night."""
SOURCE = 500
UNEQUAL = (0.25, 0.5, 1.0, 2.25)


def service(law, mean):
    """Return the parts of a network whose lock lasts ``mean`` on average."""
    if law == "constant":
        quarter = Constant(value=mean / 4)
        latency = Latency(query=quarter, answer=quarter)
        return {"latency": latency, "compute": Constant(value=mean / 2)}
    if law == "exponential":
        latency = Latency(answer=Exponential(mean=mean / 2))
        return {"latency": latency, "compute": Exponential(mean=mean / 2)}
    return {"latency": Latency(answer=Lognormal(mean=mean, cv=2.0)), "compute": NoTime()}


def measure(law, rates, theory, seed=1, count=RUNS, updates=None):
    """Return scores of a learner that is locked for 1/Λ on average, by kind."""
    parts = {"clock": PoissonClock(rate=tuple(rates)), **service(law, 1 / float(np.sum(rates)))}
    updates = UPDATES[law] if updates is None else updates
    return refusals(network(len(rates), updates, **parts), rates, theory, seed, count)


def refusals(net, rates, theory, seed, count):
    """Return scores of a locked learner that refuses, by kind; rates are of ticks that it hears."""
    rows, pairs = [], np.zeros((net.n_owners, net.n_owners))
    for trace in runs(net, seed, count):
        owner = trace.updates["owner"] - 1
        np.add.at(pairs, (owner[0::2], owner[1::2]), 1)
        refused, attempts = (trace.owners[name].sum() for name in ("refused", "attempts"))
        rows.append([to_units(trace.end_tick), to_units(busy_ticks(trace)), refused, attempts])
    time, busy, refused, attempts = np.array(rows, dtype=float).T
    # busy − fraction·time and refused − probability·attempts have mean 0 in runs of T updates
    share, refusal = theory.busy_fraction, theory.refusal_probability
    length, asked = net.updates / theory.update_rate, net.updates / (1 - refusal)
    pi = np.array(rates) / np.sum(rates)
    return {
        "mean": [
            score("time of T updates", time, length),
            score("busy", busy - share * time, 0, share * length),
        ],
        "tail": [score("refused", refused - refusal * attempts, 0, refusal * asked)],
        "owners": [counts("owner", pairs.sum(axis=0) + pairs.sum(axis=1), pi)],
        "pairs": [counts("owner × next owner", pairs.ravel(), np.outer(pi, pi).ravel())],
    }


def of_equal_owners(case, *, seed, count=RUNS):
    law, n_owners = case
    return measure(law, (1.0,) * n_owners, refusing(n_owners, 1.0, 1 / n_owners), seed, count)


@shared
def sound(law, n_owners):
    return of_equal_owners((law, n_owners), seed=own_seed(law, n_owners))


@shared
def sound_unequal():
    theory = refusing_unequal(UNEQUAL, (1 / sum(UNEQUAL),) * 4)
    return measure("exponential", UNEQUAL, theory, own_seed("unequal"))


@shared
def sound_source():
    """Return scores of many owners: rate and busy share are Erlang's, refusals to 0.1 %."""
    rates, theory = (1 / SOURCE,) * SOURCE, poisson_source(1.0, 1.0)
    found = measure("constant", rates, theory, own_seed("source"), 20, updates=1850)
    return {kind: found[kind] for kind in ("mean", "tail")}


def scores():
    """Return every score of a sound simulator."""
    return flat([sound(*case) for case in CI] + [sound_unequal(), sound_source()])


@pytest.mark.long
@pytest.mark.parametrize(("law", "n_owners"), CI)
def test_rate_busy_fraction_and_refusals(law, n_owners):
    require_kinds(sound(law, n_owners), owners=0.05)


@pytest.mark.long
def test_unequal_rates():
    require_kinds(sound_unequal(), owners=0.05)


@pytest.mark.long
def test_a_poisson_source():
    require_kinds(sound_source())


@pytest.mark.long
@pytest.mark.no_evidence
def test_the_formula_of_an_infinite_population_is_seen():
    found = measure("exponential", (1.0,) * 10, poisson_source(10.0, 0.1), count=20, updates=1800)
    assert seen(found["tail"]) > 5


test_fresh_seeds = fresh_seeds(
    of_equal_owners, [pytest.param(case, id=f"{case[0]}-{case[1]}") for case in CASES], RUNS
)
