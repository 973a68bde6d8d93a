"""Fitness and record gradients of every model: like a loop over records, clipped and sampled."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from asyncdp_sim.core.specification import kind_of, members
from asyncdp_sim.learning.objectives import LinearRecords, Loss, Model, Quadratic, Squared
from asyncdp_sim.learning.objectives import constants as constants_of
from asyncdp_sim.learning.objectives import records as module
from asyncdp_sim.learning.objectives.losses import Hinge, LogisticLoss
from asyncdp_sim.learning.objectives.mlp import Perceptron, PerceptronObjective, PerceptronRecords
from asyncdp_sim.learning.objectives.models import LinearKind, LinearObjective
from asyncdp_sim.learning.objectives.records import largest
from asyncdp_sim.learning.objectives.softmax import SoftmaxLoss, SoftmaxRecords
from asyncdp_sim.privacy import Domain
from asyncdp_sim.scenario.fields import examples_of
from tests.huber import HuberLoss
from tests.one_in import one_in
from tests.together import together
from tests.unit.learning.problems import name, records

# Fitness and record gradients of every model: like a loop over records, clipped and sampled.

GRADIENTS = pytest.mark.oracle("gradients of a loss over records")
ORDER = {"l1": 1, "l2": 2}
NORMS = pytest.mark.parametrize("norm", ORDER)
D, HIDDEN = 3, 4
NET = Perceptron(D, HIDDEN)
Array = np.ndarray


@dataclass(frozen=True)
class Case:
    """A model: its loss, its record's gradient written out again, and where clipping takes place.

    Attributes
    ----------
    loss : Loss
    made : callable
        Owners' records, of features, targets, and what clips them.
    spelled : callable
        ℓ and ∇ℓ of one record (x, y, θ).
    size : int
        p.
    """

    loss: Loss
    made: Callable[..., Any]
    spelled: Callable[[Array, float, Array], tuple[float, Array]]
    size: int

    @property
    def constant(self) -> bool:
        """Rows end with 1."""
        return self.made is perceptron


def linear(loss: Any, x: Any, y: Any, clip: float | None = None, norm: Any = "l1") -> LinearRecords:
    return LinearRecords(x, y, clip, norm, loss)


def perceptron(
    loss: Any, x: Any, y: Any, clip: float | None = None, norm: Any = "l1"
) -> PerceptronRecords:
    return PerceptronRecords(NET, x, y, loss, clip, norm)


def softmax(
    loss: Any, x: Any, y: Any, clip: float | None = None, norm: Any = "l1"
) -> SoftmaxRecords:
    return SoftmaxRecords(x, y, loss, clip, norm)


def judge(case: Case, x: Any, y: Any, sigma: float = 0.05, theta_max: float | None = None) -> Any:
    """Return what judges models of a case."""
    kind: Any = PerceptronObjective if case.made is perceptron else LinearObjective
    return kind(case.made(case.loss, x, y), sigma, theta_max)


def of_prediction(loss: Loss, z: float, y: float) -> tuple[float, float]:
    """φ and φ' of one record, written out again."""
    if isinstance(loss, LogisticLoss):
        return math.log(1 + math.exp(-y * z)), -y / (1 + math.exp(y * z))
    if isinstance(loss, Hinge):
        return max(0.0, 1 - y * z), -y if y * z < 1 else 0.0
    if isinstance(loss, Squared):
        return (y - z) ** 2, 2 * (z - y)
    slope = max(-0.7, min(0.7, z - y))
    return slope * (z - y - slope / 2), slope


def of_line(loss: Loss) -> Any:
    def spelled(x: Array, y: float, theta: Array) -> tuple[float, Array]:
        value, slope = of_prediction(loss, float(theta @ x), y)
        return value, slope * x

    return spelled


def of_net(loss: Loss) -> Any:
    """Unit after unit its weights and threshold, then w₂, then b₂."""

    def spelled(x: Array, y: float, theta: Array) -> tuple[float, Array]:
        outer, z = theta[HIDDEN * (D + 1) : -1], theta[-1]
        slopes: list[float] = []
        activations: list[float] = []
        for h in range(HIDDEN):
            unit = theta[h * (D + 1) : (h + 1) * (D + 1)]
            a = math.tanh(sum(unit[j] * x[j] for j in range(D)) + unit[D])
            z += outer[h] * a
            activations.append(a)
            slopes += [outer[h] * (1 - a * a) * x[j] for j in range(D + 1)]
        value, slope = of_prediction(loss, float(z), y)
        return value, slope * np.array([*slopes, *activations, 1.0])

    return spelled


