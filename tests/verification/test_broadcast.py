"""Oracle 21: a query to all owners, and which of their answers survive.

Queries do not interfere with each other (window + airtime ≤ interval) and are independent.
"""

from itertools import product

import numpy as np
import pytest

from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network import availability, channels, clocks, laws, protocols
from asyncdp_sim.theory.formulas.exchanges import broadcast
from asyncdp_sim.trace import ExchangeOutcome
from tests.theory.broadcast import clean_given, no_collision_given, responders

from .networks import lasting, runs
from .zscores import counts, fresh_seeds, require_kinds, score, shared

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("owners that answer a broadcast query, and answers without collision"),
]

RUNS = 40
CASES = {"four": (4, 0.7, 0.05, 1.0, 1.1, 1250, 2101), "eight": (8, 0.3, 0.04, 2.0, 2.5, 850, 2102)}
"""Owners, q, airtime, window, interval, queries, seed."""
CI = ("four",)
"""What every run measures; the others' turn comes at night."""


def measure(name, *, seed=None, count=RUNS):
    """Return scores of how many owners answer, and of which answers survive, by kind."""
    n_owners, q, airtime, window, interval, queries, usual = CASES[name]
    net = lasting(
        n_owners,
        queries * interval,
        clock=clocks.PoissonClock(rate=0.4 / interval),
        availability=availability.Bernoulli(probability=q),
        channel=channels.Aloha(airtime=airtime),
        protocol=protocols.Broadcast(
            interval=interval, answer_at="after-delay", delay=laws.Uniform(low=0.0, high=window)
        ),
    )
    law = responders(n_owners, q)
    begun, mean_clean = broadcast(n_owners, q, airtime, window)
    apart = [no_collision_given(m, airtime, window) for m in range(n_owners + 1)]
    given = [m for m in range(2, n_owners + 1) if law[m] > 0.15]
    rows, tally = [], np.zeros(n_owners + 1)
    for trace in runs(net, usual if seed is None else seed, count):
        sent = trace.exchanges
        assert np.isin(sent["outcome"], (ExchangeOutcome.applied, ExchangeOutcome.collided)).all()
        query = sent["read_tick"] // to_ticks(interval)
        number = np.bincount(query, minlength=queries)
        clean = np.bincount(query[sent["outcome"] == ExchangeOutcome.applied], minlength=queries)
        tally += np.bincount(number, minlength=n_owners + 1)
        row = [number.mean(), clean.mean(), np.mean(clean == number)]
        row += [np.mean(number**2), np.mean(number[1:] * number[:-1])]
        for m in given:
            these = clean[number == m]
            row += [np.sum((these == m) - no_collision_given(m, airtime, window))]
            row += [np.sum(these / m - clean_given(m, airtime, window))]
        rows.append(row)
    answers, clean, none, square, successive, *rest = np.array(rows).T
    found = {
        "mean": [score("answers", answers, begun), score("clean answers", clean, mean_clean)],
        "second": [
            score("answers²", square, law @ np.arange(n_owners + 1) ** 2),
            score("answers to successive queries", successive, begun**2),
        ],
        "tail": [score("no collision", none, law @ apart)],
        "law": [counts("responders", *pooled(tally, law))],
    }
    which = (("no collision", no_collision_given), ("a given one clean", clean_given))
    for (m, (name, formula)), values in zip(product(given, which), rest, strict=True):
        scale = formula(m, airtime, window) * queries * law[m]
        found["tail"].append(score(f"{name} of {m}", values, 0, scale))
    return found


def pooled(tally, law):
    """Return counts and probabilities with the rarest numbers taken together."""
    last = len(law)
    while law[last - 1 :].sum() * tally.sum() < 6:
        last -= 1
    last -= 1
    return np.append(tally[:last], tally[last:].sum()), np.append(law[:last], law[last:].sum())


sound = shared(measure)


@pytest.mark.parametrize("name", CI)
def test_answers_to_queries(name):
    require_kinds(sound(name))


test_fresh_seeds = fresh_seeds(measure, CASES, RUNS)
