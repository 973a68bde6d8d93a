"""No owner is ever above its budget or its rate of answers: random networks of every kind."""

from collections import Counter
from dataclasses import dataclass
from itertools import product
from math import inf
from random import Random

import numpy as np
import pytest
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from asyncdp_sim.core.errors import InvariantError, SpecError
from asyncdp_sim.learning.objectives import Ridge
from asyncdp_sim.network import Network
from asyncdp_sim.network.channels import Ideal
from asyncdp_sim.privacy import Accountant, Clip, Gaussian, Ledger, Privacy, Pure
from asyncdp_sim.privacy.accountants import gaussian_epsilon, gaussian_multiplier, gradients_of
from asyncdp_sim.privacy.budgets import Budget, PerOwnerCap, Scheduled, UntilSpent
from asyncdp_sim.privacy.composition import Accounting, ByLosses, LossDistributions
from asyncdp_sim.privacy.mechanisms import Mechanism, MechanismKind
from asyncdp_sim.privacy.pairs import LaplacePair
from asyncdp_sim.trace import Detail, Ending, EventKind, Trace
from asyncdp_sim.trace.tables import check
from tests.conformance.members import examples
from tests.drawn import NothingFitsError
from tests.fresh import fresh_seed
from tests.properties.networks import FIXED, SEEDS, counted, network, networks, seeded
from tests.properties.rough_networks import rough_network, rough_networks
from tests.properties.test_any_channel_and_protocol import no_owner_exceeds_its_budget
from tests.traces import traced
from tests.verification import pure_law

# No owner is ever above its budget: random networks under every mechanism and budget.

K = EventKind
SIZES = st.sampled_from([0.1, 0.3, 1.0, 2.5, 10.0])
"""Of ε; few, so that noise is calibrated to each once."""
SHARES = st.sampled_from([1.0, 0.5, 0.3, 0.1, 0.07])
"""Of a budget, what one answer costs."""
NOISY = list({each.kind: each for each in examples(Mechanism) if not each.exact}.values())
ACCOUNTANTS = [None, *examples(Accounting)]
KINDS = {each.kind for each in NOISY}
ROUGH = rough_networks(1 / 3)
RESENDS = ["fresh", "same"]


def sort_of(budget: Budget) -> str:
    """Return a budget's kind, and whether it names the price of an answer."""
    rules = [name for name in RULES if getattr(budget, name, None) is not None]
    return " by ".join([budget.kind, *rules])


RULES = ["per_answer", "growth", "power", "shares"]
MODEL = Ridge(regularisation=1.0)


def clipped(**fields: object) -> Privacy:
    return Privacy(sensitivity=Clip(bound=1.0), **fields)


def known(mechanism: MechanismKind, accountant: LossDistributions | None) -> bool:
    """Return whether an accountant knows the losses of a mechanism."""
    delta = 1e-6 if mechanism.needs_delta or accountant is not None else None
    asked = clipped(epsilon=1.0, delta=delta, mechanism=mechanism, accountant=accountant)
    return asked.faults(1, MODEL) == []


PAIRS = [pair for pair in product(NOISY, ACCOUNTANTS) if known(*pair)]
SORTS = {sort_of(each): each for each in examples(Budget)}
"""An example of each sort; hypothesis draws some of them thirty times as often as others."""


@dataclass(frozen=True)
class Case:
    """A network whose owners may release what a scenario's budget allows."""

    network: Network
    privacy: Privacy
    gradients: int = 1
    """Local steps: what each answer is made of."""

    @property
    def accountant(self) -> Accountant:
        of = (self.network.n_owners, self.network.updates, self.gradients)
        return self.privacy.accountant_for(*of)


@st.composite
def budgets(draw: st.DrawFn, sort: str, n: int, least: float) -> Budget:
    """Draw a budget of which ``least`` is the smallest part that an owner may spend."""
    example = SORTS[sort]
    values = {
        "answers": st.integers(1, 9),
        "per_answer": SHARES.map(lambda share: share * least),
        "growth": st.sampled_from([0.3, 0.9, 1.0, 1.5, 3.0]),
        "power": st.sampled_from([-2.0, -0.5, 0.0, 1.0, 4.0]),
    }
    fields = {}
    for name in example.model_dump(exclude={"kind"}, exclude_none=True):
        if name == "shares":
            fields[name] = draw(st.lists(st.sampled_from([0.1, 1.0, 7.0]), min_size=1, max_size=9))
        else:
            each = values[name]
            fields[name] = draw(each | st.lists(each, min_size=n, max_size=n))
    return type(example)(**fields)


