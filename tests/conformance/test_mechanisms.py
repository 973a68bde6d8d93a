"""Every mechanism, attacked and judged by its density, faults included; every budget and bound."""

from dataclasses import dataclass, replace
from math import inf, lgamma, log, pi
from typing import Any, Literal

import numpy as np
import pytest

from analysis.exact.learning import ExpectedPsi, expected_psi
from asyncdp_sim.audits.claims import owed
from asyncdp_sim.audits.per_answer import audit_answer, ratio
from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.learning.objectives import Ridge
from asyncdp_sim.privacy import Privacy, guarantee, mechanisms
from asyncdp_sim.privacy.accountants import Pure
from asyncdp_sim.privacy.budgets import MOST_ANSWERS, Budget
from asyncdp_sim.privacy.mechanisms import AnswerNoise, Array, Mechanism, alike
from asyncdp_sim.privacy.pairs import mu_of
from asyncdp_sim.privacy.sensitivity import Clip, Sensitivity
from asyncdp_sim.runs.problem import Problem, build_dataset, prepare
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.paths import set_path
from asyncdp_sim.sentences.scenario import describe
from tests import scenes
from tests.conformance.members import examples, said
from tests.one_in import one_in
from tests.together import together
from tests.verification.zscores import Score, require, score, seen

# A mechanism that is no member: pure at L2 sensitivity, by the length of one draw of all.


