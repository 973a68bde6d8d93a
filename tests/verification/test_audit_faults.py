"""Faults planted in the package that ``asyncdp audit`` must catch, on a scenario of three records.

Each is planted where it could be made: in the mechanism, the accountant, the budget, what gives
answers their noise, the ledger, replay. The audit is given nothing else than the command line is.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from math import inf
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import asyncdp_sim.learning.replay as replay_module
from asyncdp_sim.audits import audit
from asyncdp_sim.learning.answers import Answers, DrawnRows, Sample
from asyncdp_sim.learning.live import LiveLearning
from asyncdp_sim.learning.objectives.records import LinearRecords
from asyncdp_sim.network.learner import Learner
from asyncdp_sim.network.sums import Sums
from asyncdp_sim.privacy import budgets, mechanisms
from asyncdp_sim.privacy import spec as privacy_spec
from asyncdp_sim.privacy.accountants import Converted, Pure, bare
from asyncdp_sim.privacy.budgets import BudgetSchedule
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.privacy.observers import NodeObserver, model
from asyncdp_sim.privacy.pairs import epsilon_of, mu_of
from asyncdp_sim.privacy.spec import Privacy
from asyncdp_sim.scenario import load
from asyncdp_sim.trace import ExchangeOutcome, Trace
from tests.tables import table
from tests.verification.optimism import forgotten, rounded_down
from tests.verification.pure_law import amplified

LEDGER = import_module("asyncdp_sim.privacy.guarantee")  # where the package has a function
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
    KEPT.clear()


Plant = Callable[[pytest.MonkeyPatch], None]
PLANTS: dict[str, list[Plant]] = {"losses_rounded_down": [rounded_down]}
"""Faults by name: each a replacement of one function of the package, or several."""


def instead_of(where, name: str, fault: str | None = None) -> Callable:
    """Plant a function in the place of a function of the package, which it is given first."""

    def register(wrong: Callable) -> Callable:
        def plant(patch: pytest.MonkeyPatch) -> None:
            right = getattr(where, name)

            def planted(*given, **how):
                return wrong(right, *given, **how)

            is_property = isinstance(right, cached_property)
            patch.setattr(where, name, property(planted) if is_property else planted)

        PLANTS.setdefault(fault or wrong.__name__, []).append(plant)
        return wrong

    return register


def plant(fault: str, patch: pytest.MonkeyPatch) -> None:
    for each in PLANTS[fault]:
        each(patch)


def scaled(factor: float) -> Callable:
    return lambda right, *given: factor * right(*given)


instead_of(mechanisms, "laplace_scale", "less_noise")(scaled(0.8))
instead_of(LaplaceNoise, "rows", "less_in_rows")(scaled(0.8))
# The mechanism is right, and what gives answers takes 0.8 of what it draws.
instead_of(DrawnRows, "following", "less_in_runs")(scaled(0.8))
instead_of(Pure, "spent", "half_charged")(scaled(0.5))
instead_of(budgets, "_parts", "larger_parts")(scaled(1.25))


@instead_of(mechanisms, "gaussian_multiplier")
def thirty_deltas(right, epsilon, delta):
    return right(epsilon, 30 * delta)


KEPT = {}


@instead_of(DrawnRows, "following")
def one_row(right, self, rows):
    """All answers of a run have the noise of the first."""
    if id(self) not in KEPT:
        KEPT[id(self)] = self, right(self, rows).copy()
    return KEPT[id(self)][1]


@instead_of(Answers, "unused")
def exact_where_lost(_, self, turn, points, source):  # noqa: ARG001
    return self._reply.gradients.gradient(turn.owners, points)


@instead_of(Answers, "unused")
def lost_and_used_alike(_, self, turn, points, source):  # noqa: ARG001
    """Lost answers have the noise of those that are used, row by row."""
    exact = self._reply.gradients.gradient(turn.owners, points)
    return self._reply.noise.add_noise(turn.owners, exact, self._noise._kept[: len(exact), 0])


@instead_of(Privacy, "noise_for")
def one_record_more(right, self, n, *rest):
    """Noise for n_i + 1 records."""
    return right(self, n + 1, *rest)


@instead_of(LinearRecords, "gradient")
def mean_over_one_less(right, self, owners, points):
    """Gradients are sums over n_i records, divided by n_i − 1."""
    held = np.array([len(y) for y in self.targets])[owners]
    share = np.where(held > 1, held / np.maximum(held - 1, 1), 1.0)
    return right(self, owners, points) * share[:, None]


@pytest.fixture(autouse=True)
def books_are_not_checked(monkeypatch):
    """A run with broken books is ended by its invariants: here the audit has to see them."""
    monkeypatch.setattr(LEDGER, "_require_within", lambda *_: None)


@instead_of(Learner, "drop")
def quota_given_back(right, self, exchange, outcome):
    """An answer that is lost does not count."""
    if outcome is ExchangeOutcome.lost:
        self.answers_left[exchange.owner] += 1
        self.active.add(exchange.owner)
    right(self, exchange, outcome)


@instead_of(Trace, "released")
def charged_at_delivery(_, self):
    return np.bincount(self.updates["owner"], minlength=self.n_owners + 1)[1:]


@instead_of(replay_module, "fold")
def another_replay(right, *given, **how):
    """What runs publish comes from another noise than the answers that were attacked."""
    found = right(*given, **how)
    for path in found:
        path.final[:] *= 0.9
    return found


@instead_of(privacy_spec, "bare", "accounted_with_its_square")
def pure_with_its_square(right, epsilon, q):
    """Noise is scaled as if records were in with q², and sums are over q n_i."""
    return right(epsilon, q * q)


@instead_of(privacy_spec, "sampled_gaussian", "accounted_with_its_square")
def gaussian_with_its_square(right, q):
    return right(q * q)


@instead_of(Sample, "gradient")
def drawn_more_often(_, self, owners, points, draws):
    q = self.probability
    return self.records.included(owners, points, draws * q**0.5, q)


@instead_of(Answers, "new")
def only_the_first_step_is_noised(right, self, turn, points):
    noisy, asked = self.noisy_gradients, []

    def once(turn, at):
        asked.append(at)
        exact = self._reply.gradients.gradient(turn.owners, at)
        return noisy(turn, at) if len(asked) == 1 else exact

    with pytest.MonkeyPatch.context() as inner:
        inner.setattr(self, "noisy_gradients", once)
        return right(self, turn, points)


@instead_of(Answers, "new")
def one_noise_for_all_steps(right, self, turn, points):
    kept = []

    def following(rows):
        kept.append(drawn.following(rows).copy() if len(kept) == 0 else kept[0])
        return kept[0]

    drawn = self._noise
    with pytest.MonkeyPatch.context() as inner:
        inner.setattr(self, "_noise", SimpleNamespace(following=following))
        return right(self, turn, points)


@instead_of(Privacy, "noise_for")
def noise_for_one_gradient_of_each(right, *given):
    """Noise is scaled as if an answer were one gradient."""
    return right(*given[:5])


@instead_of(Converted, "spent")
def only_the_first_step_is_charged(_, self, released):
    return self.single.spent(released)


@instead_of(mechanisms, "shared")
def shares_of_all(right, noise, influence, _):
    """Nobody makes up for the shares of those that drop out: noise is scaled for all n of them."""
    return right(noise, influence, 4)


@instead_of(Sums, "open")
def opened_anyhow(right, self):
    """A sum is opened however few are in it."""
    self._aggregation = self._aggregation.model_copy(update={"least": 1})
    yield from right(self) if len(self._gathered) > 0 else ()


@instead_of(NodeObserver, "squared")
def colluders_forgotten(right, self, *given):
    """What nodes learn is worked out as if nobody put together what they see."""
    return right(self.model_copy(update={"colluding": None}), *given)


@instead_of(model, "in_rounds")
def noise_of_absent_owners(right, trace, weights, multiplier):
    """The noise in a round's sum is counted of all owners, whoever answered."""
    found = right(trace, weights, multiplier)
    return replace(found, noise=np.full_like(found.noise, np.square(multiplier).sum()))


