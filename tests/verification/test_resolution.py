"""Clocks near the resolution of time: what rounding does to gaps and to who comes next."""

import numpy as np
import pytest

from asyncdp_sim.core.units import TICKS_PER_UNIT
from asyncdp_sim.network import spec
from tests.one_in import one_in
from tests.theory.ticks import mean_gap, repeated
from tests.together import together

from .networks import network, own_seed, runs
from .zscores import LIMIT, require, score, shared, two_stages

pytestmark = pytest.mark.oracle("clocks almost as fast as the resolution of time")

CASES = {"three": (3, 0.3), "three at once": (3, 3.0), "ten": (10, 1.0)}
"""N, and x = Λδ: far beyond what is allowed, so that little is enough to see."""
RUNS, UPDATES = 40, 4000


def unlimited(patch):
    patch.setattr(spec, "REFUSED", np.inf)


def measure(n_owners, met, *, seed, count=RUNS, expected=repeated, gap=mean_gap):
    """Return scores of the mean time between updates, and of who repeats."""
    each = met / n_owners
    rate = each * TICKS_PER_UNIT
    net = network(n_owners, UPDATES, clock={"kind": "poisson", "rate": rate})
    took, same = [], []
    for trace in runs(net, seed, count):
        owner = trace.updates["owner"]
        took.append(trace.update_ticks[-1] / UPDATES)
        same.append(np.mean(owner[1:] == owner[:-1]))
    return [
        score("ticks of time between updates", took, gap(each) / met),
        score("P(i_{k+1} = i_k)", same, expected(n_owners, each)),
    ]


@shared
def sound(name):
    with pytest.MonkeyPatch.context() as patch:
        unlimited(patch)
        return measure(*CASES[name], seed=own_seed("resolution", name))


@one_in(3, "name", CASES)
def test_rounded_gaps_and_who_repeats(name):
    require(sound(name), error=0.01)


@pytest.mark.nightly
@pytest.mark.parametrize("name", CASES)
def test_fresh_seeds(name, monkeypatch):
    unlimited(monkeypatch)
    two_stages(lambda seed, factor: measure(*CASES[name], seed=seed, count=RUNS * factor))


@pytest.mark.long
@pytest.mark.no_evidence
def test_times_that_are_not_rounded_are_seen():
    """P = 1/N and the exact mean would be far off here."""
    with pytest.MonkeyPatch.context() as patch:
        unlimited(patch)
        plain = measure(3, 3.0, seed=1, expected=lambda n, _: 1 / n, gap=lambda _: 1.0, count=20)
    assert all(abs(each.z) > LIMIT for each in plain)


@together
@pytest.mark.parametrize("n_owners", [1, 2, 3, 10, 60])
@pytest.mark.parametrize("met", [spec.NOTICED, spec.REFUSED])
def test_the_limits_say_how_far_off_figures_are(n_owners, met):
    each = met / n_owners
    short = 1 - n_owners * repeated(n_owners, each)
    first_order = (n_owners - 1) / (2 * n_owners) * met
    assert short == pytest.approx(first_order, abs=met**2)
    assert -1e-12 < short < met / 2
    assert 1 - mean_gap(each) == pytest.approx(each**2 / 24, rel=1e-3)
    assert 1 - mean_gap(each) < met / 2
