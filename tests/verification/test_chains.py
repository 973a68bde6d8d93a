"""Oracle 25: pairs of features with exponential stages, against the chain solved by brute force.

Runs start with nobody at work; the exact mean of a count over [0, t) from that state is compared,
so that no warm-up is needed. Runs are as long as the chain's own variance says the standard
errors asked for take.
"""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from asyncdp_sim.core.units import to_units
from asyncdp_sim.measures.summary import busy_ticks
from asyncdp_sim.trace import ExchangeOutcome
from tests.tables import table

from .chains import growth
from .features import Chain, features, simulated
from .networks import own_seed, runs
from .zscores import require, score, shared, two_stages

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle(
        "counts of updates, attempts, refusals and transmissions, and busy time, "
        "for all pairs of features"
    ),
]

RUNS, AIM = 100, 0.9
"""Runs of a pair, and the part of the error allowed that they are planned for."""
TABLE = table(__file__, "chains.toml")
FEATURES = TABLE["features"]
EXCLUDED = [set(names) for names in TABLE["excluded"]]
PAIRS = [
    pair
    for pair in combinations(FEATURES, 2)
    if not any(set(pair) <= excluded for excluded in EXCLUDED)
]
CHOSEN = [(one, other) for one, others in TABLE["pairs"].items() for other in others]
"""The pairs of every run; the others' turn comes at night."""
ERRORS = {"update": 0.003, "busy": 0.003}
"""Standard errors allowed; 1 % for all else."""


def of_pair(pair):
    """Return the network of a pair of features, with 1 to 4 owners."""
    n_owners = 1 + PAIRS.index(pair) % 4
    fields = {}
    for name in pair:
        for key, value in FEATURES[name].items():
            fields[key] = max(value, fields.get(key, value)) if key == "attempts" else value
    if fields.get("protocol") == "push" or "loss_acknowledgement" in fields or "on" in fields:
        n_owners = min(n_owners, 3)
    if "unequal rates" in pair:
        n_owners = max(n_owners, 2)
    weights = range(1, n_owners + 1) if fields.pop("rates", None) else (1,) * n_owners
    return features(rates=tuple(3.0 * w / sum(weights) for w in weights), **fields)


def tally(trace):
    """Return what a chain counts, as the trace shows it."""
    outcome, owners = trace.exchanges["outcome"], trace.owners
    return {
        "update": len(trace.updates),
        "busy": float(to_units(busy_ticks(trace))),
        "attempt": owners["attempts"].sum(),
        "refused": owners["refused"].sum(),
        "unheard": owners["unheard"].sum(),
        "sent": trace.exchanges["transmissions"].sum(),
        "released": trace.released.sum(),
        "abandoned": np.count_nonzero(outcome == ExchangeOutcome.abandoned),
        "lost": np.count_nonzero(outcome == ExchangeOutcome.lost),
        "in flight": trace.in_flight_total,
    }


def allowed(name):
    return ERRORS.get(name, 0.01)


def measure(these, seed, count=RUNS):
    """Return scores of all that the chain of a network counts."""
    chain = Chain(these)
    exact = growth(chain.moves, chain.start(), chain.held)
    exact = dict(sorted(exact.items(), key=lambda item: item[0] != "update"))
    distinct = {round(each.rate, 12): name for name, each in reversed(exact.items())}
    exact = {name: exact[name] for rate, name in distinct.items() if rate > 0}
    if these.fresh:
        exact.pop("in flight", None)  # an answer computed anew counts what it missed at once
    total = max(g.spread / (AIM * allowed(name) * g.rate) ** 2 for name, g in exact.items())
    length = total / RUNS
    found = [tally(trace) for trace in runs(simulated(these, length), seed, count)]
    return [
        score(name, [each[name] for each in found], g.rate * length + g.offset)
        for name, g in exact.items()
    ]


@shared
def sound(pair):
    return measure(of_pair(pair), own_seed(*pair))


def scores():
    """Return every score of a sound simulator."""
    return [each for pair in CHOSEN for each in sound(pair)]


def test_at_least_thirty_pairs_have_every_feature_three_times():
    assert len(set(CHOSEN)) >= 30
    assert set(CHOSEN) <= set(PAIRS)
    times = Counter(name for pair in CHOSEN for name in pair)
    assert all(times[name] >= 3 for name in FEATURES)


@pytest.mark.parametrize("pair", CHOSEN, ids=" × ".join)
def test_pair(pair):
    for each in sound(pair):
        require([each], error=allowed(each.name))


@pytest.mark.nightly
@pytest.mark.parametrize("pair", PAIRS, ids=" × ".join)
def test_fresh_seeds(pair):
    two_stages(lambda seed, factor: measure(of_pair(pair), seed, RUNS * factor))
