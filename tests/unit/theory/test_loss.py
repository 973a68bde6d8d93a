import math
from itertools import pairwise, product

import numpy as np
import pytest

from asyncdp_sim.errors import SpecError
from asyncdp_sim.theory.formulas.packet_loss import BurstChain, delivered, mean_attempts
from tests.together import together

BURSTS = BurstChain(to_bad=0.1, to_good=0.3, loss_good=0.05, loss_bad=0.8)


@together
@pytest.mark.parametrize("loss", [0.0, 0.2, 0.9, 1.0])
@pytest.mark.parametrize("attempts", [1, 2, 7])
def test_by_summing_over_outcomes(loss, attempts):
    arrives = [loss**r * (1 - loss) for r in range(attempts)]
    sent = sum(r * p for r, p in enumerate(arrives, 1)) + attempts * loss**attempts
    assert delivered(loss, attempts) == pytest.approx(sum(arrives), abs=1e-15)
    assert mean_attempts(loss, attempts) == pytest.approx(sent, rel=1e-14)


def test_attempts_near_certain_loss():
    assert mean_attempts(1 - 1e-15, 5) == pytest.approx(5, rel=1e-13)
    assert mean_attempts(0.5, 10**6) == 2
    assert delivered(1e-300, 1) == 1
    assert delivered(1 - 1e-15, 1) == pytest.approx(1e-15, rel=0.12)


def paths(chain, attempts):
    """Sum the probability of every path of states with every transmission lost."""
    start = (1 - chain.bad_fraction, chain.bad_fraction)
    step = ((1 - chain.to_bad, chain.to_bad), (chain.to_good, 1 - chain.to_good))
    loss = (chain.loss_good, chain.loss_bad)
    total = 0.0
    for path in product((0, 1), repeat=attempts):
        moves = math.prod(step[a][b] for a, b in pairwise(path))
        total += start[path[0]] * moves * math.prod(loss[state] for state in path)
    return total


@pytest.mark.parametrize("attempts", [1, 2, 3, 8])
def test_bursts_by_all_paths(attempts):
    assert BURSTS.all_lost(attempts) == pytest.approx(paths(BURSTS, attempts), rel=1e-13)


def test_bursts_stationary():
    assert BURSTS.bad_fraction == pytest.approx(0.25)
    assert BURSTS.stationary_loss == pytest.approx(0.75 * 0.05 + 0.25 * 0.8)
    assert BURSTS.all_lost(1) == pytest.approx(BURSTS.stationary_loss, rel=1e-14)
    assert BURSTS.undelivered(1) == pytest.approx(BURSTS.stationary_loss, rel=1e-14)


@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_losses_that_do_not_come_in_bursts(attempts):
    """The state matters to nothing, or is drawn anew every time."""
    alike = BurstChain(0.1, 0.3, 0.4, 0.4)
    fresh = BurstChain(0.25, 0.75, 0.2, 1.0)
    for chain in (alike, fresh):
        assert chain.stationary_loss == pytest.approx(0.4)
        once = 1 - delivered(0.4, attempts)
        assert chain.all_lost(attempts) == pytest.approx(once, rel=1e-13)
        assert chain.undelivered(attempts) == pytest.approx(once, rel=1e-13)


def test_answers_in_succession_simulated():
    """1000 channels side by side; the long run is not the first answer."""
    draw, chain, attempts = np.random.default_rng(2), BURSTS, 3
    bad = draw.random(1000) < chain.bad_fraction
    tried, lost, done = np.zeros(1000, int), np.zeros(1000), np.zeros(1000)
    first = np.full(1000, -1)
    for _ in range(1500):
        missing = draw.random(1000) < np.where(bad, chain.loss_bad, chain.loss_good)
        tried += 1
        over = ~missing | (tried == attempts)
        first = np.where((first < 0) & over, missing, first)
        lost += over & missing
        done += over
        tried[over] = 0
        bad = np.where(bad, draw.random(1000) >= chain.to_good, draw.random(1000) < chain.to_bad)
    share = lost / done
    error = share.std() / math.sqrt(1000)
    assert error < 0.006 * share.mean()
    assert abs(share.mean() - chain.undelivered(attempts)) < 4 * error
    assert abs(share.mean() - chain.all_lost(attempts)) > 8 * error
    once = chain.all_lost(attempts)
    assert abs(first.mean() - once) < 4 * math.sqrt(once * (1 - once) / 1000)


def test_chains_at_the_edge():
    assert BurstChain(0.0, 0.2, 0.3, 1.0).all_lost(2) == pytest.approx(0.09)
    assert BurstChain(0.2, 0.0, 0.3, 1.0).undelivered(4) == 1
    alternating = BurstChain(1.0, 1.0, 1.0, 0.0)
    assert alternating.all_lost(2) == 0
    assert alternating.undelivered(1) == 0.5
    dead = BurstChain(1.0, 1.0, 1.0, 1.0)  # answers of two attempts keep the state
    assert (dead.all_lost(2), dead.undelivered(2)) == (1, 1)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_bad_probabilities_are_refused(value):
    with pytest.raises(SpecError, match="loss"):
        delivered(value, 2)
    for key in ("to_bad", "to_good", "loss_good", "loss_bad"):
        fields = {"to_bad": 0.1, "to_good": 0.1, "loss_good": 0.1, "loss_bad": 0.1, key: value}
        with pytest.raises(SpecError, match=key):
            BurstChain(**fields)


def test_other_bad_arguments_are_refused():
    with pytest.raises(SpecError, match="attempts"):
        mean_attempts(0.1, 0)
    with pytest.raises(SpecError, match="attempts"):
        BURSTS.all_lost(0)
    with pytest.raises(SpecError, match="attempts"):
        BURSTS.undelivered(1.5)
    with pytest.raises(SpecError, match="to_good: given 0, as to_bad"):
        BurstChain(0.0, 0.0, 0.1, 0.2)