def of_classes(classes: int) -> Any:
    """Class after class its weights, the last class's being 0."""

    def spelled(x: Array, y: float, theta: Array) -> tuple[float, Array]:
        z = [sum(theta[c * D + j] * x[j] for j in range(D)) for c in range(classes - 1)] + [0.0]
        place = {-1.0: 0, 1.0: 1}[y] if classes == 2 else int(y) - 1
        total = sum(math.exp(each) for each in z)
        slopes = [math.exp(z[c]) / total - (c == place) for c in range(classes - 1)]
        return math.log(total) - z[place], np.array([s * each for s in slopes for each in x])

    return spelled


LOSSES = [Squared(), LogisticLoss(), Hinge(), HuberLoss(0.7)]
CASES = {type(loss).__name__: Case(loss, linear, of_line(loss), D) for loss in LOSSES}
CASES |= {
    f"perceptron, {type(loss).__name__}": Case(loss, perceptron, of_net(loss), NET.numbers)
    for loss in LOSSES[:2]
}
CASES |= {
    f"{k} classes": Case(SoftmaxLoss(k), softmax, of_classes(k), (k - 1) * D) for k in (2, 3, 6)
}
EACH = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def targets(case: Case, rng: np.random.Generator, count: int) -> Array:
    if isinstance(case.loss, SoftmaxLoss) and case.loss.classes > 2:
        return rng.integers(1, case.loss.classes + 1, count).astype(float)
    return rng.choice([-1.0, 1.0], count) if case.loss.classifies else rng.normal(size=count) * 3


def data(case: Case, sizes: tuple[int, ...] = (40, 1, 9)) -> tuple[list[Array], list[Array]]:
    x, y = records(1, sizes, D)
    if isinstance(case.loss, SoftmaxLoss):
        rng = np.random.default_rng(1)
        y = [targets(case, rng, n) for n in sizes]
    elif case.loss.classifies:
        y = [np.where(t < 0, -1.0, 1.0) for t in y]
    if case.constant:
        x = [np.asfortranarray(np.column_stack([a, np.ones(len(a))])) for a in x]
    elif sizes[0] > 3:
        x[0][3] = 0  # a record without features has no gradient to clip
    return x, y


def models(case: Case, count: int, seed: int = 2) -> Array:
    return np.random.default_rng(seed).normal(size=(count, case.size)) * 0.7


def each_gradient(case: Case, x: Array, y: Array, theta: Array) -> list[Array]:
    return [case.spelled(a, float(b), theta)[1] for a, b in zip(x, y, strict=True)]


@EACH
def test_fitness_is_that_of_a_loop_over_records(case):
    x, y = data(case)
    for theta in models(case, 3):
        pairs = [pair for owner in zip(x, y, strict=True) for pair in zip(*owner, strict=True)]
        mean = np.mean([case.spelled(a, float(b), theta)[0] for a, b in pairs])
        told = 0.05 / 2 * float(theta @ theta) + mean
        assert float(judge(case, x, y).fitness(theta)) == pytest.approx(told, rel=1e-12)


@GRADIENTS
@EACH
def test_a_gradient_is_the_numeric_slope_of_the_owners_mean_loss(case):
    x, y = data(case)
    theta, step = models(case, 1)[0], 1e-5
    for owner in range(3):

        def mean(t: Array, owner: int = owner) -> float:
            pairs = zip(x[owner], y[owner], strict=True)
            return float(np.mean([case.spelled(a, float(b), t)[0] for a, b in pairs]))

        steps = np.eye(case.size) * step
        numeric = [(mean(theta + e) - mean(theta - e)) / (2 * step) for e in steps]
        found = case.made(case.loss, x, y).gradient(np.array([owner]), theta[None])[0]
        assert np.allclose(found, numeric, rtol=1e-6, atol=1e-6 * np.abs(numeric).max())


