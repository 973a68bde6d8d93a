"""Oracle 1: merged Poisson clocks, seen through a network in which nothing takes time."""

import numpy as np
import pytest

from asyncdp_sim.core.units import to_units
from asyncdp_sim.network.clocks import PoissonClock
from tests.theory.availability import merged

from .networks import in_windows, network, runs
from .zscores import counts, flat, fresh_seeds, numbers, require_kinds, score, shared

pytestmark = pytest.mark.oracle(
    "times between ticks of all owners, the owner of each tick, ticks in a window"
)

RATES = {"five": (1.0,) * 5, "ten": (0.4,) * 10, "unequal": (0.5, 1.0, 1.5, 3.0)}
CI = ("five", "unequal")
"""What every run measures; the others' turn comes at night."""
RUNS, UPDATES = 72, 2000
WINDOW, WINDOWS = 10.0, 50
"""Length, and how many a run is cut into."""


def measure(theory, clock, seed=1, count=RUNS, **parts):
    """Return scores of means, tails, second moments and counts, by kind."""
    n_owners = len(theory.probability)
    net = network(n_owners, UPDATES, clock=clock, **parts)
    late, median = 2 / theory.rate, np.log(2) / theory.rate
    rows, shares, pairs = [], np.zeros((2, n_owners)), np.zeros((n_owners, n_owners))
    for trace in runs(net, seed, count):
        gap, owner = to_units(np.diff(trace.update_ticks, prepend=0)), trace.updates["owner"] - 1
        rows.append([gap.mean(), np.mean(gap > late), np.mean(gap**2), np.mean(gap[1:] * gap[:-1])])
        np.add.at(shares, ((gap > median).astype(int), owner), 1)
        np.add.at(pairs, (owner[0::2], owner[1::2]), 1)
    mean, tail, square, product = np.array(rows).T
    pi = np.array(theory.probability)
    return {
        "mean": [score("gap", mean, theory.mean_gap)],
        "tail": [score("P(gap > 2/Λ)", tail, theory.gap_survival(late))],
        "second": [
            score("gap²", square, 2 * theory.mean_gap**2),
            score("successive gaps", product, theory.mean_gap**2),
        ],
        "owners": [counts("owner", shares.sum(axis=0), pi)],
        "pairs": [
            counts("owner × gap", shares.ravel(), np.tile(pi / 2, 2)),
            counts("owner × next owner", pairs.ravel(), np.outer(pi, pi).ravel()),
        ],
    }


def measured(name, *, seed=1, count=RUNS):
    return measure(merged(RATES[name]), PoissonClock(rate=RATES[name]), seed, count)


sound = shared(measured)


@shared
def windows():
    """Return scores of the number of updates in a window, which is Poisson."""
    net = network(4, 10**6, until=WINDOW * WINDOWS, clock=PoissonClock())
    mean = merged((1.0,) * 4).mean_count(WINDOW)
    found = np.array([in_windows(trace, WINDOW, WINDOWS) for trace in runs(net, 1, 60)])
    return numbers("updates in a window", found, mean, mean)


def scores():
    """Return every score of a sound simulator."""
    return flat([sound(name) for name in CI] + [windows()])


@pytest.mark.long
@pytest.mark.parametrize("name", CI)
def test_gaps_are_exponential_and_owners_independent(name):
    require_kinds(sound(name))


def test_the_number_of_updates_in_a_window_is_poisson():
    require_kinds(windows())


test_fresh_seeds = fresh_seeds(measured, RATES, RUNS)
