"""Faults planted in the package that ``asyncdp audit`` must catch, on a scenario of three records.

Each is planted where it could be made: in the mechanism, the accountant, the budget, what gives
answers their noise, the ledger, replay. The audit is given nothing else than the command line is.
"""

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asyncdp_sim.learning.replay as replay_module
from asyncdp_sim.audits import audit
from asyncdp_sim.learning import answers as learning_answers
from asyncdp_sim.learning.answers import Answers, Sample
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives.records import LinearRecords
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.sums import Sums
from asyncdp_sim.privacy import budgets, ledger, mechanisms
from asyncdp_sim.privacy import spec as privacy_spec
from asyncdp_sim.privacy.accountants.own import Converted, Pure, bare
from asyncdp_sim.privacy.accountants.pairs import epsilon_of, mu_of
from asyncdp_sim.privacy.budgets import BudgetSchedule
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.privacy.observers import NodeObserver, model
from asyncdp_sim.privacy.spec import Privacy
from asyncdp_sim.scenario import load
from asyncdp_sim.trace import ExchangeOutcome, Trace
from tests.tables import table
from tests.verification.optimism import forgotten, rounded_down
from tests.verification.pure_law import amplified

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle(
        "lower bounds on ε by attacks on a mechanism, a scenario, or a planted fault"
    ),
]

SCENE = Path(__file__).parent / "scenes" / "three-records.toml"
SUMMED = SCENE.with_name("four-summed.toml")
LOCAL = SCENE.with_name("local-records.toml")
VIEWS = SCENE.with_name("six-averaging.toml")
ANEW = "computed by a second method"
CPU_SECONDS = 60
TABLE = table(__file__, "audit_faults.toml")
FAULTS, SETTINGS = TABLE["faults"], TABLE["settings"]
GAUSSIAN, SAMPLED, COMPOSING, UNEVEN = SETTINGS.values()
FORMULAS = {"epsilon_of": epsilon_of, "amplified": amplified, "bare": bare, "inf": inf,
            "MU": mu_of(1.0, 3e-4), "SUMMED_MU": mu_of(1.0, 1e-5)}  # fmt: skip
"""Names in formulas of the table."""


@pytest.fixture(autouse=True)
def _nothing_is_kept():
    yield
    forgotten()


def scaled(where, name, factor):
    """Plant a function of the package that returns so many times what it should."""

    def plant(patch):
        right = getattr(where, name)
        patch.setattr(where, name, lambda *given: factor * right(*given))

    return plant


def thirty_deltas(patch):
    right = mechanisms.gaussian_multiplier
    patch.setattr(mechanisms, "gaussian_multiplier", lambda e, delta: right(e, 30 * delta))


def one_row(patch):
    """All answers of a run have the noise of the first."""
    right = learning_answers.DrawnRows.following
    kept: dict[int, Any] = {}

    def following(self, rows):
        if id(self) not in kept:
            kept[id(self)] = self, right(self, rows).copy()
        return kept[id(self)][1]

    patch.setattr(learning_answers.DrawnRows, "following", following)


def exact_where_lost(patch):
    def unused(self, turn, points, source):  # noqa: ARG001
        return self._reply.gradients.gradient(turn.owners, points)

    patch.setattr(Answers, "unused", unused)


def lost_and_used_alike(patch):
    """Lost answers have the noise of those that are used, row by row."""

    def unused(self, turn, points, source):  # noqa: ARG001
        exact = self._reply.gradients.gradient(turn.owners, points)
        rows = self._noise._kept[: len(turn.owners), 0]
        return self._reply.noise.add_noise(turn.owners, exact, rows)

    patch.setattr(Answers, "unused", unused)


def one_record_more(patch):
    """Noise for n_i + 1 records."""
    right = Privacy.noise_for
    patch.setattr(Privacy, "noise_for", lambda self, n, *rest: right(self, n + 1, *rest))


def mean_over_one_less(patch):
    """Gradients are sums over n_i records, divided by n_i − 1."""
    right = LinearRecords.gradient

    def gradient(self, owners, points):
        held = np.array([len(y) for y in self.targets])[owners]
        share = np.where(held > 1, held / np.maximum(held - 1, 1), 1.0)
        return right(self, owners, points) * share[:, None]

    patch.setattr(LinearRecords, "gradient", gradient)


@pytest.fixture(autouse=True)
def books_are_not_checked(monkeypatch):
    """A run with broken books is ended by its invariants: here the audit has to see them."""
    monkeypatch.setattr(ledger, "_require_within", lambda *_: None)


def quota_given_back(patch):
    """An answer that is lost does not count."""
    right = Learner.drop

    def drop(self, exchange, outcome):
        if outcome is ExchangeOutcome.lost:
            self.answers_left[exchange.owner] += 1
            self.active.add(exchange.owner)
        right(self, exchange, outcome)

    patch.setattr(Learner, "drop", drop)


def charged_at_delivery(patch):
    def released(self):
        return np.bincount(self.updates["owner"], minlength=self.n_owners + 1)[1:]

    patch.setattr(Trace, "released", property(released))