@together
@GRADIENTS
@NORMS
@pytest.mark.parametrize("clip", [None, 0.01, 0.5, 1e6])
@EACH
def test_a_clipped_gradient_is_that_of_a_loop_over_records(case, clip, norm):
    x, y = data(case)
    points, owners = models(case, 5), np.array([0, 1, 2, 1, 0])
    found = case.made(case.loss, x, y, clip, norm).gradient(owners, points)
    clipped = 0
    for row, (owner, theta) in enumerate(zip(owners, points, strict=True)):
        total = np.zeros(case.size)
        for gradient in each_gradient(case, x[owner], y[owner], theta):
            length = np.linalg.norm(gradient, ord=ORDER[norm])
            over = clip is not None and length > clip
            clipped += over
            total += gradient * clip / length if over else gradient
        assert np.allclose(found[row], total / len(y[owner]), rtol=1e-11, atol=1e-12)
    assert (clipped > 0) == (clip in (0.01, 0.5))


@EACH
def test_a_sampled_gradient_is_the_mean_over_the_records_drawn(case):
    x, y = data(case)
    points, owners = models(case, 3), np.array([0, 1, 2])
    uniforms = np.random.default_rng(8).random((3, 5))
    found = case.made(case.loss, x, y, 0.01).sampled(owners, points, uniforms)
    for row, (owner, theta) in enumerate(zip(owners, points, strict=True)):
        drawn = [int(u * len(y[owner])) for u in uniforms[row]]
        each = each_gradient(case, x[owner][drawn], y[owner][drawn], theta)
        assert np.allclose(found[row], np.mean(each, axis=0), rtol=1e-12, atol=1e-13)


@pytest.mark.oracle("change of an answer by one record, under clipping")
@one_in(2, "norm", ORDER)
@EACH
def test_replacing_one_record_moves_a_clipped_mean_by_at_most_twice_the_bound(case, norm):
    """The sensitivity 2C/n_i that the noise rests on, which is all but reached."""
    rng = np.random.default_rng(3)
    x, y = data(case, (6,))
    worst, owner = 0.0, np.array([0])
    for _ in range(300):
        other = [x[0].copy()], [y[0].copy()]
        row = rng.integers(6)
        other[0][0][row, :D] = rng.normal(size=D) * 10 ** rng.uniform(-2, 3)
        other[1][0][row] = targets(case, rng, 1)[0]
        point = rng.normal(size=(1, case.size))
        one = case.made(case.loss, x, y, 0.2, norm).gradient(owner, point)[0]
        two = case.made(case.loss, *other, 0.2, norm).gradient(owner, point)[0]
        worst = max(worst, float(np.linalg.norm(one - two, ord=ORDER[norm])))
    assert 0.2 / 6 < worst <= 2 * 0.2 / 6 * (1 + 1e-12)


@one_in(2, "norm", ORDER)
@EACH
def test_the_largest_gradient_is_that_of_brute_force(case, norm):
    """Before clipping; of many records, too, which are bounded over balls of models first."""
    thetas = models(case, 6)
    for sizes in ((30, 4, 11), (600,)):
        x, y = data(case, sizes)
        here = case.made(case.loss, x, y, 0.5, norm)
        for owner in range(len(sizes)):
            each = [
                np.linalg.norm(gradient, ord=ORDER[norm])
                for theta in thetas
                for gradient in each_gradient(case, x[owner], y[owner], theta)
            ]
            assert largest(here, owner, thetas) == pytest.approx(max(each), rel=1e-12)


@pytest.mark.parametrize(
    ("count", "row"),
    [(10_000, 0), (10_000, 8191), (10_000, 8192), (10_000, 9999), (8193, 8192), (1, 0)],
)
def test_the_largest_gradient_is_one_of_every_record(count, row):
    """One outlier, wherever it lies among many records."""
    x, y = records(7, (count,), 2)
    x[0][row] = 1000
    theta = np.array([[1.0, -2.0], [0.0, 0.0]])
    slow = max(np.abs(-2 * (y[0][row] - t @ x[0][row]) * x[0][row]).sum() for t in theta)
    assert largest(LinearRecords(x, y), 0, theta) == pytest.approx(slow, rel=1e-12)


@together
@NORMS
@pytest.mark.parametrize("clip", [None, 0.5])
@EACH
def test_bits_do_not_depend_on_how_many_points_are_asked_for(case, clip, norm):
    """Owners of 1, 2, 50 and 1500 records, so that stacks of models are cut in many ways."""
    x, y = data(case, (50, 1, 2, 1500))
    here, rng = case.made(case.loss, x, y, clip, norm), np.random.default_rng(4)
    points, owners = models(case, 33), rng.integers(4, size=33)
    owners[:4] = [3, 1, 0, 3]
    everything = here.gradient(owners, points)
    for rows in ([0], [0, 1], [0, 1, 2], [32], [7, 3], list(range(33))[::-1]):
        assert np.array_equal(here.gradient(owners[rows], points[rows]), everything[rows])