@st.composite
def cases(draw: st.DrawFn, sort: str) -> Case:
    """Draw a network whose owners have a budget of this sort."""
    network = draw(networks() | ROUGH)
    if draw(st.sampled_from([True, True, False])):  # many are lost, and sent again
        resend = draw(st.sampled_from(["fresh", *RESENDS]))
        lossy = {"loss": 0.5, "retransmissions": 2, "resend": resend}
        network = network.model_copy(update={"channel": network.channel.model_copy(update=lossy)})
    n = network.n_owners
    mechanism, accountant = draw(st.sampled_from(PAIRS))
    stated = mechanism.needs_delta or accountant is not None
    fields = {
        "epsilon": draw(SIZES | st.lists(SIZES, min_size=n, max_size=n)),
        "delta": draw(st.sampled_from([1e-6, 1e-3])) if stated else None,
        "mechanism": mechanism,
        "accountant": accountant,
        "overlap": draw(st.integers(1, n)),
    }
    least = float(clipped(**fields).epsilons(n).min())
    privacy = clipped(**fields, budget=draw(budgets(sort, n, least)))
    assert privacy.faults(n, MODEL) == []
    allowed = privacy.answers_allowed(n, network.updates)
    priced = len(privacy.prices(n)) > 0
    gradients = 1 if priced or not privacy.budget.even else draw(st.sampled_from([1, 1, 2, 5]))
    return Case(network.model_copy(update={"answers_allowed": allowed}), privacy, gradients)


def nobody_spends_more_than_its_budget(case: Case, trace: Trace) -> None:
    """Nor do any κ owners together spend more on one record than the least budget."""
    n, kappa = case.network.n_owners, case.privacy.overlap
    accountant = case.accountant
    ledger, promised = Ledger.from_traces(accountant, [trace]), case.privacy.asked(n)
    assert np.all(ledger.spent <= accountant.epsilon)
    assert np.all(ledger.spent <= promised)
    assert ledger.ratio() <= 1
    least = promised.min() if kappa > 1 else promised.max()
    assert ledger.shared(kappa) <= least * (1 + 1e-12)
    assert accountant.together(accountant.answers, kappa) <= least * (1 + 1e-12)


def what_is_spent_is_the_price_times_the_releases(case: Case, trace: Trace) -> None:
    """Pure: ε₀ each. Gaussian: ρ₀ each, and ε(δ) is that of one answer with z/√m.

    By losses: no less than they compose to, and hardly more, which no sum of ε₀ is below.
    """
    n, privacy = case.network.n_owners, case.privacy
    several, each = case.accountant, case.gradients
    accountant, _ = gradients_of(several)
    assert np.array_equal(several.spent(trace.released), accountant.spent(trace.released * each))
    allowed, released = accountant.answers, trace.released * each
    part, named = privacy.epsilons(n), privacy.budget.prices(n)
    if privacy.allotment(n) is not None:
        what_is_spent_is_the_parts_of_what_was_released(case, trace)
        return
    price = part / allowed if named is None else np.broadcast_to(named, n)
    if isinstance(accountant, ByLosses):
        charged = accountant.charges if named is None else price
        assert accountant.charges == pytest.approx(charged, rel=1e-12)
        spent, delta = accountant.spent(released), privacy.delta / privacy.overlap
        for ledger, e, m in zip(spent.tolist(), charged.tolist(), released.tolist(), strict=True):
            least = pure_law.epsilon_of(e, m, delta, laplace=accountant.kind is LaplacePair)
            assert least * (1 - 1e-9) <= ledger <= min(e * m * (1 + 1e-12), least * 1.05 + 1e-4)
        return
    if not isinstance(accountant, Gaussian):
        assert accountant.spent(released) == pytest.approx(price * released, rel=1e-12)
        return
    z = [gaussian_multiplier(e, privacy.delta) for e in (part if named is None else price).tolist()]
    multiplier = np.array(z) * (np.sqrt(allowed) if named is None else 1)
    assert accountant.zcdp(released) == pytest.approx(released / (2 * multiplier**2), rel=1e-12)
    exact = [
        gaussian_epsilon(each / np.sqrt(m) if m > 0 else inf, privacy.delta)
        for each, m in zip(multiplier.tolist(), released.tolist(), strict=True)
    ]
    assert accountant.spent(released) == pytest.approx(exact, rel=1e-9)


