"""Async, Algorithm 1, against a scalar reference of a few lines."""

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import AnswerBatch, AsyncGossip, Setting

N, P, T, SIGMA, RHO = 3, 4, 7, 0.3, 20.0
SHARE = np.array([0.5, 0.2, 0.3])


def test_initial_values() -> None:
    def start(initial: str, count: int = 3) -> tuple[np.ndarray, np.ndarray]:
        steps = AsyncGossip(rho=1.0, initial=initial).steps(Setting(SHARE, P, T, SIGMA, None))
        state = steps.init([Streams(9).within("replicate", r) for r in range(1, count + 1)])
        assert state.central.shape == (count, P)
        assert state.copies.shape == (count, N, P)
        assert state.clipped.tolist() == [0] * count
        return state.central, state.copies

    for initial, value in (("zeros", 0.0), ("ones", 1.0)):
        central, copies = start(initial)
        assert np.all(central == value)
        assert np.all(copies == value)
    central, copies = start("uniform")
    models = np.concatenate([central[:, None], copies], axis=1)
    assert np.all((models >= 0) & (models < 1))
    assert len(np.unique(models)) == models.size  # every coordinate of every model its own draw
    assert np.array_equal(start("uniform", 1)[0][0], central[0])
    drawn = Streams(9).generator("replicate", 2, "initial").random((N + 1, P))
    assert np.array_equal(models[1], drawn)


def test_a_projection_counts_once_per_update_and_on_the_boundary_not_at_all() -> None:
    steps = AsyncGossip(rho=T**2 * 2 * SIGMA).steps(Setting(np.array([1.0]), 1, T, SIGMA, 1.0))
    state = steps.init([Streams(1).within("replicate", 1)])
    one = np.array([0])
    gain = float(steps.step[0])
    steps.apply(state, AnswerBatch(one), np.zeros((1, 1)), np.array([[-1.0 / gain]]))
    assert state.copies.item() == pytest.approx(1.0)
    assert state.clipped.tolist() == [0]
    steps.apply(state, AnswerBatch(one), np.zeros((1, 1)), np.array([[-1.5 / gain]]))
    assert (state.copies.item(), state.clipped.tolist()) == (1.0, [1])


def test_a_coordinate_that_is_no_number_hides_no_other_from_the_projection() -> None:
    """Else it would depend on the other replicates whether the other coordinate is projected."""
    steps = AsyncGossip(rho=RHO).steps(Setting(SHARE, P, T, SIGMA, 0.4))
    state = steps.init([Streams(1).within("replicate", r) for r in (1, 2)])
    points, turn = np.zeros((2, P)), AnswerBatch(np.array([0, 0]))
    points[0] = [np.nan, 5.0, 0.1, -5.0]
    steps.apply(state, turn, points, np.zeros((2, P)))
    assert state.clipped.tolist() == [1, 0]
    for model in (state.central[0], state.copies[0, 0]):
        assert np.isnan(model[0])
        assert model[1] == 0.4
        assert 0 < model[2] < 0.1
        assert model[3] == -0.4