@EACH
def test_bits_of_judges_do_not_depend_on_how_many_points_are_asked_for(case):
    here, rng = judge(case, *data(case, (50, 1, 2, 700))), np.random.default_rng(4)
    points, owners = models(case, 33), rng.integers(4, size=33)
    everything, excess = here.gradient(owners, points), here.excess(points)
    for rows in ([0], [0, 1], [0, 1, 2], [32], [7, 3], list(range(33))[::-1]):
        assert np.array_equal(here.gradient(owners[rows], points[rows]), everything[rows])
        assert np.array_equal(here.excess(points[rows]), excess[rows])


# Gradients of many models at once have the bits of one alone.

SIZES = (700, 31, 1)


def of_loss(loss, clip, p):
    x, y = records(1, SIZES, p)
    y = [np.where(t < 0, -1.0, 1.0) for t in y] if loss.classifies else y
    return LinearRecords([np.asfortranarray(each) for each in x], y, clip, "l1", loss)


@pytest.mark.parametrize("clip", [None, 0.5])
@pytest.mark.parametrize("loss", [Squared(), LogisticLoss(), Hinge(), HuberLoss(0.7)])
def test_a_gradient_is_to_the_bit_what_it_is_alone(loss, clip, monkeypatch):
    """Wherever the model stands among others, however many of them: rows in blocks or at once."""
    rng = np.random.default_rng(2)
    for p, block in [(1, 2**16), (3, 2**16), (10, 1000), (50, 2**16), (200, 2**16)]:
        monkeypatch.setattr(module, "_BLOCK", block)
        some = of_loss(loss, clip, p)
        owners, points = rng.integers(0, 3, 100), rng.normal(size=(100, p))
        whole = some.gradient(owners, points)
        for count in (1, 2, 3, 33):
            rows = rng.permutation(100)[:count]
            assert np.array_equal(some.gradient(owners[rows], points[rows]), whole[rows])


def test_a_model_that_has_diverged_moves_no_other():
    some, rng = of_loss(Squared(), 0.5, 10), np.random.default_rng(3)
    owners, points = np.zeros(8, dtype=np.int64), rng.normal(size=(8, 10))
    alone = some.gradient(owners[1:], points[1:])
    points[0] = [np.inf, -np.inf, np.nan, *[1e300] * 7]
    with np.errstate(over="ignore", invalid="ignore"):
        beside = some.gradient(owners, points)
    assert np.array_equal(beside[1:], alone)
    assert np.isfinite(beside).all()


# Owners with more records than 40,000: sums are those of the parts, to the last digits but a few.
#
# Single precision, or a block left out, would be off by 1e-7 of them or more.

RECORDS, PARTS = 60_001, 7
GENERATOR = np.random.default_rng(5)
FEATURES = GENERATOR.standard_normal((RECORDS, 3))
TARGETS = np.where(FEATURES[:, 0] + GENERATOR.standard_normal(RECORDS) > 0, 1.0, -1.0)
UNIFORMS = GENERATOR.random((1, RECORDS))
PLACES = np.array_split(np.arange(RECORDS), PARTS)
EXACT = {"rtol": 1e-12, "atol": 1e-14}
FIRST = np.zeros(1, dtype=np.int64)


def examples():
    return [pytest.param(examples_of(kind)[0], id=kind_of(kind)) for kind in members(Model)]


def of_owners(model, some, clip):
    features, targets = model.design([FEATURES[some]]), [TARGETS[some]]
    return model.records(features, targets, clip, "l1")


@together
@pytest.mark.parametrize("clip", [None, 0.8])
@pytest.mark.parametrize("model", examples())
def test_gradients_and_sampled_ones_are_the_means_of_their_parts(model, clip):
    point = np.linspace(-0.4, 0.7, model.numbers(3))[None]

    def both(some: Any) -> Array:
        rows = of_owners(model, some, clip)
        sampled = rows.included(FIRST, point, UNIFORMS[:, some], 0.6)
        return np.concatenate([rows.gradient(FIRST, point), sampled])

    whole, parts = both(slice(None)), [both(some) * len(some) for some in PLACES]
    np.testing.assert_allclose(whole, np.sum(parts, axis=0) / RECORDS, **EXACT)
    assert whole.dtype == np.float64


