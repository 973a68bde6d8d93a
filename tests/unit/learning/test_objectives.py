"""Objectives of linear models: losses by hand, the moments of ridge, and models from a file."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import Dataset
from asyncdp_sim.learning import objectives
from asyncdp_sim.learning.objectives import SVM, LinearRecords, Logistic, Quadratic, Ridge, Squared
from asyncdp_sim.learning.objectives.losses import Hinge, LogisticLoss
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from tests.conformance.members import examples, said
from tests.huber import HuberLoss
from tests.one_in import one_in
from tests.tables import table
from tests.together import together
from tests.unit.learning.problems import live_is_replay, name, records

# Losses of linear models: values by hand, slopes by differences, tangents without cancellation.

LOSSES = [Squared(), LogisticLoss(), Hinge(), HuberLoss(0.7)]
SMOOTH = [loss for loss in LOSSES if loss.curvature is not None]


def predictions(loss, count=400):
    rng = np.random.default_rng(5)
    z, y = rng.normal(size=count) * 2, rng.normal(size=count)
    return z, np.where(y < 0, -1.0, 1.0) if loss.classifies else y


KINDS = {type(loss).__name__: loss for loss in LOSSES} | {"HuberLoss": HuberLoss(0.5)}


@together
@pytest.mark.parametrize(
    ("loss", "z", "y", "value", "slope"), table(__file__, "losses.toml")["by_hand"]
)
def test_value_and_slope_by_hand(loss, z, y, value, slope):
    z, y, value = (np.array([eval(str(each), vars(math).copy())]) for each in (z, y, value))
    assert KINDS[loss].value(z, y) == pytest.approx(value, rel=1e-15)
    assert KINDS[loss].slope(z, y) == pytest.approx([slope], rel=1e-15)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_slope_equals_numeric_differences(loss):
    z, y = predictions(loss)
    step = 1e-6
    numeric = (loss.value(z + step, y) - loss.value(z - step, y)) / (2 * step)
    assert np.allclose(loss.slope(z, y), numeric, atol=1e-8)


@pytest.mark.parametrize("loss", SMOOTH, ids=name)
def test_bend_equals_numeric_differences_and_stays_below_the_curvature(loss):
    z, y = predictions(loss)
    step = 1e-6
    numeric = (loss.slope(z + step, y) - loss.slope(z - step, y)) / (2 * step)
    bend = loss.bend(z, y)
    assert np.all(bend <= loss.envelope(z, y) * (1 + 1e-12))
    for far in np.random.default_rng(1).normal(size=(20, len(z))) * 3:
        above = loss.slope(z, y) * far + loss.envelope(z, y) * far**2 / 2
        assert np.all(loss.value(z + far, y) - loss.value(z, y) <= above + 1e-12)
    assert np.allclose(bend, numeric, atol=1e-8)
    assert np.all(bend <= loss.curvature)
    at_most = loss.bend(np.zeros(1), np.ones(1) if loss.classifies else np.zeros(1))
    assert at_most == pytest.approx(loss.curvature)  # and no lower bound would do


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_no_slope_is_steeper_than_told(loss):
    rng = np.random.default_rng(6)
    y = np.sign(rng.normal(size=2000)) if loss.classifies else rng.uniform(-2, 2, 2000)
    z = rng.uniform(-3, 3, 2000)
    z[:2], y[:2] = [3, -3], [-1, 1] if loss.classifies else [-2, 2]
    steepest = loss.steepest(3.0, 2.0)
    found = np.abs(loss.slope(z, y)).max()
    assert found <= steepest
    assert found >= steepest * (0.95 if isinstance(loss, LogisticLoss) else 1)


def exact(loss, step, z, y, slope):
    """φ(z + step) − φ(z) − slope·step in rational arithmetic, or in 60 digits."""
    if isinstance(loss, LogisticLoss):
        from decimal import Decimal, localcontext

        with localcontext() as context:
            context.prec = 60
            z, y, step = Decimal(z), Decimal(y), Decimal(step)

            def value(at):
                return (1 + (-y * at).exp()).ln()

            q = 1 / (1 + (y * z).exp())
            return float(value(z + step) - value(z) + y * q * step)
    z, y, step, slope = map(Fraction, (z, y, step, slope))

    def value(at):
        r = abs(at - y)
        if isinstance(loss, Squared):
            return r * r
        if isinstance(loss, Hinge):
            return max(Fraction(0), 1 - y * at)
        delta = Fraction(loss.delta)
        return r * r / 2 if r <= delta else delta * (r - delta / 2)

    return float(value(z + step) - value(z) - slope * step)


@together
@pytest.mark.parametrize("size", [1e-8, 1e-4, 2.9e-3, 3.1e-3, 0.1, 1.0, 29.0, 40.0])
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_the_distance_from_the_tangent_keeps_its_digits(loss, size):
    rng = np.random.default_rng(7)
    if isinstance(loss, Hinge):
        z, y = np.array([0.5, -1.5, 2.0, -3.0]), np.array([1.0, -1.0, 1.0, 1.0])
    elif isinstance(loss, LogisticLoss):
        z, y = rng.normal(size=8), np.where(rng.normal(size=8) < 0, -1.0, 1.0)
    else:
        z, y = np.array([0.5, -1.5, 2.0, 0.25]), np.array([0.25, 1.5, -1.0, 0.5])
    slope = loss.slope(z, y)
    for sign in (-1, 1):
        step = np.full(len(z), sign * size)
        found = loss.above_tangent(step, z, y, slope)
        told = [exact(loss, *map(float, each)) for each in zip(step, z, y, slope, strict=True)]
        assert np.all(found >= 0)
        # rounding 1 − y(z + step) costs the hinge an absolute ulp of the margin
        assert np.allclose(found, told, rtol=1e-10, atol=1e-15 if isinstance(loss, Hinge) else 0)


def test_a_hinge_at_its_kink_takes_the_subgradient_that_it_is_given():
    """At yz = 1 with α = ¼: u = −step, so ¾·(−step)₊ + ¼·step₊."""
    one = np.ones(2)
    found = Hinge().above_tangent(np.array([0.5, -0.5]), one, one, -0.25 * one)
    assert found.tolist() == [0.125, 0.375]


# The ridge objective: second moments say exactly what the records say.

ORACLE = pytest.mark.oracle("gradient, fitness and optimum from second moments")

SIZES = (40, 7, 23)


@pytest.fixture(params=[1, 5, 70], ids=lambda p: f"p={p}")
def p(request: pytest.FixtureRequest) -> int:
    return request.param


@ORACLE
def test_gradient_from_moments_equals_the_gradient_from_records(p):
    x, y = records(1, SIZES, p)
    points = np.random.default_rng(2).normal(size=(6, p))
    owners = np.array([0, 1, 2, 2, 1, 0])
    quadratic = Quadratic.from_records(x, y, 0.1, None)
    fast, slow = quadratic.gradient(owners, points), LinearRecords(x, y).gradient(owners, points)
    assert fast.shape == (6, p)
    assert np.abs(fast - slow).max() < 1e-9 * np.abs(slow).max()


@one_in(4, "p", [1, 2, 3, 4, 7, 8, 10, 16, 33, 63, 64])
def test_gradient_adds_up_in_a_stated_order(p):
    """Bit for bit the loop over j = 1, 2, …, for any number of rows."""
    rng = np.random.default_rng(p)
    gram, moment = rng.normal(size=(3, p, p)), rng.normal(size=(3, p))
    quadratic = Quadratic(gram, moment, np.ones(3), np.ones(3, dtype=np.int64), 0.1, None)
    for rows in (1, 2, 3, 33, 100):
        owners, points = rng.integers(3, size=rows), rng.normal(size=(rows, p))
        expected = np.empty((rows, p))
        for r, (i, point) in enumerate(zip(owners, points, strict=True)):
            for a in range(p):
                total = gram[i, 0, a] * point[0]
                for j in range(1, p):
                    total = total + gram[i, j, a] * point[j]
                expected[r, a] = (total - moment[i, a]) * 2
        assert quadratic.gradient(owners, points).tobytes() == expected.tobytes()


def test_the_bits_of_a_fitness_do_not_depend_on_how_many_are_asked_for():
    for p in (1, 5, 50, 130):
        x, y = records(1, SIZES, p)
        quadratic = Quadratic.from_records(x, y, 0.3, 0.5)
        points = np.random.default_rng(3).normal(size=(12, 3, p))
        together = quadratic.excess(points)
        alone = [[quadratic.excess(points[j, r]) for r in range(3)] for j in range(12)]
        assert np.array_equal(together, np.array(alone))


def test_constants_equal_brute_force():
    x, y = records(5, SIZES, 3)
    quadratic = Quadratic.from_records(x, y, 0.3, 0.8)
    for norm, order in (("l1", 1), ("l2", 2)):
        found = objectives.constants(quadratic, LinearRecords(x, y, None, norm))
        corners = np.array(np.meshgrid(*[[-0.8, 0.8]] * 3)).reshape(3, -1).T
        largest = max(
            np.linalg.norm(-2 * (b - a @ t) * a, ord=order)
            for rows, targets in zip(x, y, strict=True)
            for a, b in zip(rows, targets, strict=True)
            for t in corners
        )
        assert found.xi == pytest.approx(largest)
    assert found.xi_g == pytest.approx(0.3 * np.linalg.norm([0.8] * 3))
    assert found.sigma == 0.3
    second = 0.3 * np.eye(3) + 2 / 70 * sum(a.T @ a for a in x)
    assert found.smoothness == pytest.approx(np.linalg.eigvalsh(second)[-1])
    free = objectives.constants(Quadratic.from_records(x, y, 0.3, None), LinearRecords(x, y))
    assert (free.xi, free.xi_g) == (None, None)


# Models as scenarios name them, from the file to the result.

BASE = table(__file__, "scenes.toml")["models"]
MODELS = examples(objectives.Model)
SENSITIVITIES = table(__file__, "scenes.toml")["sensitivities"]


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
def test_live_equals_replay_to_the_bit(model, sensitivity):
    replayed = live_is_replay(scenario(model, sensitivity))
    curve = replayed.learned.curve
    assert np.all(curve["relative_fitness"][curve["k"] > 0] >= 0)  # the start may lie outside Θ
    assert {int(s) for t in replayed.traces for s in t.updates["staleness"]} > {0}


@one_in(3, "model", [Logistic(regularisation=0.05), SVM(regularisation=0.05)], ids=said)
def test_noise_free_learning_approaches_the_optimum(model):
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


def test_second_moments_are_for_ridge_without_clipping_alone():
    for model in MODELS:
        problem = prepare(scenario(model, 0), build_dataset(scenario(model, 0)))
        assert isinstance(problem.task.reply.gradients, Quadratic) == model.quadratic
        clipped = prepare(scenario(model, 1), build_dataset(scenario(model, 1)))
        assert clipped.task.reply.gradients is clipped.records


def test_an_svm_appends_a_constant_after_the_domain_has_scaled_the_rows():
    here = scenario(SVM(regularisation=1.0), 3)
    problem = prepare(here, build_dataset(here))
    assert here.numbers == problem.task.objective.n_features == 4
    for x in problem.records.features:
        assert np.all(x[:, 3] == 1)
        assert np.all(np.abs(x[:, :3]).sum(axis=1) <= 1 + 1e-12)
        assert x.flags.f_contiguous
    assert problem.xi == here.xi == 2.0
    assert scenario(Logistic(regularisation=1.0), 3).numbers == 3


def test_the_regularisers_of_every_model_differ_by_a_factor_of_two():
    for kind in (Ridge, Logistic, SVM):
        assert kind(regularisation=0.1).sigma == 0.1
        assert kind(regularisation=0.1, regulariser="square").sigma == 0.2


def test_labels_are_the_signs_of_the_same_draws():
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
    assert scenario(Ridge(regularisation=1.0), data=here.model_dump()).data.labels  # regressed on


@pytest.mark.parametrize("bad", [0.0, 0.5, -2.0, 1.0 + 1e-12])
def test_targets_other_than_labels_are_refused_by_name(bad):
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
