"""Oracle 8: slotted ALOHA, slot by slot.

An owner's slots form a chain that forgets its start by a factor −p a slot; 50 slots are left out.
"""

from math import expm1, log

import numpy as np
import pytest

from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.network.channels import SlottedAloha
from asyncdp_sim.theory.formulas.channels import slotted_aloha

from .networks import begun, pushing, runs
from .zscores import fresh_seeds, require, score, shared

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("answers per slot, and owners that cannot send in the next slot"),
]

RUNS, WARM = 40, 50
CASES = {"three": (3, 0.25, 0.25, 4000, 801), "ten": (10, 0.05, 1.0, 8300, 802)}
"""Owners, share q of the slots in which one of them sends, slot, slots, seed."""
CI = ("ten",)
"""What every run measures; the others' turn comes at night."""


def rate(q, slot):
    """Return λ for which an owner sends in a share q of the slots: p = q/(1−q)."""
    return -log(1 - q / (1 - q)) / slot


def traces(name, seed=None, count=RUNS):
    n_owners, q, slot, slots, usual = CASES[name]
    channel = SlottedAloha(airtime=slot, slot=slot)
    net = pushing([rate(q, slot)] * n_owners, (WARM + slots + 1) * slot, channel)
    return runs(net, usual if seed is None else seed, count)


def measure(name, **how):
    """Return scores of the slots with an answer, with one that survives, and with none."""
    n_owners, q, slot, slots, _ = CASES[name]
    theory = slotted_aloha(n_owners, rate(q, slot), slot)
    success, load = theory.success_rate * slot, theory.attempt_rate * slot
    rows = []
    for trace in traces(name, **how):
        sent, clear = begun(trace, WARM * slot, (WARM + slots) * slot)
        place, off = np.divmod(sent["release_tick"], to_ticks(slot))
        assert not off.any()
        assert np.all(sent["end_tick"] - sent["release_tick"] == to_ticks(slot))
        number = np.bincount(place - WARM, minlength=slots)
        assert np.array_equal(number == 1, np.bincount(place[clear] - WARM, minlength=slots) == 1)
        rows.append([number.mean(), np.mean(number == 1), np.mean(number == 0)])
    sent, alone, nobody = np.array(rows).T
    return [
        score("sent in a slot", sent, load),
        score("surviving in a slot", alone, success),
        score("slots with no answer", nobody, (1 - load / n_owners) ** n_owners),
        score("surviving of those sent", alone - theory.success_probability * sent, 0, success),
    ]


sound = shared(measure)


@pytest.mark.parametrize("name", CI)
def test_what_a_slot_holds(name):
    *each, share = sound(name)
    require(each, error=0.003)
    require([share], error=0.01)


@pytest.mark.parametrize("name", CASES)
def test_the_last_sender_cannot_send_in_the_next_slot(name):
    slot = to_ticks(CASES[name][2])
    for trace in traces(name, seed=9, count=5):
        rows = trace.exchanges
        for owner in range(1, trace.n_owners + 1):
            starts = np.sort(rows["release_tick"][rows["owner"] == owner])
            assert np.diff(starts).min() == 2 * slot
        updates = trace.updates
        next_slot = np.diff(updates["tick"]) == slot
        assert next_slot.sum() > 50
        assert not np.any((np.diff(updates["owner"]) == 0) & next_slot)


@pytest.mark.no_evidence
def test_attempts_taken_for_independent_are_seen():
    """The textbook's q = p, at the same clocks."""
    n_owners, q, slot, *_ = CASES["ten"]
    p = -expm1(-rate(q, slot) * slot)
    textbook = n_owners * p * (1 - p) ** (n_owners - 1)
    alone = sound("ten")[1]
    assert abs(alone.mean - textbook) > 5 * alone.error * alone.exact


test_fresh_seeds = fresh_seeds(measure, CASES, RUNS)
