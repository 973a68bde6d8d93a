"""Collab's step is what one rule gives, and the rule sees what it is for."""

from math import inf

import pytest

from scenarios import entry
from scenarios.papers.collab import FIGURES
from scenarios.papers.collab_step import ANOTHER_SEED, CHOSEN_FOR, FACTORS, candidates, choice


def test_all_entries_of_the_figures_take_a_chosen_step():
    taken = {name for entries in CHOSEN_FOR.values() for name in entries}
    assert taken == {figure.entry for figure in FIGURES}
    for first, entries in CHOSEN_FOR.items():
        steps = {entry(name).scenario().algorithm.step for name in entries}
        assert steps == {entry(first).scenario().algorithm.step}
        assert entry(first).scenario().run.seed != ANOTHER_SEED


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHOSEN_FOR)
def test_the_steps_are_what_the_rule_gives(name):
    assert choice(candidates(name)) == entry(name).scenario().algorithm.step


def test_a_step_in_between_is_chosen_of_a_small_table():
    """Short steps leave the start, long ones the noise; a run that overflows is not chosen."""
    little = ("run.replicates=2", "owners.records=200")
    psi = candidates("collab-07", (*little, "privacy.epsilon=200.0"))
    assert list(psi) == list(FACTORS)
    assert choice(psi) not in (FACTORS[0], FACTORS[-1])
    assert choice({1.0: inf, 0.3: 2.0, 0.1: 3.0}) == 0.3
