"""Rates at which ids, numbers for gaps and leaks are named, of drawn laws with a known answer.

Each law has the rate at which its column is named: by a formula, or as 1,000 draws gave it, with a
standard error of at most 0.01. A test draws 100 others and allows four standard errors. Where the
answer is no, the rate is that of false alarms; else what is left to 1 is missed. Formulas: an even
id is missed by the 5 % of a test of Kolmogorov and Smirnov; a number for gaps is named from 1 % of
the cells on, of which there are binomially many; half of samples exceed their correlation.

Why two limits stand where they do: of 60 normal amounts about half look even, so that fewer than
150 tell no ids; and one positive row of 20 is at either end by chance in 10 % of the columns.
"""

from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.data.column_profile import looked_at
from asyncdp_sim.data.tables.column_type import Beside
from tests.together import together

pytestmark = pytest.mark.long
DRAWS = 100
Law = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
"""A column and a target."""


def rate(law: Law, said: str, classes: tuple[str, ...] = ()) -> float:
    """Return the share of draws of which a remark has a word."""
    named = 0
    for seed in range(DRAWS):
        values, target = law(np.random.default_rng([seed, 61]))
        cells = [str(int(v)) if float(v).is_integer() else repr(float(v)) for v in values]
        beside = Beside(".", True, target=np.asarray(target, dtype=float), classes=classes)
        named += any(
            said in remark for remark in looked_at(pd.Series(cells), "v", beside).suspicious
        )
    return named / DRAWS


def held(law: Law, expected: float, said: str, classes: tuple[str, ...] = ()) -> None:
    error = max(np.sqrt(expected * (1 - expected) / DRAWS), 0.5 / DRAWS)
    assert abs(rate(law, said, classes) - expected) <= 4 * error


def even(rows: int, related: float = 0.0) -> Law:
    """Whole numbers, evenly spread, with this correlation of their normal scores."""

    def drawn(generator):
        y = generator.normal(size=rows)
        z = related * y + np.sqrt(1 - related**2) * generator.normal(size=rows)
        return np.round(1e6 * np.array([NormalDist().cdf(v) for v in z])) + 1e6, y

    return drawn


def unrelated(draw: Callable[[np.random.Generator], np.ndarray]) -> Law:
    def drawn(generator):
        values = draw(generator)
        return values, generator.normal(size=len(values))

    return drawn


IDS = {
    "even numbers, 300 rows": (even(300), 0.95),
    "even numbers, 100 rows": (even(100), 0.0),  # too few to tell ids from amounts
    "even amounts that go with the target": (even(300, 0.4), 0.0),
    "normal amounts, 60 rows": (unrelated(lambda g: np.round(g.normal(2e6, 3e5, 60))), 0.0),
    "normal amounts, 300 rows": (unrelated(lambda g: np.round(g.normal(2e6, 3e5, 300))), 0.0),
    "incomes": (unrelated(lambda g: np.round(np.exp(g.normal(10.5, 0.6, 300)))), 0.0),
}  # fmt: skip


@together
@pytest.mark.parametrize("name", IDS)
def test_ids_by_their_numbers_alone(name):
    law, expected = IDS[name]
    held(law, expected, "an id")


def coded(code: float, share: float, draw: Callable[[np.random.Generator], np.ndarray]) -> Law:
    """A column in which a share of the cells has a number for a gap."""

    def mixed(generator):
        values = draw(generator)
        return np.where(generator.random(len(values)) < share, code, values)

    return unrelated(mixed)


def laboratory(generator):
    return np.round(generator.normal(97, 9, 400), 1)


def incomes(generator):
    return np.round(np.exp(generator.normal(10, 1, 400)))


def scale(generator):
    return generator.integers(1, 6, 400)


def doses(generator):
    return np.round(generator.normal(50, 8, 400))


