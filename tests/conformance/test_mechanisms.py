"""Every mechanism is attacked by the audit's own means, as it stands and with faults in it."""

from dataclasses import dataclass, replace
from math import lgamma, log, pi
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from typing_extensions import override

from analysis.exact.learning import ExpectedPsi, expected_psi
from asyncdp_sim.audits.claims import owed
from asyncdp_sim.audits.per_answer import audit_answer
from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.learning.objectives import Norm
from asyncdp_sim.privacy import guarantee
from asyncdp_sim.privacy.accountants.own import Pure
from asyncdp_sim.privacy.mechanisms import (
    AnswerNoise,
    Array,
    LaplaceMechanism,
    Mechanism,
    MechanismKind,
    NoNoise,
    OwnerBudgets,
    PureMechanism,
    Shape,
    alike,
    scale_of,
)
from asyncdp_sim.privacy.sensitivity import NormChoice
from asyncdp_sim.runs.problem import Problem, build_dataset, prepare
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.paths import set_path
from asyncdp_sim.sentences.label import label, named_guarantee
from asyncdp_sim.sentences.scenario import describe
from tests import scenes
from tests.conformance.members import examples, said
from tests.conformance.planted import FAULTS
from tests.one_in import one_in
from tests.verification.zscores import require, score, seen

# A mechanism that is no member: pure at L2 sensitivity, by the length of one draw of all.


