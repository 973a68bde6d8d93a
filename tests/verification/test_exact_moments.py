"""Exact moments against runs: where they apply, and where they say that they do not."""

import time
import tracemalloc

import numpy as np
import pytest

from analysis.exact.assumptions import answering
from analysis.exact.learning import Expected, Recursions, expected_psi, grid
from asyncdp_sim.core.specification import parse
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.prediction import Unknown
from tests import scenes
from tests.tables import table

from .networks import by_moments, ended

pytestmark = [pytest.mark.long, pytest.mark.no_evidence]

R = 600


SCENES = table(__file__, "scenes_of_moments.toml")


def scenario(**parts):
    fields = scenes.fields(**SCENES["scenario"])
    fields["privacy"] |= parts.pop("privacy", {})
    return parse(Scenario, fields | parts)


TABLE = table(__file__, "exact_moments.toml")
EXACT = TABLE["exact"]
AT_NIGHT = ("uneven budgets", "gaussian", "discrete laplace", "text's step", "unequal clocks")
"""Further cases of what other cases have by default, and mechanisms, whose own suite runs them."""


def exactly(given: Scenario) -> float:
    """Return E ψ at the end, of a scenario that has exact moments."""
    found = by_moments(given)
    assert found.doubts == ()
    return float(found.psi[-1])


def away(given: Scenario, psi: float) -> tuple[float, float]:
    """Return how far runs end from ψ in standard errors, and the relative standard error."""
    final = ended(run(given))
    error = float(final.std(ddof=1) / len(final) ** 0.5)
    return float(final.mean() - psi) / error, error / psi


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.nightly] if name in AT_NIGHT else []) for name in EXACT],
)
def test_exact_moments_equal_runs(name):
    given = scenario(**EXACT[name])
    z, error = away(given, exactly(given))
    assert error <= 0.05
    assert abs(z) <= 4


def test_another_noise_is_seen():
    psi = exactly(scenario(privacy={"epsilon": 1.0 / 1.2}))
    assert abs(away(scenario(privacy={"epsilon": 1.0}), psi)[0]) > 4


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
    found = by_moments(given)
    [doubt] = found.doubts
    assert name in doubt
    final = ended(run(given))
    error = np.hypot(final.std(ddof=1) / R**0.5, found.half_width / 1.98)
    assert error <= 0.07 * found.psi[-1]
    assert abs(final.mean() - found.psi[-1]) <= 4 * error


def test_the_projection_is_seen_given_the_order_too():
    narrow = {"model": {"kind": "ridge", "regularisation": 0.2, "theta_max": 1.5}}
    queued = scenario(**GIVEN["requests wait in a queue"], **narrow)
    found = expected_psi(population(queued, private=False))
    assert isinstance(found, list)
    assert any("projection" in doubt for doubt in found)


def test_a_grid_shares_recursions_and_equals_single_cells():
    sweep = {"owners.count": [2, 3], "privacy.epsilon": [5.0, 50.0]}
    given = scenario(owners={"count": 3, "records": 200}, sweep=sweep)
    for values, point in zip(given.grid(), grid(given), strict=True):
        one = by_moments(given.cell(values))
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
    parts = {"owners": {"count": 3, "records": 150}, "privacy": {"epsilon": 2000.0}}
    parts["data"] = data | {"score_on": "all"}
    given = scenario(**parts)
    psi = exactly(given)
    assert abs(away(given, psi)[0]) <= 4
    assert abs(exactly(scenario(**parts | {"data": data})) - psi) > 0.01 * psi


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
    z, error = away(given, float(exact.psi[-1]))
    print(f"z = {z:.2f} at {error:.2%}; {seconds:.1f} s, {peak / 2**20:.0f} MB")
    assert abs(z) <= 4
    assert error <= 0.01
    assert peak <= 200 * 2**20