def test_second_moments_are_the_means_of_their_parts():
    whole = Quadratic.from_records([FEATURES], [TARGETS], 1.0, None)
    parts = [Quadratic.from_records([FEATURES[s]], [TARGETS[s]], 1.0, None) for s in PLACES]
    shares = np.array([len(some) for some in PLACES]) / RECORDS
    for moment in ("gram", "moment", "energy"):
        each = np.stack([getattr(part, moment)[0] for part in parts])
        np.testing.assert_allclose(
            getattr(whole, moment)[0], np.tensordot(shares, each, axes=1), **EXACT
        )


# Bounds of a domain and constants, of losses of bounded slope.


def model(loss, box=None, *, constant=False):
    """A linear model of any loss, with or without an intercept."""

    class Any(LinearKind):
        augmented: ClassVar[bool] = constant
        phi = property(lambda self: loss)  # noqa: ARG005

    return Any(kind="any", regularisation=1.0, theta_max=box)


def labelled(loss, sizes=(50, 9), p=4):
    x, y = records(1, sizes, p)
    x[0][3] = 0  # a record without features has no gradient to clip
    return x, [np.where(t < 0, -1.0, 1.0) for t in y] if loss.classifies else y


@together
@pytest.mark.parametrize("norm", ["l1", "l2-as-published"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_the_bound_of_a_domain_is_never_exceeded_and_is_reached(loss, intercept, norm):
    """Also without a box where the loss has a bounded slope."""
    p, rng = 3, np.random.default_rng(7)
    domain = Domain(row_norm=1.5, target_max=2.0, norm=norm)
    box = 0.5 if isinstance(loss, Squared) else None
    bound = domain.xi(model(loss, box, constant=intercept), p)
    x = rng.normal(size=(4000, p)) * 3
    x[0] = 0 if norm == "l2-as-published" else [9, 0, 0]
    x[0] = [9.0] * 3 if norm == "l2-as-published" else x[0]
    y = np.where(rng.normal(size=4000) < 0, -1.0, 1.0) if loss.classifies else rng.normal(size=4000)
    y[0] = -1.0 if loss.classifies else -2.0
    [x], [y] = domain.confine([x], [y])
    x = np.column_stack([x, np.ones(4000)]) if intercept else x
    reach = 50.0 if box is None else box
    models = np.concatenate(
        [np.full((1, x.shape[1]), reach), rng.uniform(-reach, reach, (40, x.shape[1]))]
    )
    kind = "l1" if norm == "l1" else "l2"
    found = largest(LinearRecords([x], [y], None, kind, loss), 0, models)
    assert found <= bound * (1 + 1e-12)
    assert found >= bound * (1 - 1e-9)


def test_a_domain_needs_a_box_for_the_squared_loss_alone():
    domain = Domain(row_norm=1.5, target_max=2.0)
    with pytest.raises(ValueError, match="theta_max"):
        domain.xi(model(Squared()), 3)
    for loss, bound in [(LogisticLoss(), 1.5), (Hinge(), 1.5), (HuberLoss(0.7), 0.7 * 1.5)]:
        assert domain.xi(model(loss), 3) == pytest.approx(bound)
        assert domain.xi(model(loss, 8.0), 3) == pytest.approx(bound)
    assert domain.xi(model(Hinge(), constant=True), 3) == 2.5
    wide = Domain(row_norm=1.5, target_max=2.0, norm="l2-as-published")
    assert wide.xi(model(Hinge(), constant=True), 3) == pytest.approx(np.hypot(1.5, 1))


@pytest.mark.parametrize("theta_max", [None, 0.8])
@pytest.mark.parametrize("loss", LOSSES[1:], ids=name)
def test_the_constants_hold_for_losses_of_bounded_slope(loss, theta_max):
    x, y = labelled(loss)
    objective = LinearObjective(LinearRecords(x, y, loss=loss), 0.3, theta_max)
    for norm, order in ORDER.items():
        found = constants_of(objective, LinearRecords(x, y, None, norm, loss))
        longest = max(np.linalg.norm(row, ord=order) for rows in x for row in rows)
        assert found.xi == pytest.approx(loss.steepest(0, 0) * longest)
        assert found.xi_g == (None if theta_max is None else pytest.approx(0.3 * 0.8 * 2))
        assert found.smoothness == objective.smoothness