def what_is_spent_is_the_parts_of_what_was_released(case: Case, trace: Trace) -> None:
    """Pure: ε_i times the sum of the parts. Gaussian: so of ρ. By losses: at most that."""
    n, privacy = case.network.n_owners, case.privacy
    accountant, released = privacy.accountant_for(n, case.network.updates), trace.released
    weights, part = privacy.budget.weights(n), privacy.epsilons(n)
    shares = [(w / w.sum())[:m].sum() for w, m in zip(weights, released, strict=True)]
    spent = accountant.spent(released)
    if privacy.mechanism.needs_delta:
        whole = np.array([gaussian_multiplier(e, privacy.delta) for e in part.tolist()])
        assert accountant.zcdp(released) == pytest.approx(shares / (2 * whole**2), rel=1e-9)
    elif privacy.accountant is None:
        assert spent == pytest.approx(part * shares, rel=1e-9)
    else:
        cost = accountant.charges * accountant.answers
        assert np.all(spent <= np.minimum(part, cost * shares * (1 + 1e-9)))
        assert np.all(released[spent > 0] > 0)  # what differs with less than δ costs no ε


def a_retransmission_is_free_and_a_fresh_answer_is_not(case: Case, trace: Trace) -> None:
    """Every distinct answer is released once, whatever becomes of it.

    Where fresh answers are resent, one is sent again only after it arrived, unacknowledged.
    """
    fresh, owners = case.network.channel.resend == "fresh", trace.n_owners
    released, arrived = set(), set()
    columns = (trace.events[name].tolist() for name in ("kind", "message"))
    for number, message in zip(*columns, strict=True):
        if K(number) is K.answer_released:
            assert message not in released
            released.add(message)
        elif K(number) is K.answer_resent:
            assert message in released
            assert message in arrived or not fresh
        elif K(number) is K.answer_delivered:
            arrived.add(message)
    rows = trace.exchanges[trace.exchanges["transmissions"] > 0]
    assert set(rows["message"].tolist()) == released
    assert trace.released.tolist() == np.bincount(rows["owner"], minlength=owners + 1)[1:].tolist()
    used = np.bincount(trace.updates["owner"], minlength=owners + 1)[1:]
    assert np.all(used <= trace.released)
    assert fresh or not np.any(trace.recomputed)


CHECKS = (
    nobody_spends_more_than_its_budget,
    what_is_spent_is_the_price_times_the_releases,
    a_retransmission_is_free_and_a_fresh_answer_is_not,
)