@dataclass(frozen=True, eq=False)
class SphericalNoise(AnswerNoise):
    """Noise w of density ∝ e^(−‖w‖₂/b): its length is Gamma(p, b), its direction uniform.

    A shift of length Δ = bε costs at most ε, and ε only where w lies along it.
    """

    scale: Array
    size: int

    @property
    @override
    def variance(self) -> Array:
        return (self.size + 1) * np.square(self.scale)

    @property
    @override
    def added(self) -> None:
        return None

    @property
    @override
    def figures(self) -> dict[str, Array]:
        return {"spherical with scale": self.scale}

    @override
    def width(self, size: int) -> int:
        """Return how many numbers are drawn: p for a direction, 2p for a length."""
        return 3 * size

    @override
    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        return generator.standard_normal((count, self.width(size)))

    @override
    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        """Return g + b w: half of a χ² number of 2p degrees is a Gamma(p, 1) number."""
        toward, squares = rows[:, : self.size], np.square(rows[:, self.size :]).sum(axis=1)
        length = self.scale[owners] * squares / 2
        return gradients + toward * (length / np.linalg.norm(toward, axis=1))[:, None]

    @override
    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        residual, scale, p = answers - gradients, self.scale[owners], self.size
        sphere = log(2) + p / 2 * log(pi) - lgamma(p / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = -np.linalg.norm(residual, axis=1) / scale - p * np.log(scale)
        found = found - lgamma(p) - sphere
        return np.where(scale > 0, found, np.where(alike(residual, 0.0, answers), 0.0, -np.inf))


class SphericalMechanism(PureMechanism):
    """Spherical noise on a whole answer: ε-DP at L2 sensitivity."""

    norm: ClassVar[Norm] = "l2"
    norms: ClassVar[tuple[NormChoice, ...]] = ("l2",)
    pair = None
    laplace_variance = False
    shapes: ClassVar[tuple[Shape, ...]] = ("vector",)
    gridded = False
    together = True
    noise_name = "spherical"

    kind: Literal["spherical"] = "spherical"

    @override
    def noise(self, influence, allowance):
        return SphericalNoise(scale_of(influence, allowance), influence.size)


ORACLE = pytest.mark.oracle(
    "lower bounds on ε by attacks on a mechanism, a scenario, or a planted fault"
)

EACH = examples(Mechanism)
NOISY = [each for each in EACH if not each.exact]
SPHERICAL = SphericalMechanism()
"""No member: of L2 shape and pure, as none of the package is."""
SIZE, RUNS, DOUBT = 4, 60_000, 1e-4
FEW = 2
"""Coordinates in which pure mechanisms at L2 sensitivity are attacked: the share of their noise
that lies along a shift, and alone costs what it may, falls with every further one. Losses of
Gaussian noise have one law in all."""
CHARGES = [1.0, 3.0]
OUTSIDE = "python:own.py:Own sha256:00e2"
RECORDS = np.array([20, 20])


def scenario(mechanism, epsilon=1.0, answers=1, size=SIZE):
    budget = {"kind": "per-owner-cap", "answers": answers}
    privacy = {"epsilon": epsilon, "mechanism": mechanism, "budget": budget}
    return scenes.scenario(
        run={"updates": 2},
        owners={"count": 2, "records": 20},
        data={"features": size},
        algorithm={"rho": 1.0},
        privacy=privacy | ({"delta": 1e-3} if mechanism.needs_delta else {}),
    )


def under_attack(mechanism: MechanismKind, epsilon: float = 1.0) -> Scenario:
    """A scenario in as many coordinates as let an attack on answers show what they cost."""
    rare = mechanism.norm == "l2" and mechanism.composition != "gaussian"
    return scenario(mechanism, epsilon, size=FEW if rare else SIZE)


def ready(given: Scenario) -> Problem:
    return prepare(given, build_dataset(given))


def hidden_by(problem: Problem, noise: Any) -> Problem:
    reply = replace(problem.task.reply, noise=noise)
    return replace(problem, task=replace(problem.task, reply=reply))


def attacked(given: Scenario, problem: Problem) -> Any:
    """What the audit shows of one answer, along one coordinate and along all of them."""
    return audit_answer(given, build_dataset(given), problem, None, RUNS, DOUBT)


@ORACLE
@one_in(2, "epsilon", CHARGES)
@pytest.mark.parametrize("mechanism", [*NOISY, SPHERICAL], ids=said)
def test_a_mechanism_is_sound_at_its_claim(mechanism, epsilon):
    """And is seen nearly as far as it goes, so that the attack is worth something."""
    given = under_attack(mechanism, epsilon)
    found = attacked(given, ready(given))
    assert found.claim.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert not found.exceeded, found.describe()
    assert found.finding.epsilon > 0.8 * epsilon


@ORACLE
@one_in(2, "fault", FAULTS)
@pytest.mark.parametrize("mechanism", [*NOISY, SPHERICAL], ids=said)
def test_a_fault_in_a_mechanism_is_refuted(mechanism, fault):
    given = under_attack(mechanism)
    problem = ready(given)
    found = attacked(given, hidden_by(problem, FAULTS[fault](problem.noise)))
    assert found.exceeded, found.describe()


def squares(noise: Any, of: Any) -> list[Any]:
    """Squares of what noise adds, and their products over coordinates, against what is stated."""
    owners = np.zeros(RUNS, dtype=np.int64)
    rows = noise.rows(np.random.default_rng(7), RUNS, SIZE)
    added = noise.add_noise(owners, np.zeros((RUNS, SIZE)), rows)
    variance = float(of.variance[0])
    spread = [score(f"square {j}", added[:, j] ** 2, variance) for j in (0, SIZE - 1)]
    return [*spread, score("product", added[:, 0] * added[:, 1], 0.0, variance)]


@pytest.mark.parametrize("epsilon", [1.0, 6.0])
@pytest.mark.parametrize("mechanism", NOISY, ids=said)
def test_noise_has_the_variance_that_it_states(mechanism, epsilon):
    noise = ready(scenario(mechanism, epsilon)).noise
    require(squares(noise, noise), error=0.05)
    for fault in FAULTS.values():
        assert seen(squares(fault(noise), noise)) > 5


def in_blocks(noise: Any, *blocks: int) -> Any:
    generator = np.random.default_rng(11)
    return np.concatenate([noise.rows(generator, count, SIZE) for count in blocks])


class Apart:
    """Draws normal numbers for all answers of a block, and what else it needs after them."""

    def rows(self, generator: np.random.Generator, count: int, size: int) -> Any:
        return np.hstack(
            [generator.normal(size=(count, size)), generator.gamma(2, size=(count, 1))]
        )


@pytest.mark.parametrize("mechanism", EACH, ids=said)
def test_block_sizes_never_change_values(mechanism):
    noise = ready(scenario(mechanism)).noise
    assert np.array_equal(in_blocks(noise, 7), in_blocks(noise, 3, 1, 3))
    assert not np.array_equal(in_blocks(Apart(), 7), in_blocks(Apart(), 3, 1, 3))


@pytest.mark.parametrize("mechanism", [*NOISY, SPHERICAL], ids=said)
def test_coordinates_are_independent_or_said_to_be_drawn_together(mechanism):
    """Squares of coordinates that are independent have no correlation."""
    noise = ready(scenario(mechanism, 6.0)).noise
    owners = np.zeros(RUNS, dtype=np.int64)
    rows = noise.rows(np.random.default_rng(5), RUNS, SIZE)
    added = np.abs(noise.add_noise(owners, np.zeros((RUNS, SIZE)), rows))
    z = np.corrcoef(added[:, 0], added[:, 1])[0, 1] * RUNS**0.5
    assert bool(abs(z) > 5) is mechanism.together
    words = "all coordinates together" if mechanism.together else "each coordinate"
    assert f" on {words} of an answer" in " ".join(describe(scenario(mechanism)))


@pytest.mark.parametrize("mechanism", [*EACH, SPHERICAL], ids=said)
def test_answers_are_rows_over_the_scale_where_noise_says_that_they_are(mechanism):
    """Loops over many replicates take noise that is ``added`` so, and do not ask it again."""
    noise = ready(scenario(mechanism)).noise
    assert (noise.added is None) is not adds_rows(noise)


def adds_rows(noise: AnswerNoise) -> bool:
    owners, source = np.array([0, 1, 1]), np.random.default_rng(6)
    gradients, rows = source.normal(size=(3, SIZE)), noise.rows(source, 3, SIZE)
    found = noise.add_noise(owners, gradients.copy(), rows)
    scaled = noise.scale[owners, None] * rows
    return scaled.shape == found.shape and np.array_equal(found, gradients + scaled)


@pytest.mark.parametrize("mechanism", EACH, ids=said)
def test_noise_is_what_its_traits_say(mechanism):
    given = scenario(mechanism)
    problem = ready(given)
    noise, accountant = problem.noise, problem.accountant
    assert bool(np.all(noise.variance > 0)) is not mechanism.exact
    assert (accountant.delta > 0) is mechanism.needs_delta
    assert (accountant.multiplier is not None) is (mechanism.composition == "gaussian")
    assert bool(noise.figures) is not mechanism.exact
    said = " ".join(describe(given))
    assert all(name in said for name in noise.figures)
    laplace = 2 * np.square(2 * 1.0 / (RECORDS * 1.0))
    assert np.allclose(noise.variance, laplace, rtol=1e-9) is mechanism.laplace_variance


@pytest.mark.parametrize("mechanism", NOISY, ids=said)
def test_the_budget_at_which_noise_is_smaller_is_the_one_that_makes_it_so(mechanism):
    noise = ready(scenario(mechanism, 6.0)).noise
    for factor in (0.5, 1.0, 1.7):
        accountant = ready(scenario(mechanism, 6.0)).accountant
        needed = accountant.together(accountant.answers, 1, np.full(2, factor))
        best = type(mechanism)()  # fields as they suit the other budget
        other = ready(scenario(best, needed)).noise
        assert other.variance == pytest.approx(noise.variance / factor**2, rel=2e-2)


@pytest.mark.parametrize("mechanism", NOISY, ids=said)
def test_a_mechanism_that_states_no_noise_is_never_private(mechanism):
    given = scenario(mechanism)
    problem, none = ready(given), NoNoise(np.zeros(2))
    for noise, private in ((problem.noise, True), (none, False)):
        found = guarantee(
            given.privacy, problem.accountant, 1.0, SIZE, None, (0, 0), RECORDS, noise=noise
        )
        assert found.private is private
        assert np.isfinite(found.epsilon_true) == private
        assert ("adds no noise" in " ".join(found.reasons)) is not private


class Unproven(LaplaceMechanism):
    """A mechanism that nobody vouches for, and that composes by a rule of its own."""

    composition = "own"


class Half(Pure):
    """Charges half of what answers cost."""

    @override
    def spent(self, released: Any) -> Any:
        return super().spent(released) / 2


class Cheap(Unproven):
    """Says that its answers cost half of what they do."""

    @override
    def accountant(self, allowance: OwnerBudgets) -> Half:
        return Half(allowance.answers, allowance.epsilon, allowance.epsilon)


def by(mechanism: MechanismKind, answers: int) -> Scenario:
    given = scenario(LaplaceMechanism(), 3.0, answers)
    privacy = given.privacy.model_copy(update={"mechanism": mechanism})
    return given.model_copy(update={"privacy": privacy})


def test_a_mechanism_that_nobody_vouches_for_is_not_shown_to_be_private():
    given = by(Unproven(), 2)
    problem = ready(given)
    found = guarantee(
        given.privacy, problem.accountant, 1.0, SIZE, None, (0, 0), RECORDS, noise=problem.noise,
        outside=given.outside_parts,
    )  # fmt: skip
    assert (found.private, found.epsilon_true, found.is_upper) == (None, None, False)
    assert "the claim rests on code from outside" in found.reasons[0]


def test_without_a_textbook_a_mechanism_is_held_to_what_it_says():
    known, own = owed(by(LaplaceMechanism(), 2))[1], owed(by(Unproven(), 2))[1]
    assert own.answers == known.answers == 2
    assert own.of_one() == known.of_one()
    assert [own.cost(count) for count in range(3)] == [known.cost(count) for count in range(3)]
    assert own.of_all(gaussian=True) == known.of_all(gaussian=True)
    for mechanism, refuted in ((Unproven(), False), (Cheap(), True)):
        given = by(mechanism, 2)
        assert attacked(given, ready(given)).exceeded is refuted


@pytest.mark.parametrize("name", ["discrete-laplace", {"kind": "discrete-laplace"}, OUTSIDE])
def test_labels_name_the_noise(name):
    manifest = {
        "scenario": {"privacy": {"mechanism": name, "epsilon": 1.0}, "owners": {"count": 2}},
        "summary": {
            "private": True, "epsilon_true": 1.0, "delta": 0.0, "timing_accounted": True,
            "not_for_release": False, "queries_unseen": None,
        },
    }  # fmt: skip
    known = name != OUTSIDE
    if not known:
        manifest["summary"]["private"] = None
        manifest["warnings"] = ["not shown: the claim rests on code from outside"]
    called = "discrete Laplace" if known else "python:own.py:Own"
    claim = f"ε = 1 per owner over the run, pure ε-DP, {called} noise"
    found = label([manifest])
    assert found.private is (True if known else None)
    shown = (
        f"Private as claimed: {claim}."
        if known
        else f"NOT SHOWN to be private as claimed ({claim})"
    )
    assert found.text.startswith(shown)
    if known:
        assert named_guarantee([manifest]) == f"ε-DP, pure, {called} noise"


def test_a_kind_alone_and_a_table_without_more_are_the_same():
    for each in EACH:
        alone = scenario(type(each)())
        assert alone.plain()["privacy"]["mechanism"] == each.kind
        assert parse(Scenario, alone.plain()) == alone
        raw = alone.plain()
        raw["privacy"]["mechanism"] = {"kind": each.kind}
        assert parse(Scenario, raw).plain() == alone.plain()
        fields = each.model_dump(exclude_none=True)
        said_so = scenario(each).plain()["privacy"]["mechanism"]
        assert said_so == (fields if len(fields) > 1 else each.kind)


def test_a_field_can_be_set_beneath_a_kind_that_stands_alone():
    """And a new kind drops what it lacks."""
    raw = {"data": {"kind": "table", "split": "dirichlet"}}
    assert set_path(Scenario, raw, "data.split.dirichlet", 0.4) == []
    assert raw["data"]["split"] == {"kind": "dirichlet", "dirichlet": 0.4}
    dropped = set_path(Scenario, raw, "data.split.kind", "shuffled")
    assert raw["data"]["split"] == {"kind": "shuffled"}
    assert dropped == ["data.split.kind = shuffled: dropped data.split.dirichlet, which it lacks"]
    with pytest.raises(SpecError, match="is not a table"):
        set_path(Scenario, {"privacy": {"mechanism": "no-such"}}, "privacy.mechanism.gamma", 0.4)


def learning(mechanism: MechanismKind) -> Scenario:
    """Four updates whose answers cost ε = 6 each, and are mostly noise."""
    raw = scenario(mechanism, 24.0).plain()
    raw["run"] |= {"updates": 4, "replicates": 600}
    raw["algorithm"]["rho"] = 2.0
    raw["privacy"] |= {"sensitivity": {"kind": "declared", "bound": 200.0}}
    raw["privacy"] |= {"budget": {"kind": "horizon"}}
    return parse(Scenario, raw)


@one_in(3, "mechanism", NOISY, ids=said)
def test_exact_moments_are_what_runs_come_to(mechanism):
    given = learning(mechanism)
    found = expected_psi(population(given, private=False))
    assert isinstance(found, ExpectedPsi)
    curve = run(given).learned.curve
    ends = np.flatnonzero(np.diff(curve["replicate"], append=-1) != 0)
    psi = np.asarray(curve["relative_fitness"][ends])
    require([score("ψ", psi, found.psi[-1])], error=0.1)
    assert found.psi[-1] > 3 * found.noise_free
