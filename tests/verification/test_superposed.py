"""One clock for all owners obeys the oracles of owners with clocks of their own: 1, 2, 3, 12."""

import numpy as np
import pytest

from asyncdp_sim.core.units import to_units
from asyncdp_sim.measures.summary import busy_ticks
from asyncdp_sim.network.availability import Bernoulli, OnOff
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.theory.formulas.exchanges import refusing_unequal
from tests.theory.availability import on_fraction, on_off_dispersion

from .networks import network, runs
from .zscores import counts, flat, require_kinds, score, shared

pytestmark = [pytest.mark.long, pytest.mark.oracle("one clock for all owners (superposed)")]

RATES = (0.5, 1.0, 1.0, 1.5)
RUNS = 60
MANY = 2**31 - 1


def locked(seed, availability=None, probability=1.0, count=RUNS):
    """Return scores of a locked learner that refuses, exponential service, unequal rates."""
    rates, mean, updates = np.array(RATES) * probability, 0.25, 1200
    clock = PoissonClock(rate=RATES, population="superposed")
    parts = {} if availability is None else {"availability": availability}
    net = network(4, updates, clock=clock, compute=Exponential(mean=mean), **parts)
    theory = refusing_unequal(rates.tolist(), (mean,) * 4)
    rows, served = [], np.zeros(4)
    for trace in runs(net, seed, count):
        served += np.bincount(trace.updates["owner"], minlength=5)[1:]
        refused, attempts = (trace.owners[name].sum() for name in ("refused", "attempts"))
        rows.append([to_units(trace.end_tick), to_units(busy_ticks(trace)), refused, attempts])
    time, busy, refused, attempts = np.array(rows, dtype=float).T
    length, share = updates / theory.update_rate, theory.busy_fraction
    asked = updates / (1 - theory.refusal_probability)
    refusal = theory.refusal_probability
    return {
        "mean": [
            score("time of T updates", time, length),
            score("busy", busy - share * time, 0, share * length),
        ],
        "tail": [score("refused", refused - refusal * attempts, 0, refusal * asked)],
        "owners": [counts("owner", served, rates / rates.sum())],
    }


def heard(seed, on=2.0, off=1.0, count=180):
    """Return scores of the ticks in a window that find an owner online."""
    window, laws = 40.0, OnOff(on=Exponential(mean=on), off=Exponential(mean=off))
    clock = PoissonClock(population="superposed")
    net = network(40, MANY, until=window, clock=clock, availability=laws)
    found = np.array([trace.owners["attempts"] for trace in runs(net, seed, count)])
    mean = on_fraction(on, off) * window
    spread = mean * on_off_dispersion(1.0, 1 / on, 1 / off, window)
    return {
        "mean": [score("ticks online", found.mean(axis=1), mean)],
        "second": [score("their variance", np.mean((found - mean) ** 2, axis=1), spread)],
    }


sound_locked = shared(locked)
sound_heard = shared(heard)


def scores():
    """Return every score of a sound simulator."""
    tables = (
        sound_locked(11),
        sound_locked(12, Bernoulli(probability=0.5), 0.5),
        sound_heard(13),
    )
    return flat(tables)


def test_a_locked_learner_behind_one_clock():
    for found in (sound_locked(11), sound_locked(12, Bernoulli(probability=0.5), 0.5)):
        require_kinds(found, owners=0.05)


def test_owners_that_come_and_go_are_worked_out_at_their_ticks():
    require_kinds(sound_heard(13))