GAPS = {
    "-99 in 5 % of a laboratory's values": (coded(-99, 0.05, laboratory), 1.0),
    "999 in 2 %": (coded(999, 0.02, laboratory), 0.958),
    "-1 in 5 % of incomes": (coded(-1, 0.05, incomes), 1.0),
    "9999999 in 5 % of incomes": (coded(9_999_999, 0.05, incomes), 1.0),
    "0 in 5 % of a laboratory's values": (coded(0, 0.05, laboratory), 1.0),
    "-1 in 20 % of counts": (coded(-1, 0.2, lambda g: g.poisson(1.5, 400)), 1.0),
    "99 in 5 % of a scale": (coded(99, 0.05, scale), 1.0),
    "9 in 5 % of a scale": (coded(9, 0.05, scale), 1.0),
    "-1 in 10 % of labels": (coded(-1, 0.1, lambda g: g.integers(0, 2, 400)), 1.0),
    "no gap, rarely worse": (
        unrelated(lambda g: g.choice((-1, 0, 1), 400, p=(0.2, 0.5, 0.3))), 0.0,
    ),
    "no gap, normal": (unrelated(laboratory), 0.0),
    "no gap, incomes": (unrelated(incomes), 0.0),
    "no gap, counts less one": (unrelated(lambda g: g.poisson(3.0, 400) - 1), 0.0),
    "no gap, counts of 1.5 less one": (unrelated(lambda g: g.poisson(1.5, 400) - 1), 1.0),  # limit
    "no gap, visits": (unrelated(lambda g: g.poisson(2.0, 400)), 0.0),
    "no gap, more spread visits": (unrelated(lambda g: g.negative_binomial(1, 0.4, 400)), 0.0),
    "no gap, worse or better": (unrelated(lambda g: g.integers(-1, 2, 400)), 0.0),
    "no gap, most without a dose": (coded(0, 0.65, doses), 0.0),
    "no gap, some without a dose": (coded(0, 0.3, doses), 1.0),  # a limit: named
    "no gap, half are 0": (coded(0, 0.5, incomes), 0.0),
    "no gap, ages up to 90": (unrelated(lambda g: np.minimum(g.integers(0, 105, 400), 90)), 0.0),
    "no gap, heavy tail": (unrelated(lambda g: np.floor(10 * g.pareto(1.2, 400))), 0.0),
}  # fmt: skip


@together
@pytest.mark.parametrize("name", GAPS)
def test_numbers_for_gaps(name):
    law, expected = GAPS[name]
    held(law, expected, "if it means a missing value")


def correlated(rows: int, r: float) -> Law:
    def drawn(generator):
        y = generator.normal(size=rows)
        return r * y + np.sqrt(1 - r**2) * generator.normal(size=rows), y

    return drawn


def separated(rows: int, positive: int, auc: float) -> Law:
    """Two normal laws whose AUC is known, of classes with so many rows."""

    def drawn(generator):
        y = np.where(np.arange(rows) < positive, 1.0, -1.0)
        apart = np.sqrt(2) * NormalDist().inv_cdf(auc)
        return generator.normal(size=rows) + apart * (y > 0), y

    return drawn


LEAKS = {
    "correlation 0.95": (correlated(300, 0.95), 0.0, ()),
    "correlation 0.98": (correlated(1000, 0.98), 0.5, ()),
    "correlation 0.99": (correlated(300, 0.99), 1.0, ()),
    "AUC 0.95": (separated(300, 100, 0.95), 0.0, ("a", "b")),
    "AUC 0.9995": (separated(300, 100, 0.9995), 1.0, ("a", "b")),
    "no relation, one positive row": (separated(20, 1, 0.5), 0.0, ("a", "b")),
    "no relation, three positive rows": (separated(100, 3, 0.5), 0.0, ("a", "b")),
}  # fmt: skip


@together
@pytest.mark.parametrize("name", LEAKS)
def test_leaks(name):
    law, expected, classes = LEAKS[name]
    held(law, expected, "a leak", classes)