@instead_of(BudgetSchedule, "equal")
def parts_at_one_price(_, self, released):  # noqa: ARG001
    """What has a larger part is charged an equal one."""
    return np.asarray(released, dtype=float)


@instead_of(Trace, "released_before", "parts_given_back")
def used_before(_, self):
    """A lost answer's part goes to the next one."""
    used, owners = self.came_to(ExchangeOutcome.applied), self.exchanges["owner"]
    return np.array([np.sum(used[:j] & (owners[:j] == i)) for j, i in enumerate(owners)])


@instead_of(LiveLearning, "release", "parts_given_back")
def released_at_its_number(_, self, owner, message):
    self._numbers[message] = self._released.get(owner, 0)


@instead_of(LiveLearning, "apply", "parts_given_back")
def counted_when_used(right, self, owner, message, peer=0):
    right(self, owner, message, peer)
    self._released[owner] = self._released.get(owner, 0) + 1


def planted(name, patch):
    """Plant a fault of the table; return its case, its settings and its scenario."""
    case = FAULTS[name]
    plant(case["plant"], patch)
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
    plant("another_replay", monkeypatch)
    plain = 'privacy.sensitivity={kind="domain",row_norm=1.0,target_max=1.0}'
    found = attacked((plain,), (100, 10))
    assert "replay of run 1 ends at another model: REFUTED" in "\n".join(found.lines())


@pytest.mark.no_evidence
def test_an_answer_of_shared_noise_is_seen_where_the_claim_is_beyond_what_runs_show(monkeypatch):
    """100 runs show at most ε = 2; two answers with the same noise refute any."""
    plant("one_row", monkeypatch)
    found = attacked(("privacy.epsilon=30.0",), (100, 100))
    assert not any(check.exceeded for check in found.checks)
    assert found.exceeded