@dataclass(frozen=True, eq=False)
class SphericalNoise(AnswerNoise):
    """Noise w of density ∝ e^(−‖w‖₂/b): its length is Gamma(p, b), its direction uniform.

    A shift of length Δ = bε costs at most ε, and ε only where w lies along it.
    """

    scale: Array
    size: int

    @property
    def variance(self) -> Array:
        return (self.size + 1) * np.square(self.scale)

    @property
    def added(self) -> None:
        return None

    @property
    def figures(self) -> dict[str, Array]:
        return {"spherical with scale": self.scale}

    def width(self, size: int) -> int:
        """Return how many numbers are drawn: p for a direction, 2p for a length."""
        return 3 * size

    def rows(self, generator: np.random.Generator, count: int, size: int) -> Array:
        return generator.standard_normal((count, self.width(size)))

    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        """Return g + b w: half of a χ² number of 2p degrees is a Gamma(p, 1) number."""
        toward, squares = rows[:, : self.size], np.square(rows[:, self.size :]).sum(axis=1)
        length = self.scale[owners] * squares / 2
        return gradients + toward * (length / np.linalg.norm(toward, axis=1))[:, None]

    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        residual, scale, p = answers - gradients, self.scale[owners], self.size
        sphere = log(2) + p / 2 * log(pi) - lgamma(p / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = -np.linalg.norm(residual, axis=1) / scale - p * np.log(scale)
        found = found - lgamma(p) - sphere
        return np.where(scale > 0, found, np.where(alike(residual, 0.0, answers), 0.0, -np.inf))


class SphericalMechanism(mechanisms.PureMechanism):
    """Spherical noise on a whole answer: ε-DP at L2 sensitivity."""

    norm = "l2"
    norms = ("l2",)
    pair = None
    laplace_variance = False
    shapes = ("vector",)
    gridded = False
    together = True
    noise_name = "spherical"

    kind: Literal["spherical"] = "spherical"

    def noise(self, influence, allowance):
        return SphericalNoise(mechanisms.scale_of(influence, allowance), influence.size)


# Faults of noise, to be planted in any mechanism.


class Planted:
    """Noise that says of itself what the right one says."""

    def __init__(self, right: Any) -> None:
        self.right = right

    def __getattr__(self, name: str) -> Any:
        return getattr(self.right, name)

    def exact(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        """Return what is sent of gradients without noise: on a grid, the nearest point."""
        silent = replace(self.right, scale=np.zeros_like(self.right.scale))
        return silent.add_noise(owners, gradients.copy(), rows)


class Silent(Planted):
    """No noise at all, whatever it says."""

    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        return self.exact(owners, gradients, rows)


class Quieter(Planted):
    """0.8 of the noise that its density has."""

    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        return smaller(self.right).add_noise(owners, gradients, rows)


class OneDraw(Planted):
    """The first coordinate's noise on all of them, as an attacker knows who knows that."""

    def add_noise(self, owners: Ints, gradients: Array, rows: Array) -> Array:
        noise = self.right.add_noise(owners, np.zeros_like(gradients), rows)
        return self.exact(owners, gradients, rows) + noise[:, :1]

    def log_likelihood(self, owners: Ints, gradients: Array, answers: Array) -> Array:
        rows = np.ones((len(owners), self.width(answers.shape[1])))
        noise = answers - self.exact(owners, np.broadcast_to(gradients, answers.shape), rows)
        return np.where(alike(noise, noise[:, :1], answers), 0.0, -np.inf)


def smaller(noise: Any) -> AnswerNoise:
    """Noise of 0.8 of its scale."""
    return replace(noise, scale=0.8 * noise.scale)


FAULTS = {"no noise": Silent, "0.8 of the noise": smaller, "one draw": OneDraw}


# Attacks on answers, and what noise says of itself.

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


def under_attack(mechanism: mechanisms.MechanismKind, epsilon: float = 1.0) -> Scenario:
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
    problem, none = ready(given), mechanisms.NoNoise(np.zeros(2))
    for noise, private in ((problem.noise, True), (none, False)):
        found = guarantee(
            given.privacy, problem.accountant, 1.0, SIZE, None, (0, 0), RECORDS, noise=noise
        )
        assert found.private is private
        assert np.isfinite(found.epsilon_true) == private
        assert ("adds no noise" in " ".join(found.reasons)) is not private


class Unproven(mechanisms.LaplaceMechanism):
    """A mechanism that nobody vouches for, and that composes by a rule of its own."""

    composition = "own"


class Half(Pure):
    """Charges half of what answers cost."""

    def spent(self, released: Any) -> Any:
        return super().spent(released) / 2


class Cheap(Unproven):
    """Says that its answers cost half of what they do."""

    def accountant(self, allowance: mechanisms.OwnerBudgets) -> Half:
        return Half(allowance.answers, allowance.epsilon, allowance.epsilon)


def by(mechanism: mechanisms.MechanismKind, answers: int) -> Scenario:
    given = scenario(mechanisms.LaplaceMechanism(), 3.0, answers)
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
    known, own = owed(by(mechanisms.LaplaceMechanism(), 2))[1], owed(by(Unproven(), 2))[1]
    assert own.answers == known.answers == 2
    assert own.of_one() == known.of_one()
    assert [own.cost(count) for count in range(3)] == [known.cost(count) for count in range(3)]
    assert own.of_all(gaussian=True) == known.of_all(gaussian=True)
    for mechanism, refuted in ((Unproven(), False), (Cheap(), True)):
        given = by(mechanism, 2)
        assert attacked(given, ready(given)).exceeded is refuted


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


def learning(mechanism: mechanisms.MechanismKind) -> Scenario:
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


# The price of a shift by a mechanism's own density, and whether its answers follow that.
#
# Of noise of L2 shape few answers cost nearly as much as any, the fewer the more coordinates there
# are, and counting answers shows little of it. Its density tells at once: the most is lost along
# the line through both gradients.

ALONG = np.sort([*np.linspace(-1, 2, 29), 0.0, 1.0])
"""Answers on the line, where the first gradient is 0, and the second 1; off the edges of steps."""
LEVELS = (-0.7, -0.1, 0.3, 0.6)
"""Of what an answer may cost: losses that are told apart, none of which has a share of its own."""


@dataclass(frozen=True)
class Shift:
    """Two gradients as far apart as a record moves them, and an owner's noise on them."""

    noise: Any
    first: Array
    second: Array

    def losses(self, answers: Array) -> Array:
        """Return ln p(answer | second) − ln p(answer | first)."""
        owners = np.zeros(len(answers), dtype=np.int64)
        return ratio(self.noise, owners, answers, self.first[None], self.second[None])

    def answers(self, gradient: Array, runs: int, seed: int) -> Array:
        rows = self.noise.rows(np.random.default_rng(seed), runs, len(gradient))
        hidden = np.tile(gradient, (runs, 1))
        return np.asarray(self.noise.add_noise(np.zeros(runs, dtype=np.int64), hidden, rows))

    def on_line(self) -> Array:
        """Return answers without noise, on the grid if there is one, along the line."""
        points = self.first + ALONG[:, None] * (self.second - self.first)
        rows = np.ones((len(points), self.noise.width(len(self.first))))
        exact = self.noise if isinstance(self.noise, Planted) else Planted(self.noise)
        return np.asarray(exact.exact(np.zeros(len(points), dtype=np.int64), points, rows))

    def most(self, *, gaussian: bool) -> float:
        """Return the largest loss on the line; of Gaussian noise μ, as losses have no largest."""
        found = self.losses(self.on_line())
        if gaussian:  # they grow by μ² from the first gradient to the second
            return float(np.diff(np.interp((0, 1), ALONG, found))[0] ** 0.5)
        return float(np.abs(found).max())

    def followed(self, runs: int, cost: float) -> list[Score]:
        """Return E e^(−l/2) 1{l ≥ t} of the second, against E e^(l/2) 1{l ≥ t} of the first.

        They are equal for every t if losses l are of the answers' own law, and not if of another.
        """
        here = self.losses(self.answers(self.second, runs, 1))
        there = self.losses(self.answers(self.first, runs, 2))
        levels = [share * cost for share in LEVELS]
        return [
            score(
                f"loss ≥ {t:.3g}",
                np.where(here >= t, np.exp(-here / 2), 0.0)
                - np.where(there >= t, np.exp(there / 2), 0.0),
                0.0,
                1.0,
            )
            for t in levels
        ]


def shifts(given: Scenario, noise: Any, size: int, reach: float) -> list[Shift]:
    """Return shifts of a length along one coordinate, and along all of them."""
    order = 1 if given.privacy.norm == "l1" else 2
    every = np.ones(size) / np.linalg.norm(np.ones(size), ord=order)
    start = np.cos(np.arange(1.0, size + 1)) / size
    return [Shift(noise, start, start + reach * each) for each in (np.eye(1, size)[0], every)]


def claimed(given: Scenario) -> tuple[float, bool]:
    """Return ε that one answer may cost, or μ where the claim is Gaussian, and which it is."""
    claim = owed(given)[0].of_one()
    return (mu_of(claim.epsilon, claim.delta) if claim.gaussian else claim.epsilon), claim.gaussian


LINED = 0.99
"""Of what an answer may cost, what the density has to lose on the line at least: a grid takes some.
"""


def judged(given: Scenario, noise: Any, runs: int = RUNS) -> tuple[float, list[Score]]:
    """What the density loses at most, over what it may; and whether answers follow it."""
    each = shifts(given, noise, SIZE, 2 * 1.0 / RECORDS[0])
    may, gaussian = claimed(given)
    most = max(shift.most(gaussian=gaussian) for shift in each)
    return most / may, [found for shift in each for found in shift.followed(runs, may)]


@one_in(2, "epsilon", CHARGES)
@pytest.mark.parametrize("mechanism", [*NOISY, SPHERICAL], ids=said)
def test_a_density_loses_what_is_claimed_and_answers_follow_it(mechanism, epsilon):
    """Whatever the shape of the noise, and in however many coordinates."""
    given = scenario(mechanism, epsilon)
    most, followed = judged(given, ready(given).noise)
    assert LINED < most <= 1 + 1e-6
    require(followed, error=0.01)


@together
@pytest.mark.parametrize("fault", [*FAULTS, "quieter than it says"])
@pytest.mark.parametrize("mechanism", [*NOISY, SPHERICAL], ids=said)
def test_a_fault_is_seen_in_the_density_or_against_it(mechanism, fault):
    given = scenario(mechanism)
    wrong = (FAULTS | {"quieter than it says": Quieter})[fault](ready(given).noise)
    most, followed = judged(given, wrong, RUNS // 6)
    assert most > 1.1 or seen(followed) > 5


# Every budget under every mechanism, and every way to bound a record's influence.

ALLOWED = pytest.mark.oracle("number of answers that a budget allows, and their noise")

N, T = 3, 50
EACH_NOISY = pytest.mark.parametrize("mechanism", NOISY, ids=said)
EACH_BUDGET = pytest.mark.parametrize("budget", examples(Budget), ids=said)
EACH_BOUND = pytest.mark.parametrize("sensitivity", examples(Sensitivity), ids=said)


def private(budget: Budget, mechanism: mechanisms.MechanismKind) -> Privacy:
    return Privacy(
        epsilon=[1.0, 2.0, 4.0],
        delta=1e-6 if mechanism.needs_delta else None,
        mechanism=mechanism,
        sensitivity=Clip(bound=1.0),
        budget=budget,
    )


@ALLOWED
@together
@EACH_NOISY
@EACH_BUDGET
def test_a_budget_allows_every_owner_a_whole_number_of_answers(budget, mechanism):
    assert budget.faults(N) == []
    privacy = private(budget, mechanism)
    assert privacy.faults(N, Ridge(regularisation=1.0)) == []
    allowed = privacy.answers_allowed(N, T)
    assert len(allowed) == N
    assert all(type(k) is int and k >= 1 for k in allowed)


@ALLOWED
@together
@EACH_NOISY
@EACH_BUDGET
def test_no_number_of_allowed_answers_costs_more_than_the_budget(budget, mechanism):
    privacy = private(budget, mechanism)
    accountant = privacy.accountant_for(N, T)
    allowed = accountant.answers
    assert accountant.epsilon.tolist() == [1.0, 2.0, 4.0]
    assert accountant.answers.tolist() == list(privacy.answers_allowed(N, T))
    counts = np.stack([np.zeros(N, dtype=int), np.ones(N, dtype=int), allowed // 2, allowed])
    charged = accountant.spent(np.sort(counts, axis=0))
    assert not charged[0].any()
    assert np.all(np.diff(charged, axis=0) >= 0)
    assert np.all(charged <= accountant.epsilon)
    if budget.prices(N) is None:
        assert charged[-1] == pytest.approx(accountant.epsilon, rel=1e-5)
    else:  # one more would not fit
        over = accountant.spent(allowed + 1)
        assert np.all(over > accountant.epsilon)


@together
@EACH_NOISY
@EACH_BUDGET
def test_every_budget_has_a_noise_that_grows_with_the_bound_alone(budget, mechanism):
    privacy = private(budget, mechanism)
    noise = [privacy.noise_for(np.array([10, 20, 40]), T, xi, 4) for xi in (1.0, 2.0)]
    assert np.all(noise[0].scale > 0)
    assert noise[1].scale == pytest.approx(2 * noise[0].scale, rel=1e-12)


@pytest.mark.oracle("answers without a mechanism")
@together
@EACH_NOISY
@EACH_BUDGET
def test_without_privacy_answers_are_exact_and_no_number_of_them_is_too_large(budget, mechanism):
    """Also where ε was made infinite without asking whether that makes sense of a price."""
    privacy = private(budget, mechanism).model_copy(update={"epsilon": inf})
    noise = privacy.noise_for(np.array([10, 20, 40]), T, 1.0, 4)
    assert noise.scale.tolist() == noise.variance.tolist() == [0.0] * N
    if budget.prices(N) is not None:
        assert privacy.answers_allowed(N, T) == (MOST_ANSWERS,) * N
    assert np.isinf(privacy.accountant_for(N, T).spent(np.ones(N, dtype=int))).all()


@together
@EACH_BUDGET
def test_traits_of_a_budget_are_what_it_does(budget):
    longer = [budget.answers_allowed(N, updates) for updates in (T, 2 * T)]
    assert (longer[0] != longer[1]) is (budget.follows_updates or budget.of_asked)
    assert (budget.prices(N) is None) is (longer[0] is not None)
    assert longer[0] is not None or not budget.named_answers
    other = budget.sized(7)
    assert other.answers_allowed(N, T) == ((T,) * N if budget.follows_updates else (7,) * N)


@together
@EACH_BOUND
def test_traits_of_a_bound_are_what_it_does(sensitivity):
    rows, targets = [np.full((4, 3), 100.0)], [np.full(4, 100.0)]
    x, y = sensitivity.confine(rows, targets)
    assert np.array_equal(x[0], rows[0]) is not sensitivity.bounds_records
    assert np.array_equal(y[0], targets[0]) is not sensitivity.bounds_records
    assert sensitivity.enforced or sensitivity.clip_bound is None
    assert (len(sensitivity.faults(Ridge(regularisation=1.0))) > 0) is sensitivity.bounds_records
    assert sensitivity.faults(Ridge(regularisation=1.0, theta_max=1.0)) == []


@together
@EACH_BOUND
def test_a_bound_is_positive_and_grows_with_nothing_but_theta_and_p(sensitivity):
    assert sensitivity.norm in (None, "l1", "l2", "l2-as-published")
    for otherwise in ("l1", "l2"):
        assert sensitivity.measured(otherwise) in ("l1", "l2")
        boxes = [Ridge(regularisation=1.0, theta_max=theta_max) for theta_max in (0.1, 10.0)]
        found = np.array([[sensitivity.xi(box, p, otherwise) for p in (1, 100)] for box in boxes])
        assert np.all(found > 0)
        assert np.all(np.diff(found, axis=0) >= 0)
        assert np.all(np.diff(found, axis=1) >= 0)
