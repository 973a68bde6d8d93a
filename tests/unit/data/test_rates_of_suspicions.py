"""Rates at which ids, numbers for gaps and leaks are named, of drawn laws with a known answer.

Each law has the rate at which its column is named: by a formula, or as 1,000 draws gave it, with a
standard error of at most 0.01. A test draws 100 others and allows four standard errors. Where the
answer is no, the rate is that of false alarms; else what is left to 1 is missed. Formulas: an even
id is missed by the 5 % of a test of Kolmogorov and Smirnov; a number for gaps is named from 1 % of
the cells on, of which there are binomially many; half of samples exceed their correlation.

Why two limits stand where they do: of 60 normal amounts about half look even, so that fewer than
150 tell no ids; and one positive row of 20 is at either end by chance in 10 % of the columns.
"""

from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.data.column_profile import looked_at
from asyncdp_sim.data.tables.column_type import Beside
from tests.tables import table

pytestmark = pytest.mark.long
DRAWS = 100
LAWS = table(__file__, "rates_of_suspicions.toml")


def drawn(case, generator):
    """Return a column and a target of a law of the table."""
    rows = case.get("rows", 400)
    if "correlation" in case:
        r, target = case["correlation"], generator.normal(size=rows)
        column = r * target + np.sqrt(1 - r**2) * generator.normal(size=rows)
        if "even" in case:
            column = np.round(1e6 * np.array([NormalDist().cdf(z) for z in column])) + 1e6
        return column, target
    if "auc" in case:  # of two normal laws
        target = np.where(np.arange(rows) < case["positive"], 1.0, -1.0)
        apart = np.sqrt(2) * NormalDist().inv_cdf(case["auc"])
        return generator.normal(size=rows) + apart * (target > 0), target
    name, *numbers = case["law"]
    column = getattr(generator, name)(*numbers, size=rows, **case.get("options", {}))
    for function, *more in case.get("then", ()):
        column = getattr(np, function)(column, *more)
    if "code" in case:
        column = np.where(generator.random(rows) < case["share"], case["code"], column)
    return column, generator.normal(size=rows)


def rate(case, said):
    """Return the share of draws of which a remark has these words."""
    named = 0
    classes = ("a", "b") if "auc" in case else ()
    for seed in range(DRAWS):
        values, target = drawn(case, np.random.default_rng([seed, 61]))
        cells = [str(int(v)) if float(v).is_integer() else repr(float(v)) for v in values]
        beside = Beside(".", True, target=np.asarray(target, dtype=float), classes=classes)
        remarks = looked_at(pd.Series(cells), "v", beside).suspicious
        named += any(said in remark for remark in remarks)
    return named / DRAWS


@pytest.mark.parametrize("said", LAWS)
def test_it_is_said_at_the_rate_of_the_law(said):
    wrong = {}
    for name, case in LAWS[said].items():
        error = max(np.sqrt(case["rate"] * (1 - case["rate"]) / DRAWS), 0.5 / DRAWS)
        found = rate(case, said)
        if abs(found - case["rate"]) > 4 * error:
            wrong[name] = found
    assert wrong == {}
