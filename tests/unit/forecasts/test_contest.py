"""Choices compared by runs: who wins, what is told of the winner, and how sure that is."""

from functools import partial

import numpy as np
import pytest

from asyncdp_sim.forecasts.advice.contest import CHOOSING, Played, winner
from asyncdp_sim.forecasts.population import affordable
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.scenario import Scenario
from tests.unit.forecasts.banks import banks


def drawn(seed, mean, numbers):
    """Return made-up ψ of some replicates: a part that all choices share, and one of their own."""
    shared = [np.random.default_rng([number]).gamma(4.0) / 4 for number in numbers]
    own = [np.random.default_rng([number, seed]).gamma(4.0) / 4 for number in numbers]
    return mean * (np.array(shared) + np.array(own)) / 2


def test_the_best_wins_and_the_worst_is_last():
    means = (5.0, 1.0, 9.0, 3.0, 2.0, np.inf)
    told = []
    plays = {mean: partial(drawn, 1, mean) for mean in means}
    order = winner(plays, 40, lambda *said: told.append(said))
    assert order[:2] == [1.0, 2.0]
    assert order[-1] == np.inf
    assert sorted(order) == sorted(means)
    assert {(doing, total) for doing, _, total in told} == {
        ("comparing 6 choices: runs", told[-1][1])
    }
    assert told[-1][1] == told[-1][2] > 6 * 8  # all that is to do is done in the end


def test_a_choice_is_never_run_twice_in_the_same_replicate():
    seen = {0: [], 1: [], 2: []}

    def play(at, numbers):
        seen[at] += numbers
        return np.full(len(numbers), float(at))

    assert winner({at: partial(play, at) for at in seen}, 30) == [0, 1, 2]
    assert seen[0] == list(range(CHOOSING, CHOOSING + 30))
    assert seen[2] == list(range(CHOOSING, CHOOSING + 8))


def test_what_diverges_is_told_as_such():
    lost = Played(np.array([1.0, np.inf, 2.0]))
    fine = Played(np.array([1.0, 1.5, 2.0]))
    assert str(lost) == "ψ not finite in 1 of 3 runs"
    assert str(fine).startswith("ψ 1.5 ± 1.2")
    assert lost.half_width == np.inf
    assert lost.over(fine)[0] == np.inf
    said = lost.against(fine, "as given", "of the best")
    assert said == "not a number: ψ as given is not finite"
    assert lost.times(fine) == "not comparable with ψ of the best"


@pytest.mark.parametrize(("updates", "runs"), [(10, 100), (10_000, 25), (10**9, 10)])
def test_long_work_has_fewer_runs(updates, runs):
    scenario = Scenario.model_validate(banks())
    found = affordable(scenario, build_dataset(scenario), updates)
    assert found == pytest.approx(runs, rel=0.05)
    assert affordable(scenario, build_dataset(scenario), updates, 4) == 4
