"""Forecasts by common moments: ± covers what one truth for all owners leaves out."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from asyncdp_sim.evidence.exact_moments import BUDGETS_END
from asyncdp_sim.forecasts import forecast, grid
from asyncdp_sim.forecasts.by_moments import given, orders, unlike
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec.base import parse
from asyncdp_sim.theory.prediction import Unknown
from tests import scenes

pytestmark = [pytest.mark.long, pytest.mark.no_evidence]

CAPPED = {"kind": "per-owner-cap", "answers": 15}
Fields = dict[str, Any]


def scenario(seed=1, shift=0.0, **parts):
    """Five owners whose budgets end long before T, if they are capped; hardly any noise."""
    fields: Fields = scenes.fields(
        run={"seed": seed, "updates": 100, "replicates": 200, "record_every": 100},
        owners={"count": 5, "records": [1000, 400, 1000, 700, 1500]},
        data={"features": 5, "heterogeneity": shift, "condition": 4.0},
        model={"regularisation": 0.01},
        algorithm={"rho": 30.0},
        privacy={"epsilon": 1e5, "sensitivity": {"kind": "declared", "bound": 5.0}},
    )
    for key, changes in parts.items():
        fields[key] = fields.get(key, {}) | changes
    return parse(Scenario, fields)


def simulated(chosen):
    curve = run(chosen).learned.curve
    last = np.flatnonzero(np.diff(curve["replicate"], append=-1) != 0)
    psi = curve["relative_fitness"][last]
    return float(psi.mean()), float(psi.std(ddof=1) / len(psi) ** 0.5)


def test_where_budgets_end_common_moments_say_how_little_they_know():
    """One truth for all owners alone is some hundred times too low here, and was told so."""
    chosen = scenario(privacy={"budget": CAPPED})
    mean, error = simulated(chosen)
    own, common = forecast(chosen), forecast(chosen, moments="common")
    assert abs(own.psi - mean) <= 4 * np.hypot(error, own.psi_half_width / 1.98)
    assert abs(common.psi - mean) <= common.psi_half_width + 4 * error
    assert common.psi_half_width < 1.5 * mean
    known = population(chosen, "common", private=False)
    bare = given(known, [known.objective], orders(chosen.network, 125, 1).owners)
    assert not isinstance(bare, Unknown)
    assert abs(bare.psi[-1] - mean) > bare.half_width + 20 * error


def test_own_moments_are_the_default_where_there_is_nothing_to_hide(tmp_path):
    chosen = scenario()
    assert forecast(chosen).moments == "synthetic records"
    assert forecast(chosen).doubts == ()
    lending = {"kind": "lending", "features": 3, "public_records": 400, "preprocessing": "pca"}
    table = tmp_path / "t.csv"
    rows = np.random.default_rng(1).standard_normal((60, 3))
    np.savetxt(table, rows, delimiter=",", header="a,b,y", comments="")
    real = {"kind": "table", "path": str(table), "target": "y", "features": 2}
    real |= {"public_records": 0, "preprocessing": "none"}
    fields = chosen.plain() | {"owners": {"count": 3, "records": 20}}
    found = population(parse(Scenario, fields | {"data": real}), None, private=True)
    assert found.common
    twin = parse(Scenario, fields | {"data": lending | {"path": "loan.csv"}})
    assert not population(twin, None, private=False).common


@pytest.mark.parametrize("budget", [CAPPED, {"kind": "horizon"}])
def test_a_budget_that_may_end_is_said(budget):
    chosen = scenario(privacy={"budget": budget})
    found = forecast(chosen, moments="common")
    assert any(BUDGETS_END in doubt for doubt in found.doubts) is (budget is CAPPED)
    assert any("25 random splits" in doubt for doubt in found.doubts)


def test_a_budget_that_ends_is_said_whatever_else_is_doubted():
    """Where nobody knows whose update is next, the simulated networks show it."""
    waiting: Fields = {
        "protocol": {"kind": "request", "busy": "queue"},
        "compute": {"kind": "constant", "value": 0.1},
    }
    found = forecast(scenario(privacy={"budget": CAPPED}, **waiting))
    assert BUDGETS_END in found.doubts
    assert BUDGETS_END not in forecast(scenario(**waiting)).doubts


def test_splits_leave_the_fitness_as_it_is():
    known = population(scenario(shift=0.3), "common", private=False)
    objectives, _ = unlike(known, None)
    for each in objectives:
        assert each.hessian == pytest.approx(known.objective.hessian, rel=1e-9)
        assert each.free_optimum == pytest.approx(known.objective.free_optimum, rel=1e-8)
        assert each.least == pytest.approx(known.objective.least, rel=1e-9)
    assert unlike(known, 0.0)[1] == 0.0
    assert np.ptp([each.moment[0, 0] for each in objectives]) > 0


def test_how_far_apart_truths_are_is_found():
    """Mean of τ² as found over 25 populations, against E δᵀHδ/f* as it is in each."""
    found, real = [], []
    for seed in range(25):
        known = population(scenario(seed, 0.2), "common", private=False)
        least, share = known.objective.least, known.objective.weights
        spread = 0.2**2 * (1 - share @ share) * np.trace(known.objective.hessian)
        found.append(unlike(known, None)[1])
        real.append(spread / least)
    error = np.std(np.array(found) - real, ddof=1) / 25**0.5
    assert error <= 0.1 * np.mean(real)
    assert abs(np.mean(found) - np.mean(real)) <= 4 * error
    assert np.mean(
        [unlike(population(scenario(s), "common", private=False), None)[1] for s in range(5)]
    ) < 0.1 * np.mean(found)


def _covered(seeds, **parts):
    hits, widths = 0, []
    for seed in seeds:
        chosen = scenario(seed, 0.05, **parts)
        own, common = forecast(chosen), forecast(chosen, moments="common")
        hits += abs(common.psi - own.psi) <= np.hypot(common.psi_half_width, own.psi_half_width)
        widths.append(common.psi_half_width / common.psi)
    return hits, widths


@pytest.mark.nightly
@pytest.mark.parametrize("budget", [CAPPED, {"kind": "horizon"}])
def test_the_interval_covers_what_own_moments_say_of_many_populations(budget):
    hits, widths = _covered(range(100, 250), privacy={"budget": budget})
    print(f"{hits} of 150 covered, median half-width {np.median(widths):.2f} ψ")
    assert hits >= binom.ppf(0.01, 150, 0.95)
    assert np.median(widths) <= 1.3


def test_a_grid_by_common_moments_has_its_interval():
    sweep = {"privacy.epsilon": [1e3, 1e5]}
    chosen = parse(
        Scenario, scenario(run={"updates": 40}, algorithm={"rho": 5.0}).plain() | {"sweep": sweep}
    )
    for common, own in zip(grid(chosen, moments="common"), grid(chosen), strict=True):
        assert own.half_width == 0
        assert abs(common.psi - own.psi) <= common.half_width
        assert 0 < common.half_width < 1.5 * own.psi
