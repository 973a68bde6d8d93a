"""One clock for all owners obeys the oracles of owners with clocks of their own: 1, 2, 3, 12."""

import numpy as np
import pytest

from asyncdp_sim.network.availability import Always, Bernoulli, OnOff
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.theory.formulas.exchanges import refusing_unequal
from tests.theory.availability import on_fraction, on_off_dispersion

from .networks import lasting, network, runs
from .test_lock import refusals
from .zscores import flat, numbers, require_kinds, shared

pytestmark = [pytest.mark.long, pytest.mark.oracle("one clock for all owners (superposed)")]

RATES = (0.5, 1.0, 1.0, 1.5)


@shared
def locked(seed, probability):
    """Return scores of a locked learner that refuses, exponential service, unequal rates."""
    clock = PoissonClock(rate=RATES, population="superposed")
    availability = Always() if probability == 1 else Bernoulli(probability=probability)
    parts = {"clock": clock, "compute": Exponential(mean=0.25), "availability": availability}
    rates = [rate * probability for rate in RATES]
    theory = refusing_unequal(rates, (0.25,) * 4)
    found = refusals(network(4, 1200, **parts), rates, theory, seed, 60)
    return {kind: found[kind] for kind in ("mean", "tail", "owners")}


@shared
def heard():
    """Return scores of the ticks in a window that find an owner online."""
    on, off, window = 2.0, 1.0, 40.0
    availability = OnOff(on=Exponential(mean=on), off=Exponential(mean=off))
    clock = PoissonClock(population="superposed")
    net = lasting(40, window, clock=clock, availability=availability)
    found = np.array([trace.owners["attempts"] for trace in runs(net, 13, 180)])
    mean = on_fraction(on, off) * window
    spread = mean * on_off_dispersion(1.0, 1 / on, 1 / off, window)
    return numbers("ticks online", found, mean, spread)


def scores():
    """Return every score of a sound simulator."""
    return flat([locked(11, 1.0), locked(12, 0.5), heard()])


def test_a_locked_learner_behind_one_clock():
    for found in (locked(11, 1.0), locked(12, 0.5)):
        require_kinds(found, owners=0.05)


def test_owners_that_come_and_go_are_worked_out_at_their_ticks():
    require_kinds(heard())
