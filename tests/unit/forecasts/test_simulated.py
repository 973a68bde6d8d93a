"""Simulated forecasts of runs of unequal length, by hand."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.forecasts.benefit import errors
from asyncdp_sim.forecasts.by_runs import final_psi, half_width
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.forecasts.simulated import FEWEST, FIRST, REPLICATES, _mean
from asyncdp_sim.forecasts.words import as_json
from asyncdp_sim.runs import run
from asyncdp_sim.scenario import Scenario
from tests import scenes
from tests.one_in import one_in

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


DIVERGING: dict[str, dict[str, Any]] = {
    "a gossip": {"algorithm": {"kind": "async-gossip", "rho": 1e300}, "updates": 60},
    "a server": {"algorithm": {"kind": "fedasync", "step": 1e200, "mixing": 1.0}},
    "without clipping": {"algorithm": {"kind": "async-gossip", "rho": 1e20}, "bound": "declared"},
    "rounds": {
        "algorithm": {"kind": "collab-2", "step": 1e200},
        "protocol": {"kind": "rounds"},
        "bound": "declared",
    },
}


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
    found = forecast(parse(Scenario, fields), redraws=4, target=0.5)
    assert (found.psi, found.psi_half_width) == (np.inf, np.inf)
    told = [found.psi, found.noise_free, *found.quantiles.values(), *found.curve, *found.times]
    assert np.isnan(told).sum() == 0
    assert found.curve[-1] == np.inf
    assert '"psi": "inf"' in as_json(found)


CLIPPED: dict[str, Any] = scenes.fields(
    id="clipped",
    run={"updates": 60},
    owners={"records": 80},
    data={"features": 3},
    model={"regularisation": 0.01, "theta_max": 10.0},
    algorithm={"rho": 5.0},
    privacy={"epsilon": 10.0, "sensitivity": {"kind": "clip", "bound": 4.0}},
)


def test_more_runs_are_made_where_the_first_leave_an_owner_undecided():
    asked = parse(Scenario, CLIPPED)
    decided = forecast(asked)
    assert (decided.method.split()[0], decided.verdicts) == (str(FIRST), [False, False, False])
    wide = asked.replace(run={"updates": 100}, algorithm={"rho": 200.0}, privacy={"epsilon": 100.0})
    known = population(wide, private=False)
    undecided = forecast(wide, known=known)
    assert (undecided.method.split()[0], None in undecided.verdicts) == (str(REPLICATES), True)
    task, numbers = known.problem.task, range(1, REPLICATES + 1)
    _, [loud] = known.quick_runs.learned([task], numbers)
    _, [quiet] = known.quick_runs.learned([task.without_noise()], numbers)
    assert undecided.psi == pytest.approx(final_psi(loud.curve).mean(), rel=1e-12)
    assert undecided.noise_free == pytest.approx(final_psi(quiet.curve).mean(), rel=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(("runs", "error"), [(FEWEST, 0.015), (FIRST, 0.022)])
def test_the_interval_of_few_runs_covers_as_stated(runs, error):
    """Of 4,000/R intervals, each of R other runs, a share of 0.95 ± the standard error."""
    asked = parse(Scenario, CLIPPED).replace(data={"held_out": 0.25})
    known = population(asked, private=False)
    _, [learned] = known.quick_runs.learned([known.problem.task], range(1, 4001))
    final = final_psi(learned.curve)
    within = [abs(few.mean() - final.mean()) <= half_width(few) for few in final.reshape(-1, runs)]
    assert 0.95 - 3 * error < np.mean(within) < 0.999


def test_where_rows_are_held_out_psi_and_errors_are_of_the_same_runs(monkeypatch):
    """Unless these are too few for ψ; alone, each is to the bit what it is beside the other."""
    asked = parse(Scenario, CLIPPED).replace(data={"held_out": 0.25})
    known = population(asked, private=False)
    for runs, of_psi in ((40, 40), (12, FEWEST)):
        for module in ("simulated", "benefit"):
            module = import_module(f"asyncdp_sim.forecasts.{module}")
            monkeypatch.setattr(module, "runs_of_each", lambda *_, runs=runs: runs)
        found, alone = forecast(asked, known=known), errors(known)
        assert found.method.split()[0] == str(of_psi)
        assert found.worth is not None
        assert found.worth.joined.shape[1] == runs
        assert found.worth.joined.tobytes() == alone.joined.tobytes()
        _, [loud] = known.quick_runs.learned([known.problem.task], range(1, of_psi + 1))
        assert found.psi == pytest.approx(final_psi(loud.curve).mean(), rel=1e-12)


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
        run={"updates": 12, "replicates": FIRST, "learning": learning},
        owners={"count": 2, "records": 20},
        model={"theta_max": 5.0},
        algorithm={"rho": 60.0},
        protocol={"kind": "push"},
        compute={"kind": "exponential", "mean": 0.5},
    )
    privacy: dict[str, Any] = {"epsilon": 20.0, "sensitivity": TRUSTED[bound]}
    found = forecast(parse(Scenario, fields | {"privacy": privacy}))
    assert found.method.startswith(f"{FIRST} simulated runs")
    endless = run(parse(Scenario, fields | {"privacy": privacy | {"epsilon": float("inf")}}))
    assert found.noise_free == pytest.approx(endless.summary["psi_final"]["mean"], rel=1e-9)
    bare = run(parse(Scenario, fields | {"privacy": {"mechanism": "none"}}))
    assert abs(bare.summary["psi_final"]["mean"] - found.noise_free) > 0.02 * found.noise_free
