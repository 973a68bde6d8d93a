"""Answers of a mechanism of others, attacked in a table."""

import numpy as np
import pandas as pd
import pytest

import asyncdp_sim as ad

RUNS = 20_000


def answers(scale, apart, runs=RUNS, numbers=1, seed=1):
    side = np.repeat([0, 1], runs)
    noise = np.random.default_rng(seed).laplace(scale=scale, size=(2 * runs, numbers))
    return pd.DataFrame(noise + apart * side[:, None]).assign(dataset=np.where(side, "b", "a"))


@pytest.mark.parametrize(("apart", "epsilon"), [(1.0, 0.5), (1.0, 2.0), (3.0, 1.0)])
def test_a_bound_is_just_below_the_truth(apart: float, epsilon: float) -> None:
    found = ad.audit_answers(answers(apart / epsilon, apart))
    assert 0.8 * epsilon < found.epsilon < epsilon


def test_too_little_noise_is_refuted_and_none_is_as_much_as_so_many_answers_show() -> None:
    assert ad.audit_answers(answers(0.5, 1.0)).epsilon > 1.5
    assert ad.audit_answers(answers(1e-6, 1.0)).epsilon > 7


@pytest.mark.long
def test_many_numbers_together_show_more_than_each() -> None:
    alone, together = (ad.audit_answers(answers(10.0, 1.0, numbers=n)).epsilon for n in (1, 50))
    assert alone < 0.1
    assert together > 3 * alone


@pytest.mark.long
def test_where_nothing_is_to_be_shown_nothing_is() -> None:
    shown = [
        ad.audit_answers(answers(1.0, 0.0, runs=100, numbers=60, seed=seed), confidence=0.9)
        for seed in range(40)
    ]
    assert sum(found.epsilon > 0 for found in shown) <= 10  # of 4 in the mean


@pytest.mark.parametrize(
    ("change", "options", "named"),
    [
        ({"dataset": 1}, {}, "1 data sets"),
        ({"dataset": range(400)}, {}, "400 data sets"),
        ({"said": "a word"}, {}, "a value that is no number"),
        ({"said": np.nan}, {}, "a value that is no number"),
        ({}, {"dataset": "side"}, "no such column"),
        ({}, {"delta": 1.0}, "delta"),
        ({}, {"confidence": 1.0}, "confidence"),
    ],
)
def test_what_is_refused(change: dict[str, object], options: dict[str, object], named: str) -> None:
    with pytest.raises(ad.InputError, match=named):
        ad.audit_answers(answers(1.0, 1.0, runs=200).assign(**change), **options)