def another_replay(patch):
    """What runs publish comes from another noise than the answers that were attacked."""
    right = replay_module.fold

    def fold(*given, **how):
        found = right(*given, **how)
        for path in found:
            path.final[:] *= 0.9
        return found

    patch.setattr(replay_module, "fold", fold)


def accounted_with_its_square(patch):
    """Noise is scaled as if records were in with q², and sums are over q n_i."""
    pure, gaussian = privacy_spec.bare, privacy_spec.sampled_gaussian
    patch.setattr(privacy_spec, "bare", lambda e, q: pure(e, q * q))
    patch.setattr(privacy_spec, "sampled_gaussian", lambda q: gaussian(q * q))


def drawn_more_often(patch):
    right = LinearRecords.included

    def included(self, owners, points, draws, q):
        return right(self, owners, points, draws * q**0.5, q)

    def gradient(self, owners, points, draws):
        assert isinstance(self.records, LinearRecords)
        return included(self.records, owners, points, draws, self.probability)

    patch.setattr(Sample, "gradient", gradient)


def only_the_first_step_is_noised(patch):
    right = Answers.new

    def new(self, turn, points):
        noisy, asked = self.noisy_gradients, []

        def once(turn, at):
            asked.append(at)
            exact = self._reply.gradients.gradient(turn.owners, at)
            return noisy(turn, at) if len(asked) == 1 else exact

        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(self, "noisy_gradients", once)
            return right(self, turn, points)

    patch.setattr(Answers, "new", new)


def one_noise_for_all_steps(patch):
    right = Answers.new

    def new(self, turn, points):
        kept: list[Any] = []

        class Same:
            def following(_, rows):  # noqa: N805
                kept.append(drawn.following(rows).copy() if len(kept) == 0 else kept[0])
                return kept[0]

        drawn: Any = self._noise
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(self, "_noise", Same())
            return right(self, turn, points)

    patch.setattr(Answers, "new", new)


def noise_for_one_gradient_of_each(patch):
    """Noise is scaled as if an answer were one gradient."""
    right = Privacy.noise_for
    patch.setattr(Privacy, "noise_for", lambda *given: right(*given[:5]))


def only_the_first_step_is_charged(patch):
    patch.setattr(Converted, "spent", lambda self, released: self.single.spent(released))


def shares_of_all(patch):
    """Nobody makes up for the shares of those that drop out: noise is scaled for all n of them."""
    right = mechanisms.shared
    patch.setattr(mechanisms, "shared", lambda noise, influence, _: right(noise, influence, 4))


def opened_anyhow(patch):
    """A sum is opened however few are in it."""
    right = Sums.open

    def opened(self):
        self._aggregation = self._aggregation.model_copy(update={"least": 1})
        yield from right(self) if len(self._gathered) > 0 else ()

    patch.setattr(Sums, "open", opened)


def colluders_forgotten(patch):
    """What nodes learn is worked out as if nobody put together what they see."""
    right = NodeObserver.squared

    def squared(self, *given):
        return right(self.model_copy(update={"colluding": None}), *given)

    patch.setattr(NodeObserver, "squared", squared)


def noise_of_absent_owners(patch):
    """The noise in a round's sum is counted of all owners, whoever answered."""
    right = model.in_rounds

    def in_rounds(trace, weights, multiplier):
        found = right(trace, weights, multiplier)
        return replace(found, noise=np.full_like(found.noise, np.square(multiplier).sum()))

    patch.setattr(model, "in_rounds", in_rounds)


def parts_at_one_price(patch):
    """What has a larger part is charged an equal one."""
    patch.setattr(BudgetSchedule, "equal", lambda _, released: np.asarray(released, dtype=float))


def parts_given_back(patch):
    """A lost answer's part goes to the next one."""

    def before(self):
        used = self.came_to(ExchangeOutcome.applied)
        owners = self.exchanges["owner"]
        return np.array([np.sum(used[:j] & (owners[:j] == i)) for j, i in enumerate(owners)])

    def release(self, owner, message):
        self._numbers[message] = self._released.get(owner, 0)

    right = LiveLearning.apply

    def apply(self, owner, message, peer=0):
        right(self, owner, message, peer)
        self._released[owner] = self._released.get(owner, 0) + 1

    patch.setattr(Trace, "released_before", property(before))
    patch.setattr(LiveLearning, "release", release)
    patch.setattr(LiveLearning, "apply", apply)


less_noise = scaled(mechanisms, "laplace_scale", 0.8)
less_in_rows = scaled(LaplaceNoise, "rows", 0.8)
less_in_runs = scaled(learning_answers.DrawnRows, "following", 0.8)
"""The mechanism is right, and what gives answers takes 0.8 of what it draws."""
half_charged = scaled(Pure, "spent", 0.5)
larger_parts = scaled(budgets, "_parts", 1.25)
losses_rounded_down = rounded_down


