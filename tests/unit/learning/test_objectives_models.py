"""Models as scenarios name them, from the file to the result."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import Dataset
from asyncdp_sim.learning.objectives import SVM, Logistic, Model, Quadratic, Ridge
from asyncdp_sim.runs import run
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from tests.conformance.members import examples, said
from tests.one_in import one_in
from tests.tables import table

BASE = table(__file__, "scenes.toml")["models"]
MODELS = examples(Model)
SENSITIVITIES: list[dict[str, Any]] = [
    {"kind": "declared", "bound": 50.0},
    {"kind": "clip", "bound": 0.5},
    {"kind": "clip", "bound": 0.5, "norm": "l2-as-published"},
    {"kind": "domain", "row_norm": 1.0, "target_max": 2.0},
]


def scenario(model: Any, sensitivity: int = 1, **changed: Any) -> Scenario:
    raw: dict[str, Any] = {
        "data": {"kind": "gaussian", "features": 3, "condition": 4.0},
        "model": model.model_dump(exclude_none=True),
        "privacy": {"epsilon": 500.0, "sensitivity": SENSITIVITIES[sensitivity]},
    }
    if model.classifies:
        raw["data"]["labels"] = True
    return parse(Scenario, {**BASE, **raw, **changed})


def boundless(model: Any, sensitivity: int) -> bool:
    """Whether this is a domain bound without a box where there is none."""
    return sensitivity == 3 and model.gradient_bound(1.0, 1.0, 3, "l1") is None


PAIRS = [(m, s) for m in MODELS for s in range(4) if not boundless(m, s)]


@pytest.mark.oracle("live learning with each model")
@one_in(4, ("model", "sensitivity"), PAIRS, ids=[f"{said(m)}-{s}" for m, s in PAIRS])
def test_live_equals_replay_to_the_bit(model: Any, sensitivity: int) -> None:
    recorded = scenario(model, sensitivity)
    replayed = run(recorded)
    live = run(
        recorded.model_copy(update={"run": recorded.run.model_copy(update={"learning": "live"})})
    )
    assert live.fingerprints == replayed.fingerprints
    assert live.learned.curve.tolist() == replayed.learned.curve.tolist()
    assert np.array_equal(live.learned.models, replayed.learned.models)
    assert np.isfinite(replayed.learned.models).all()
    curve = replayed.learned.curve
    assert np.all(curve["relative_fitness"][curve["k"] > 0] >= 0)  # the start may lie outside Θ
    assert {int(s) for t in replayed.traces for s in t.updates["staleness"]} > {0}


@one_in(
    3,
    "model",
    [
        Logistic(regularisation=0.05),
        SVM(regularisation=0.05),
    ],
    ids=said,
)
def test_noise_free_learning_approaches_the_optimum(model: Any) -> None:
    """Gradients, step and θ* belong to one objective: ψ falls to a small part of its start."""
    long = scenario(
        model,
        run={"seed": 3, "replicates": 2, "updates": 3000, "record_every": 1000},
        owners={"count": 2, "records": 60},
        protocol={"kind": "request"},
        latency={},
        algorithm={"kind": "async-gossip", "rho": 9000.0},
        privacy={"mechanism": "none"},
    )  # fmt: skip
    curve = run(long).learned.curve
    first, last = (curve["relative_fitness"][curve["k"] == k] for k in (0, 3000))
    assert np.all(last < 0.02 * first)


def test_second_moments_are_for_ridge_without_clipping_alone() -> None:
    for model in MODELS:
        problem = prepare(scenario(model, 0), build_dataset(scenario(model, 0)))
        moments = isinstance(problem.task.reply.gradients, Quadratic)
        assert moments == model.quadratic
        clipped = prepare(scenario(model, 1), build_dataset(scenario(model, 1)))
        assert clipped.task.reply.gradients is clipped.records


def test_an_svm_appends_a_constant_after_the_domain_has_scaled_the_rows() -> None:
    here = scenario(SVM(regularisation=1.0), 3)
    problem = prepare(here, build_dataset(here))
    assert here.numbers == problem.task.objective.n_features == 4
    for x in problem.records.features:
        assert np.all(x[:, 3] == 1)
        assert np.all(np.abs(x[:, :3]).sum(axis=1) <= 1 + 1e-12)
        assert x.flags.f_contiguous
    assert problem.xi == here.xi == 2.0
    assert scenario(Logistic(regularisation=1.0), 3).numbers == 3


def test_the_regularisers_of_every_model_differ_by_a_factor_of_two() -> None:
    for kind in (Ridge, Logistic, SVM):
        assert kind(regularisation=0.1).sigma == 0.1
        assert kind(regularisation=0.1, regulariser="square").sigma == 0.2


def test_labels_are_the_signs_of_the_same_draws() -> None:
    here = scenario(Logistic(regularisation=1.0)).data
    signs = here.build(2, (50, 40), Streams(3))
    drawn = here.model_copy(update={"labels": False}).build(2, (50, 40), Streams(3))
    for x, z, y, t in zip(
        signs.features, drawn.features, signs.targets, drawn.targets, strict=True
    ):
        assert np.array_equal(x, z)
        assert np.array_equal(y, np.sign(t))
        assert {-1.0, 1.0} == set(y.tolist())
    assert "sign" in signs.notes[0]
    assert "sign" not in drawn.notes[0]
    flat = here.model_copy(update={"noise": 0.0, "features": 1}).build(1, (1,), Streams(3))
    assert abs(flat.targets[0][0]) == 1


@pytest.mark.parametrize("bad", [0.0, 0.5, -2.0, 1.0 + 1e-12])
def test_targets_other_than_labels_are_refused_by_name(bad: float) -> None:
    here = scenario(SVM(regularisation=1.0))
    good = build_dataset(here)
    spoilt = [y.copy() for y in good.targets]
    spoilt[1][4] = bad
    dataset = Dataset(good.features, tuple(spoilt), good.columns, (0, 0, 0), real=False)
    with pytest.raises(DataError) as caught:
        prepare(here, dataset)
    [line] = caught.value.lines()
    assert line == (
        f"data: given the value {bad:g} at owner 2; "
        "allowed are labels -1 and 1 with model.kind = svm"
    )


def test_linear_targets_are_refused_before_anything_is_drawn() -> None:
    for model in (Logistic(regularisation=1.0), SVM(regularisation=1.0)):
        with pytest.raises(SpecError, match=r"data\.labels: given false; allowed is true"):
            scenario(model, data={"kind": "gaussian", "features": 3})
    labelled = {"kind": "gaussian", "features": 3, "labels": True}
    assert scenario(Ridge(regularisation=1.0), data=labelled).data.labels  # may be regressed on
