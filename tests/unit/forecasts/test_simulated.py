"""Simulated forecasts of runs of unequal length, by hand."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.forecasts.population import RUNS, _mean, final_psi, half_width, population
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.forecast import as_json
from tests import scenes
from tests.one_in import one_in
from tests.tables import table

CURVE = np.array(
    [(1, 8.0), (1, 4.0), (1, 2.0), (2, 6.0), (2, 3.0)],
    dtype=[("replicate", "i4"), ("relative_fitness", "f8")],
)
"""Of two replicates, the second of which ends an update earlier."""


def test_a_run_that_has_ended_stays_where_it_ended():
    assert _mean(CURVE, "relative_fitness").tolist() == [7.0, 3.5, 2.5]
    assert final_psi(CURVE).tolist() == [2.0, 3.0]
    lost = CURVE.copy()
    lost["relative_fitness"][2] = np.nan
    assert final_psi(lost).tolist() == [np.inf, 3.0]


DIVERGING = table(__file__, "scenes.toml")["diverging"]


@one_in(2, "parts", DIVERGING.values(), ids=DIVERGING)
def test_a_learning_that_diverges_is_infinitely_far_off_and_never_no_number(parts):
    """∞ − ∞ of a model that has overflowed is not told as if nothing were known."""
    fields = scenes.fields(
        run={"updates": parts.get("updates", 30)},
        owners={"records": 5},
        model={"regularisation": 1e-3},
        protocol=parts.get("protocol", {"kind": "request"}),
        algorithm=parts["algorithm"],
        privacy={"sensitivity": {"kind": parts.get("bound", "clip"), "bound": 1.0}},
    )
    found = forecast(parse(Scenario, fields), judged=None, target=0.5)
    assert (found.psi, found.psi_half_width) == (np.inf, np.inf)
    told = [found.psi, found.noise_free, *found.quantiles.values(), *found.curve, *found.times]
    assert np.isnan(told).sum() == 0
    assert found.curve[-1] == np.inf
    assert '"psi": "inf"' in as_json(found)


CLIPPED: dict[str, Any] = scenes.fields(**table(__file__, "clipped.toml"))


@pytest.mark.long
@pytest.mark.parametrize(("runs", "error"), [(20, 0.015), (RUNS, 0.022)])
def test_the_interval_of_few_runs_covers_as_stated(runs, error):
    """Of 4,000/R intervals, each of R other runs, a share of 0.95 ± the standard error."""
    asked = parse(Scenario, CLIPPED).replace(data={"held_out": 0.25})
    known = population(asked, private=False)
    _, [learned] = known.quick_runs.learned([known.problem.task], range(1, 4001))
    final = final_psi(learned.curve)
    within = [abs(few.mean() - final.mean()) <= half_width(few) for few in final.reshape(-1, runs)]
    assert 0.95 - 3 * error < np.mean(within) < 0.999


TRUSTED = {
    "clipped": {"kind": "clip", "bound": 0.5},
    "in a domain": {"kind": "domain", "row_norm": 1.0, "target_max": 1.0},
}


@pytest.mark.parametrize("bound", TRUSTED)
@pytest.mark.parametrize("learning", ["replay", "live"])
@pytest.mark.long
def test_without_noise_answers_are_bounded_as_with_it(bound, learning):
    """An infinite budget clips and scales as any other; mechanism none does neither."""
    fields: dict[str, Any] = scenes.fields(
        run={"updates": 12, "replicates": RUNS, "learning": learning},
        owners={"count": 2, "records": 20},
        model={"theta_max": 5.0},
        algorithm={"rho": 60.0},
        protocol={"kind": "push"},
        compute={"kind": "exponential", "mean": 0.5},
    )
    privacy: dict[str, Any] = {"epsilon": 20.0, "sensitivity": TRUSTED[bound]}
    found = forecast(parse(Scenario, fields | {"privacy": privacy}))
    assert found.method.startswith(f"{RUNS} simulated runs")
    endless = run(parse(Scenario, fields | {"privacy": privacy | {"epsilon": float("inf")}}))
    assert found.noise_free == pytest.approx(endless.summary["psi_final"]["mean"], rel=1e-9)
    bare = run(parse(Scenario, fields | {"privacy": {"mechanism": "none"}}))
    assert abs(bare.summary["psi_final"]["mean"] - found.noise_free) > 0.02 * found.noise_free
