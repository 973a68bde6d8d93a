"""Exact moments against runs: where they apply, and where they say that they do not."""

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest

from analysis.exact.assumptions import answering
from analysis.exact.learning import Expected, ExpectedPsi, Recursions, expected_psi, grid
from asyncdp_sim.core.specification import parse
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.prediction import Unknown
from tests import scenes
from tests.tables import table

from .shared import shared

pytestmark = [pytest.mark.long, pytest.mark.no_evidence]

R = 600


SCENES = table(__file__, "scenes_of_moments.toml")


def scenario(**parts):
    fields: dict[str, Any] = scenes.fields(**SCENES["scenario"])
    fields["privacy"] |= parts.pop("privacy", {})
    return parse(Scenario, fields | parts)


TABLE = table(__file__, "exact_moments.toml")
EXACT = TABLE["exact"]
AT_NIGHT = ("uneven budgets", "gaussian", "discrete laplace", "text's step", "unequal clocks")
"""Further cases of what other cases have by default, and mechanisms, whose own suite runs them."""


@shared
def outcome(name):
    """Return ψ at the end of every run."""
    return run(scenario(**EXACT[name])).learned.curve["relative_fitness"].reshape(R, 2)[:, 1]


def moments_of(given: Scenario) -> ExpectedPsi | list[str]:
    return expected_psi(population(given, private=False))


def exactly(given: Scenario) -> float:
    """Return E ψ at the end, of a scenario that has exact moments."""
    found = moments_of(given)
    assert isinstance(found, ExpectedPsi)
    assert found.doubts == ()
    return float(found.psi[-1])


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.nightly] if name in AT_NIGHT else []) for name in EXACT],
)
def test_exact_moments_equal_runs(name):
    psi, final = exactly(scenario(**EXACT[name])), outcome(name)
    error = final.std(ddof=1) / R**0.5
    assert error <= 0.05 * psi
    assert abs(final.mean() - psi) <= 4 * error


def test_another_noise_is_seen():
    given = scenario(privacy={"epsilon": 1.0})
    psi = exactly(scenario(privacy={"epsilon": 1.0 / 1.2}))
    final = run(given).learned.curve["relative_fitness"].reshape(R, 2)[:, 1]
    assert abs(final.mean() - psi) > 4 * final.std(ddof=1) / R**0.5


def test_a_grid_has_no_value_where_moments_do_not_apply():
    clipped = {"sensitivity": {"kind": "clip", "bound": 3.0}}
    [point] = grid(scenario(privacy=clipped, sweep={"run.seed": [1]}))
    assert isinstance(point, tuple)
    assert len(point) > 0


GIVEN = TABLE["given"]
"""By the doubt."""


@pytest.mark.parametrize("name", GIVEN)
def test_moments_given_the_order_are_averaged_over_networks_and_it_is_said(name):
    given = scenario(**GIVEN[name])
    found = moments_of(given)
    assert isinstance(found, ExpectedPsi)
    [doubt] = found.doubts
    assert name in doubt
    curve = run(given).learned.curve
    final = curve["relative_fitness"][np.flatnonzero(np.diff(curve["replicate"], append=-1) != 0)]
    error = np.hypot(final.std(ddof=1) / R**0.5, found.half_width / 1.98)
    assert error <= 0.07 * found.psi[-1]
    assert abs(final.mean() - found.psi[-1]) <= 4 * error


def test_the_projection_is_seen_given_the_order_too():
    narrow = {"model": {"kind": "ridge", "regularisation": 0.2, "theta_max": 1.5}}
    found = moments_of(scenario(**GIVEN["requests wait in a queue"], **narrow))
    assert isinstance(found, list)
    assert any("projection" in doubt for doubt in found)


def test_a_grid_shares_recursions_and_equals_single_cells():
    sweep = {"owners.count": [2, 3], "privacy.epsilon": [5.0, 50.0]}
    given = scenario(owners={"count": 3, "records": 200}, sweep=sweep)
    for values, point in zip(given.grid(), grid(given), strict=True):
        one = moments_of(given.cell(values))
        assert isinstance(one, ExpectedPsi)
        assert isinstance(point, Expected)
        assert point.psi[-1] == pytest.approx(one.psi[-1], rel=1e-9)
        assert point.noise_free[-1] == pytest.approx(one.noise_free, rel=1e-9)


def test_a_real_table_is_read_only_where_it_may_be(tmp_path):
    path = tmp_path / "t.csv"
    rows = np.random.default_rng(1).standard_normal((60, 3))
    path.write_text("a,b,y\n" + "\n".join(",".join(f"{v:.6f}" for v in row) for row in rows))
    data = {"kind": "table", "path": str(path), "target": "y", "features": 2}
    data |= {"public_records": 0, "preprocessing": "none"}
    given = scenario(data=data, owners={"count": 3, "records": 20})
    with pytest.raises(Exception, match="--private"):
        forecast(given)
    assert not forecast(given, private=True).release


def test_more_rows_may_judge_than_train():
    """``data.score_on = "all"``: θ* is of all rows, and ψ need not fall to 0."""
    data = {"kind": "lending", "features": 3, "public_records": 400, "preprocessing": "pca"}
    parts = {
        "data": data | {"score_on": "all"},
        "owners": {"count": 3, "records": 150},
        "privacy": {"epsilon": 2000.0},
    }
    given = scenario(**parts)
    psi = exactly(given)
    final = run(given).learned.curve["relative_fitness"].reshape(R, 2)[:, 1]
    assert abs(final.mean() - psi) <= 4 * final.std(ddof=1) / R**0.5
    narrow = exactly(scenario(**parts | {"data": data}))
    assert abs(narrow - psi) > 0.01 * psi


@pytest.mark.nightly
def test_many_owners_have_exact_moments():
    """N = 86, p = 10, T = 1000 against 3,000 runs; moments in 15 s and 200 MB."""
    given = scenario(**SCENES["many"])
    known = population(given, private=False)
    law = answering(given.network)
    assert not isinstance(law, Unknown)
    tracemalloc.start()
    began = time.process_time()
    exact = Recursions().expect(known, known.objective, law.chosen)
    seconds, (_, peak) = time.process_time() - began, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    final = run(given).learned.curve["relative_fitness"].reshape(3000, 2)[:, 1]
    error = final.std(ddof=1) / 3000**0.5
    z = (final.mean() - exact.psi[-1]) / error
    print(f"z = {z:.2f} at {error / exact.psi[-1]:.2%}; {seconds:.1f} s, {peak / 2**20:.0f} MB")
    assert abs(z) <= 4
    assert error <= 0.01 * exact.psi[-1]
    assert peak <= 200 * 2**20
