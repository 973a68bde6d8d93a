"""The example of an algorithm of one's own, dual averaging: its path is exact, late answers too.

In the eigenvectors of 2H, with eigenvalues μ, c = μ − σ those of the losses alone, d_k = σk + β_k,
β_k = max(k, 1)^e/η and e_k the deviation from θ* of one owner without noise,

    e_(k+1) = [(d_k − c) e_k + (β_(k+1) − β_k) e_0]/d_(k+1).
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.runs import run
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario, load

FILE = Path(__file__).parents[3] / "docs" / "kinds" / "dual_averaging.toml"
UPDATES, SIGMA, STEP = 40, 0.1, 0.2
LENGTH = {"updates": UPDATES, "replicates": 3}
EXACT = {"epsilon": float("inf"), "sensitivity": {"kind": "declared", "bound": 100.0}}


def example(**parts: Any) -> Scenario:
    return load(FILE, allow_code=True)[0].replace(**{"run": LENGTH, **parts})


def held(k: int, exponent: float) -> float:
    """Return β_k."""
    return float(max(k, 1) ** exponent / STEP)


def path_of_one_owner(objective: Quadratic, exponent: float) -> np.ndarray:
    """Return θ_T of one owner without noise, from θ = 0."""
    values, vectors = np.linalg.eigh(2 * objective.hessian)
    best = vectors.T @ objective.free_optimum
    error = -best
    for k in range(UPDATES):
        old, new = held(k, exponent), held(k + 1, exponent)
        kept = (SIGMA * k + old - (values - SIGMA)) * error - (new - old) * best
        error = kept / (SIGMA * (k + 1) + new)
    return np.asarray(vectors @ (error + best))


@pytest.mark.parametrize("exponent", [0.0, 0.3, 0.5])
def test_one_owner_without_noise_goes_the_exact_way(exponent):
    algorithm = {"exponent": exponent}
    given = example(owners={"count": 1, "records": 30}, algorithm=algorithm, privacy=EXACT)
    objective = prepare(given, build_dataset(given)).task.objective
    assert isinstance(objective, Quadratic)
    found = run(given).learned.models
    assert np.allclose(found, path_of_one_owner(objective, exponent), rtol=0, atol=1e-12)
    wrong = path_of_one_owner(objective, exponent + 0.1)
    assert not np.allclose(found, wrong, rtol=0, atol=1e-4)


def test_late_answers_are_of_the_models_that_were_read():
    given = example(privacy=EXACT)
    objective, found = prepare(given, build_dataset(given)).task.objective, run(given)
    assert max(trace.updates["staleness"].max() for trace in found.traces) > 0
    for trace, model in zip(found.traces, found.learned.models, strict=True):
        path, total = [np.zeros(3)], np.zeros(3)
        for k, used in enumerate(trace.updates, 1):
            owner, read = int(used["owner"]) - 1, path[-1 - int(used["staleness"])]
            answer = objective.gradient(np.array([owner]), read[None])[0]
            total = total + 5 * objective.weights[owner] * answer
            path.append(-total / (SIGMA * k + held(k, 0.5)))
        assert np.allclose(model, path[-1], rtol=0, atol=1e-12)


def test_live_equals_replay():
    live, replayed = (run(example(run=LENGTH | {"learning": way})) for way in ("live", "replay"))
    assert np.array_equal(live.learned.models, replayed.learned.models)
    assert live.fingerprints == replayed.fingerprints
