"""Oracles 20 and 23: when all owners have contributed, and how often each does."""

import numpy as np
import pytest
from scipy.stats import binom

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.measures.summary import updates_until_all
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.theory.formulas.exchanges import mean_until_all

from .networks import network, runs
from .zscores import counts, fresh_seeds, require_kinds, score, shared

# Time until everybody has answered: its law.


def all_contributed(n_owners: int, updates: int) -> Array:
    """Return P(M ≤ m) for m = 0 … ``updates``: every owner has contributed.

    Assumes i_k independent and uniform. The number of owners that have contributed is a Markov
    chain; summing its steps never subtracts, so that small values are as accurate as large ones.
    """
    seen = np.arange(n_owners + 1) == 0.0  # the law of the number of owners seen, 0 … N
    share, law = np.arange(n_owners + 1) / n_owners, []  # of those seen; backwards, of the others
    for _ in range(updates + 1):
        law.append(float(seen[-1]))
        seen = seen * share + np.append(0.0, (seen * share[::-1])[:-1])
    return np.array(law)


def answers(n_owners: int, updates: int) -> Array:
    """Return P(owner i has c of the T updates) for c = 0 … T: Binomial(T, 1/N).

    Assumes i_k independent and uniform. The counts of all owners are jointly multinomial.

    Parameters
    ----------
    n_owners, updates : int
        N ≥ 1, T ≥ 0.

    Returns
    -------
    array (T + 1,)
    """
    return np.asarray(binom.pmf(np.arange(updates + 1), updates, 1 / n_owners))


pytestmark = pytest.mark.oracle(
    "updates until every owner has contributed, and updates of each owner"
)

RUNS = 100
COVERS = {3: 280, 8: 210}
"""How many times over all owners contribute in a run, by N; what 0.3 % takes."""
CI = (3,)
"""What every run measures; eight owners' turn comes at night."""
UPDATES = {3: 1950, 8: 5800}
"""More than nine standard deviations beyond the mean of that many covers."""
SEGMENT = 50


def covers(owner, n_owners, count):
    """Return the lengths of the first ``count`` spans in which every owner occurs."""
    lengths, start, met = [], 0, set()
    for k, one in enumerate(owner.tolist()):
        met.add(one)
        if len(met) == n_owners:
            lengths.append(k + 1 - start)
            start, met = k + 1, set()
            if len(lengths) == count:
                return np.array(lengths)
    raise AssertionError(f"{len(lengths)} covers in {len(owner)} updates; {count} expected")


def measure(n_owners, *, seed=1, count=RUNS):
    """Return scores by kind."""
    law = all_contributed(n_owners, 200)
    spans = [int(np.argmax(law >= level)) for level in (0.5, 0.7, 0.9)]
    at_most = np.cumsum(answers(n_owners, SEGMENT))
    middle = int(np.argmax(at_most >= 0.5))
    expected = SEGMENT / n_owners
    rows, total = [], np.zeros(n_owners)
    net = network(n_owners, UPDATES[n_owners], clock=PoissonClock())
    for trace in runs(net, seed, count):
        owner = trace.updates["owner"] - 1
        length = covers(owner, n_owners, COVERS[n_owners])
        assert length[0] == updates_until_all(trace)
        pieces = owner[: len(owner) // SEGMENT * SEGMENT].reshape(-1, SEGMENT)
        hits = (pieces[:, :, None] == np.arange(n_owners)).sum(axis=1)
        total += hits.sum(axis=0)
        chi2 = ((hits - expected) ** 2).sum(axis=1) / expected
        within = [np.mean(length <= span) for span in spans]
        rows.append([length.mean(), np.mean(hits <= middle), chi2.mean(), *within])
    mean, low, spread, *within = np.array(rows).T
    return {
        "mean": [score("updates until all", mean, mean_until_all(n_owners))],
        "tail": [
            *(score(f"P(M ≤ {m})", x, law[m]) for m, x in zip(spans, within, strict=True)),
            score(f"P(answers ≤ {middle})", low, at_most[middle]),
        ],
        "second": [score("spread of answers", spread, n_owners - 1)],
        "owners": [counts("owner", total, np.full(n_owners, 1 / n_owners))],
    }


sound = shared(measure)


@pytest.mark.parametrize("n_owners", [*CI, pytest.param(8, marks=pytest.mark.nightly)])
@pytest.mark.long
def test_covers_and_answers(n_owners):
    require_kinds(sound(n_owners))


test_fresh_seeds = fresh_seeds(measure, COVERS, RUNS)