@pytest.mark.parametrize(
    "examples",
    [
        36,
        pytest.param(240, marks=pytest.mark.long),
        pytest.param(10_000, marks=pytest.mark.nightly),
    ],
    ids=["few", "some", "many"],
)
def test_no_owner_is_ever_above_its_budget(examples, record_property):
    """And the examples reach every mechanism and budget, spent ones, resent and fresh answers.

    Sorts of budgets take turns, each with a seed of its own.
    """
    met = Counter()
    first = 0 if examples < 10_000 else fresh_seed()
    each = -(-examples // len(SORTS))

    def tried(case: Case, number: int) -> None:
        trace = traced(case.network, number)
        check(trace)
        no_owner_exceeds_its_budget(case.network, trace)
        for holds in CHECKS:
            holds(case, trace)
        met.update([case.privacy.mechanism.kind, sort_of(case.privacy.budget)])
        met["pld"] += case.privacy.accountant is not None
        met["shared"] += case.privacy.overlap > 1
        met["local steps"] += case.gradients > 1
        met["spent"] += bool(np.any(trace.released == case.network.answers_allowed))
        met["not spent"] += bool(np.any(trace.released < case.network.answers_allowed))
        met["resent"] += sum(counted(trace, K.answer_resent)) > 0
        met["fresh"] += bool(np.any(trace.recomputed))
        met["lost"] += sum(counted(trace, K.answer_lost, K.answer_collided)) > 0

    for place, sort in enumerate(SORTS):
        random = given(cases(sort), SEEDS)(tried)
        settings(FIXED, max_examples=each)(seed(first + place)(random))()
    record_property("tried", each * len(SORTS))
    assert {sort: met[sort] for sort in SORTS if met[sort] < each} == {}
    least = examples / 30 if examples > 36 else 0  # a few need not reach everything
    everything = KINDS | {"shared", "spent", "not spent"}
    everything |= {"resent", "fresh", "lost", "pld", "local steps"}
    assert {name: met[name] for name in everything if met[name] < least} == {}


def one(number: int = 5) -> tuple[Case, Trace]:
    """Return a run in which owners spend their budgets."""
    network = Network(answers_allowed=(4, 4), updates=20)
    privacy = clipped(epsilon=1.0, budget=UntilSpent(answers=4), overlap=2)
    return Case(network, privacy), traced(network, number)


def test_the_checks_hold_of_it():
    case, trace = one()
    assert trace.released.tolist() == [4, 4]
    for holds in CHECKS:
        holds(case, trace)


@pytest.mark.parametrize(
    ("epsilon", "overlap", "budget"),
    [
        (0.1, 3, Scheduled(answers=3, growth=0.9)),
        (0.1, 1, UntilSpent(answers=29)),
        (0.3, 2, UntilSpent(per_answer=0.15 / 36)),
    ],
)
def test_charges_that_are_rounded_do_not_add_up_to_more_than_a_budget(epsilon, overlap, budget):
    """At a δ so small that ε of answers adds up; each was above by a last digit."""
    fields = {"epsilon": epsilon, "delta": 1e-14, "overlap": overlap, "budget": budget}
    privacy = clipped(accountant=LossDistributions(), **fields)
    accountant = privacy.accountant_for(3, 20)
    spent = accountant.spent(accountant.answers)
    assert np.all(spent <= accountant.epsilon)
    assert spent == pytest.approx(accountant.epsilon, rel=0.03)  # 36 answers are above by rounding


@pytest.mark.parametrize(
    "budget",
    [UntilSpent(answers=3), PerOwnerCap(answers=3), UntilSpent(per_answer=0.2)],
    ids=["one more than paid for", "one more than the cap", "dearer than paid for"],
)
def test_overspending_is_seen(budget):
    case, trace = one()
    wrong = Case(case.network, case.privacy.model_copy(update={"budget": budget}))
    with pytest.raises((AssertionError, InvariantError)):  # users' runs hold it too
        nobody_spends_more_than_its_budget(wrong, trace)


def test_other_faults_are_seen(monkeypatch):
    """A release after the last, an answer taken for another, and one that costs nothing."""
    case, trace = one()
    few = case.network.model_copy(update={"answers_allowed": (3, 3)})
    with pytest.raises(AssertionError):
        no_owner_exceeds_its_budget(few, trace)
    channels = [Ideal(loss=0.5, retransmissions=2, resend=how) for how in RESENDS]
    fresh, same = (case.network.model_copy(update={"channel": each}) for each in channels)
    holds = a_retransmission_is_free_and_a_fresh_answer_is_not
    holds(Case(same, case.privacy), traced(same, 5))
    for said, done in ((same, fresh), (fresh, same)):
        with pytest.raises(AssertionError):
            holds(Case(said, case.privacy), traced(done, 5))
    monkeypatch.setattr(Pure, "spent", lambda self, released: self.total * (released - 1) / 4)
    with pytest.raises(AssertionError):
        what_is_spent_is_the_price_times_the_releases(case, trace)


# No owner answers more often, or sooner after its last query, than it may: any network.


def resting(rng: Random) -> Network:
    """A network whose learner lets owners rest, with losses or without."""
    found = rough_network(rng, 1 / 3) if rng.random() < 0.75 else network(rng)
    if not found.protocol.keeps_apart:
        raise NothingFitsError
    same = found.channel.model_copy(update={"resend": "same"})
    return Network(**{**dict(found), "apart": rng.choice([1, 2, 3]), "channel": same})


NETWORKS = seeded(resting)


@FIXED
@given(NETWORKS, SEEDS)
def test_no_owner_answers_more_often_or_sooner_than_it_may(network: Network, seed: int) -> None:
    trace = traced(network, seed)
    asked, released, updates = dict[int, int](), Counter[int](), 0
    for event in trace.events:
        kind, owner = EventKind(event["kind"]), int(event["owner"])
        if kind is EventKind.update_applied:
            updates += 1
        elif kind is EventKind.query_sent:
            assert updates - asked.get(owner, -network.apart) >= network.apart
            asked[owner] = updates
        elif kind is EventKind.answer_released:
            released[owner] += 1
        elif event["detail"] == Detail.too_soon:
            assert updates - asked[owner] < network.apart
    left = {owner: k - released[owner] for owner, k in enumerate(network.answers_allowed, start=1)}
    assert min(left.values()) >= 0
    if trace.ending is Ending.resting:
        assert any(left[owner] > 0 and updates - k < network.apart for owner, k in asked.items())


def test_everything_happens_in_some_network():
    rng, met = Random(1), Counter[str]()
    for number in range(200):
        try:
            found = resting(rng)
        except (NothingFitsError, SpecError):
            continue
        trace = traced(found, number)
        met[found.protocol.kind] += 1
        met[trace.ending.name] += 1
        met["refused"] += bool((trace.events["detail"] == Detail.too_soon).any())
        met["drawn"] += found.protocol.asked_at_most is not None
    expected = ("request", "rounds", "dispatch", "resting", "updates", "refused", "drawn")
    assert min(met[name] for name in expected) >= 3, met