def planted(name, patch):
    """Plant a fault of the table; return its case, its settings and its scenario."""
    case = FAULTS[name]
    globals()[case["plant"]](patch)
    named = [setting for each in case.get("settings", ()) for setting in SETTINGS[each]]
    scene = SCENE.with_name(case.get("scene", SCENE.name))
    return case, (*named, *case.get("more", ())), scene


def true(epsilon):
    """Return the value of a number or of a formula of the table."""
    return eval(str(epsilon), FORMULAS.copy())


def refuting(lines):
    """Return lines of single attacks and facts that refute a claim."""
    return [line for line in lines.splitlines() if "EXCEEDED" in line or line.endswith(": REFUTED")]


def attacked(settings, size, scene=SCENE):
    answers, runs = size
    return audit(load(scene, settings)[0], answers=answers, runs=runs, confidence=0.999)


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_caught_and_no_bound_exceeds_its_truth(name, monkeypatch):
    case, settings, scene = planted(name, monkeypatch)
    found = attacked(settings, case["size"], scene)
    said = refuting("\n".join(found.lines()))
    assert len(said) > 0
    assert all(any(words in line for line in said) for words in case["shows"]), said
    one, *runs = found.checks
    assert one.finding.epsilon <= true(case.get("one", 0.5)) * (1 + 1e-9)
    assert all(run.finding.epsilon <= true(case.get("whole", "inf")) * (1 + 1e-9) for run in runs)


@pytest.mark.no_evidence
@pytest.mark.nightly
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_caught_at_the_default_size_within_a_minute(name, monkeypatch, command):
    case, settings, scene = planted(name, monkeypatch)
    words = [word for each in settings for word in ("--set", each)]
    said = command("audit", scene, "--thorough", *words)
    print(f"{name}: {said.seconds:.1f} s\n{said.out}")
    assert said.code == 3
    assert said.seconds <= CPU_SECONDS
    due = (*case["shows"], *case.get("also", ()))
    assert all(any(words in line for line in refuting(said.out)) for words in due)


@pytest.mark.no_evidence
def test_composed_answers_are_not_refuted_where_losses_are_rounded_up():
    found = attacked(COMPOSING, (100, 10))
    assert not found.exceeded, found.lines()
    assert any("each by their noise, compose to" in fact.describe() for fact in found.facts)


def sound(settings, size=(300_000, 100), scene=SCENE, check=0, share=0.8):
    """Return the audit of what nothing is planted in, which shows such a share of a claim."""
    found = attacked(settings, size, scene)
    assert not found.exceeded, found.lines()
    attack = found.checks[check]
    assert attack.finding.epsilon > share * attack.claim.epsilon  # it does look
    return found


@pytest.mark.parametrize(
    "settings", [(), GAUSSIAN, SAMPLED], ids=["laplace", "gaussian", "over samples"]
)
def test_the_scenario_itself_is_not_refuted(settings):
    found = sound(settings, (300_000, 10))
    assert all("not refuted" in fact.describe() for fact in found.facts)


@pytest.mark.no_evidence
def test_parts_of_answers_that_wait_for_an_update_in_vain_are_not_refuted():
    """Of five answers or so, three make an update."""
    gathered = 'algorithm={kind="fedbuff",step=0.1,server_step=1.0,buffer=3}'
    found = attacked((*UNEVEN, gathered), (100, 10))
    assert not found.exceeded, found.lines()


@pytest.mark.parametrize("settings", [(), SAMPLED], ids=["all records", "over samples"])
def test_local_steps_themselves_are_not_refuted(settings):
    found = sound(settings, scene=LOCAL)
    assert found.checks[0].claim.epsilon == pytest.approx(1 / 6)
    assert "gradients of owner 1 in a run: up to 6 sent, 6 claimed: not refuted" in found.lines()


@pytest.mark.parametrize("absent_at", ["answer", "opening", "every-step"])
def test_sums_themselves_are_not_refuted(absent_at):
    found = sound((f'privacy.observer.absent_at="{absent_at}"',), scene=SUMMED)
    assert "sums opened: of 2 answers or more, 2 claimed: not refuted" in found.lines()


@pytest.mark.no_evidence
def test_views_themselves_are_not_refuted():
    found = sound((), scene=VIEWS, check=-1, share=0.7)
    assert found.checks[-1].what.startswith("the view that owner ")
    assert any(f"{ANEW}: not refuted" in line for line in found.lines())


def test_what_replay_publishes_is_compared_with_what_was_attacked(monkeypatch):
    another_replay(monkeypatch)
    plain = 'privacy.sensitivity={kind="domain",row_norm=1.0,target_max=1.0}'
    found = attacked((plain,), (100, 10))
    assert "replay of run 1 ends at another model: REFUTED" in "\n".join(found.lines())


@pytest.mark.no_evidence
def test_an_answer_of_shared_noise_is_seen_where_the_claim_is_beyond_what_runs_show(monkeypatch):
    """100 runs show at most ε = 2; two answers with the same noise refute any."""
    one_row(monkeypatch)
    found = attacked(("privacy.epsilon=30.0",), (100, 100))
    assert not any(check.exceeded for check in found.checks)
    assert found.exceeded
