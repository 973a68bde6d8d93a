"""Figures of the page on gains are those of simulations, of the benchmark and of other pages."""

import re
from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.decision import JointModels, LinearModels, OwnRows
from scenarios.decisions import read
from tests.verification.decision_laws import judge_fresh

ROOT = Path(__file__).resolve().parents[2]
PAGE = " ".join((ROOT / "docs" / "what-gain-means.md").read_text(encoding="utf-8").split())
COLUMNS, FRESH, DRAWS = 8, 1000, 200


def rows(count: int, law: np.ndarray, classes: int, generator: np.random.Generator) -> OwnRows:
    """Return rows of a linear law: numbers with noise of deviation 1, or two classes."""
    x = generator.normal(size=(count, COLUMNS))
    z = x @ law
    if classes == 0:
        y = z + generator.normal(size=count)
    else:
        y = (generator.random(count) < 1 / (1 + np.exp(z))).astype(float)
    return OwnRows(x, y, classes, np.arange(count))


def cost(count: int, classes: int) -> float:
    """Return by what share of the own error it errs to adapt a joint model of random numbers."""
    generator, size = np.random.default_rng([count, classes]), 0.7 if classes > 0 else 0.5
    own, adapted = 0.0, 0.0
    for _ in range(DRAWS):
        law, useless = size * generator.normal(size=(2, COLUMNS))
        known, fresh = (rows(n, law, classes, generator) for n in (count, FRESH))
        linear = LinearModels(useless[None, None], np.zeros((1, 1)))
        joint = JointModels(linear.scores(known.columns), linear)
        as_is = linear.scores(fresh.columns)
        gain = judge_fresh(known, joint, fresh, as_is, 1e-3, generator, own_best="linear")
        own, adapted = own + gain.own, adapted + gain.adapted
    return adapted / own - 1


@pytest.mark.documents
def test_what_adapting_a_useless_joint_model_costs():
    said = re.search(
        r"absolute error by (\d+) % with 16 rows, (\d+) % with 40 and (\d+) % with 100; the log "
        r"loss by (\d+), (\d+) and (\d+) %",
        PAGE,
    )
    found = [100 * cost(count, classes) for classes in (0, 2) for count in (16, 40, 100)]
    assert [float(each) for each in said.groups()] == pytest.approx(found, abs=0.6)


def test_how_much_too_large_clear_gains_are_stated():
    clear = read(ROOT / "scenarios" / "decisions.csv").query("owner != '' and decided")
    times = clear.gain / clear.truth
    assert f"{times.min():.1f} to {times.max():.1f} times the true ones" in PAGE
    gains = clear[clear.verdict == "gains"]
    small = (gains.truth < gains.material).sum()
    assert f"{small} of its {len(gains)} gains were truly below 5 %" in PAGE
    assert times.min() > 1


def test_errors_that_the_page_takes_from_the_hospital_are_on_its_page():
    hospital = (ROOT / "docs" / "one-hospital.md").read_text(encoding="utf-8")
    own, joint, adapted = re.search(
        r"errors ([\d.]+) own, ([\d.]+) joint and ([\d.]+) adapted", PAGE
    ).groups()
    assert f"{own} own model, {joint} joint model, {adapted} adapted" in hospital
    late, early = float(own) - float(adapted), float(own) - min(float(joint), float(adapted))
    assert f"the gain is {late:.2f}, not {early:.2f}:" in PAGE


def test_a_forecast_of_the_benchmark_takes_under_half_a_second():
    page = " ".join((ROOT / "docs" / "how-long.md").read_text(encoding="utf-8").split())
    assert "the median forecast takes under half a second: it has one budget and linear" in page
    answers = read(ROOT / "scenarios" / "decisions.csv")
    for way in ("public", "owner", "all"):
        asked = answers[answers.way == way].drop_duplicates(["table", "epsilon", "seconds"])
        assert asked.seconds.median() < 0.5
