"""Sound scenarios, of the catalogue and drawn at random, attacked end to end: none is refuted."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.audits import audit
from asyncdp_sim.audits.claims import owed
from asyncdp_sim.core.errors import InputError, SpecError
from asyncdp_sim.core.specification import kind_of, members, parse
from asyncdp_sim.learning.algorithms import AnyAlgorithm
from asyncdp_sim.learning.objectives import Model
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.privacy.accountants import gradients_of
from asyncdp_sim.privacy.budgets import Budget, BudgetKind
from asyncdp_sim.privacy.composition import Accounting
from asyncdp_sim.privacy.mechanisms import Mechanism
from asyncdp_sim.privacy.observers import Observer, ObserverKind
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario.catalogue import catalogue, entry
from asyncdp_sim.scenario.fields import examples_of
from tests import scenes
from tests.conformance.members import examples
from tests.drawn import Domain
from tests.fresh import fresh_seed
from tests.tables import table

from .node_views import attack_on_views

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle(
        "lower bounds on ε by attacks on a mechanism, a scenario, or a planted fault"
    ),
]

TABLE = table(__file__, "audit_sound.toml")
LOSSY, SOUND, PARTS = TABLE["lossy"], TABLE["entries"], TABLE["parts"]


def passed(scenario, **how):
    """Return the audit of a scenario, which is not refuted."""
    found = audit(scenario, confidence=0.999, **how)
    print("\n".join(found.lines()))
    assert not found.exceeded
    return found


@pytest.mark.parametrize(
    "name",
    [pytest.param("lending-sound", marks=pytest.mark.nightly), "hospital-sound", "fraud-svm"],
)
def test_a_sound_scenario_is_not_refuted(name):
    passed(entry(name).scenario((*LOSSY, *SOUND[name])), answers=2000, runs=100)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SOUND)
def test_a_sound_scenario_is_not_refuted_by_many_runs(name):
    scenario = entry(name).scenario((*LOSSY, *SOUND[name]))
    found = passed(scenario, answers=10**6, runs=10**5, workers=2)
    assert found.checks[1].finding.epsilon > 0.05  # the attack does see something


MANY, LEAST, SCENARIOS = 50, 3, 200
FIRST_OF = len(members(Observer))  # the first observer hears all: every budget suits it
BUDGET_OF = {FIRST_OF * n: examples_of(each)[0] for n, each in enumerate(members(Budget))}
"""Budgets of some of these scenarios: what asks for a certain protocol is hardly ever drawn."""


def drawn(number):
    """Return a sound scenario: every mechanism with every budget, protocol and bound, by chance."""
    rng = np.random.default_rng(number)

    def one(options):
        return options[int(rng.integers(len(options)))]

    model = one(["ridge", "ridge", "logistic", "svm"])
    protocol, owners = one(PARTS["protocols"]), int(rng.integers(2, 4))
    gossip = protocol["kind"] == "gossip"
    bound = one(PARTS["bounds"])
    mechanism = one(["laplace", "laplace", "gaussian", "discrete-laplace"])
    fields = scenes.fields(
        id=f"sound-{number}",
        run={"seed": number, "updates": int(rng.integers(2, 6)), "until": 50.0},
        owners={"count": owners, "records": rng.integers(2, 9, owners).tolist()},
        data={"features": int(rng.integers(1, 4)), "labels": model != "ridge"},
        model={"kind": model, "regularisation": 0.1, "theta_max": float(one([1.0, 10.0]))},
        channel={"kind": "ideal"} if gossip else one(PARTS["channels"]),
        protocol=protocol,
        algorithm={"kind": "gossip-graph" if gossip else "async-gossip", "rho": 5.0},
        privacy={
            "epsilon": rng.choice([0.3, 1.0, 3.0], owners).tolist(),
            "mechanism": mechanism,
            "sensitivity": bound,
            "budget": one(PARTS["budgets"]),
            "overlap": int(rng.integers(1, owners + 1)),
        },
    )
    if mechanism == "gaussian":
        fields["privacy"]["delta"] = 1e-5
    return parse(Scenario, fields)


def of_several_gradients(number):
    """Return a drawn scenario whose owners make local steps, some of them over samples."""
    scenario, rng = drawn(number), np.random.default_rng([number, 1])
    local = PARTS["local_steps"]
    algorithm = local[number % len(local)] | {"local_steps": int(rng.integers(2, 5))}
    rounds = algorithm["kind"] == "parameter-server"
    parts = {"algorithm": algorithm}
    if rounds or scenario.protocol.kind == "gossip":
        parts["protocol"] = {"kind": "rounds" if rounds else "push"}
    if len(scenario.privacy.prices(scenario.owners.count)) > 0:
        parts["privacy"] = {"budget": PARTS["budgets"][number % 3]}
    if scenario.privacy.overlap == 1 and scenario.privacy.mechanism.kind == "laplace":
        parts["privacy"] = parts.get("privacy", {}) | {"sampling": 0.4}
    return scenario.replace(**parts)


def as_many(scenario, accountant):
    """Return claims, which are of as many answers as the accountant says."""
    claims = owed(scenario)
    assert [claim.answers for claim in claims] == accountant.answers.tolist(), scenario.id
    return claims


def test_claims_of_local_steps_are_what_the_accountant_says_of_gradients():
    met = set()
    for number in range(MANY):
        scenario = of_several_gradients(number)
        accountant, each = gradients_of(scenario.accountant)
        claims = as_many(scenario, accountant)
        assert np.array_equal(scenario.accountant.answers * each, accountant.answers)
        due = [claim.cost(claim.answers) for claim in claims]
        told = scenario.accountant.spent(scenario.accountant.answers)
        assert due == pytest.approx(told, rel=3e-6), number
        met |= {scenario.algorithm.kind, scenario.privacy.mechanism.kind, scenario.privacy.sampling}
    assert met >= {each["kind"] for each in PARTS["local_steps"]} | {"laplace", "gaussian", 0.4}


@pytest.mark.parametrize("number", range(LEAST))
def test_a_random_scenario_with_local_steps_is_not_refuted(number):
    passed(of_several_gradients(number), answers=10_000, runs=30)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(MANY))
def test_a_random_scenario_with_local_steps_is_not_refuted_at_the_default_size(number):
    passed(of_several_gradients(number), answers=10**6, runs=1000)


def test_claims_by_textbook_are_what_the_accountant_says():
    """Two ways to how many answers a budget holds, to what one costs, and to what all cost."""
    for number in range(MANY):
        scenario = drawn(number)
        accountant = scenario.privacy.accountant_for(scenario.owners.count, scenario.run.updates)
        claims = as_many(scenario, accountant)
        for count in (np.ones_like(accountant.answers), accountant.answers):
            due = [claim.cost(int(m)) for claim, m in zip(claims, count, strict=True)]
            assert due == pytest.approx(accountant.spent(count), rel=3e-6), number


def test_claims_of_the_catalogue_are_what_the_accountant_says():
    """Of the first cell of each entry: budgets that protocols have a say in are there."""
    met = set()
    for each in catalogue():
        scenario = each.scenario().base()
        if scenario.privacy.hides:
            as_many(scenario, gradients_of(scenario.accountant)[0])
            met.add(scenario.privacy.budget.kind)
    assert met >= {"horizon", "as-asked", "per-owner-cap"}


@pytest.mark.parametrize("mechanism", ["laplace", "discrete-laplace"])
@pytest.mark.parametrize("delta", [1e-6, 1e-3, 1e-2])
@pytest.mark.parametrize(
    "budget",
    [
        *({"kind": "per-owner-cap", "answers": answers} for answers in (1, 2, 5)),
        *({"kind": "until-spent", "per_answer": price} for price in (0.3, 0.1)),
        *({"kind": "scheduled", "answers": answers, "growth": 1.3} for answers in (1, 4)),
    ],
    ids=lambda budget: " ".join(map(str, budget.values())),
)
def test_claims_under_pld_are_what_the_accountant_says(mechanism, delta, budget):
    """One answer too, which is charged whole, though a δ were enough for a little more."""
    parts = {"mechanism": mechanism, "accountant": "pld", "delta": delta, "overlap": 1}
    scenario = drawn(0).replace(privacy={**parts, "epsilon": 0.3, "budget": budget})
    claims = as_many(scenario, scenario.accountant)
    for count in range(1, claims[0].answers + 1):
        spent = scenario.accountant.spent(np.full(len(claims), count)).tolist()
        for claim, charged in zip(claims, spent, strict=True):
            assert claim.cost(count) * (1 - claim.slack) <= charged <= claim.cost(count) * 1.01


# Random scenarios whose claims are sound: every part from its register, as long as they fit.

N = 3
"""Owners, of which examples are."""
CLIMBS, STEPS = 400, 300
"""How often parts are drawn anew, all of them, and a few."""
UPHILL = 0.3
"""How often parts stay with which one thing more is refused."""
OBSERVED = 4
"""What an observer refuses counts for so much: it is the part that stays."""
EVENTS, REPLICATES = 3000, 3
"""Of a run at most, in so many runs: rounds that take no time and bring no answer are 10⁵."""
NUMBERS = (0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 10.0)

Draw = Callable[[Random, Domain], Any]


@dataclass(frozen=True)
class Part:
    """A part of a scenario: how its sections, or one field of one, are drawn."""

    sections: tuple[str, ...]
    draw: Draw
    field: str | None = None

    def named(self, keys: list[str]) -> bool:
        """Return whether something that is refused is of this part."""
        whole = [each if self.field is None else f"{each}.{self.field}" for each in self.sections]
        return any(key.startswith(each) for key in keys for each in whole)


def _of(family: Any) -> Draw:
    """Draw an example, or a member with fields of their domains."""

    def draw(rng: Random, domain: Domain) -> Any:
        if rng.random() < 0.5:
            return rng.choice(examples(family))
        return domain.member(rng.choice(members(family)))

    return draw


def _section(name: str, family: Any) -> Part:
    return Part((name,), lambda rng, domain: {name: _of(family)(rng, domain)})


def _or_none(draw: Draw) -> Draw:
    return lambda rng, domain: draw(rng, domain) if rng.random() < 0.5 else None


def _learning(rng: Random, domain: Domain) -> dict[str, Any]:
    """Draw an algorithm, and a protocol that it runs on."""
    algorithm = _of(AnyAlgorithm)(rng, domain)
    fitting = [each for each in members(Protocol) if algorithm.runs_on(each)]
    return {"algorithm": algorithm, "protocol": domain.member(rng.choice(fitting))}


REGISTERS = (
    Part(("algorithm", "protocol"), _learning),
    _section("model", Model),
    _section("channel", Channel),
    Part(("privacy",), _of(Mechanism), "mechanism"),
    Part(("privacy",), _or_none(_of(Accounting)), "accountant"),
    Part(("privacy",), _of(Budget), "budget"),
    Part(("privacy",), _of(Sensitivity), "sensitivity"),
    Part(("privacy",), _or_none(lambda rng, _: rng.choice((0.3, 0.7))), "sampling"),
    Part(("privacy",), lambda rng, _: rng.choice((1, 1, 2, N)), "overlap"),
    Part(("privacy",), _or_none(lambda rng, _: rng.choice((1e-5, 1e-3))), "delta"),
    Part(("privacy",), lambda rng, _: [rng.choice((0.3, 1.0, 3.0)) for _ in range(N)], "epsilon"),
    Part(("privacy",), lambda rng, _: rng.choice((None, None, "owner")), "unit"),
    Part(
        ("privacy",),
        lambda rng, _: rng.choice((None, None, "replaced", "added-or-removed")),
        "adjacency",
    ),
    Part(("run",), lambda rng, _: rng.randint(1, 6), "updates"),
)


def sound(seed: int, observer: ObserverKind, budget: BudgetKind | None = None) -> Scenario:
    """Return a random scenario against an observer, that a run says is private as claimed.

    A budget that is given stays; else it is drawn like all else. The scenario makes at least one
    update there, and few events. As long as anything is refused, a few parts are drawn anew, mostly
    those that are named.
    """
    rng = Random(f"{seed} {observer!r}")
    parts = [part for part in REGISTERS if budget is None or part.field != "budget"]
    given = {"observer": observer} | ({} if budget is None else {"budget": budget})
    for _ in range(CLIMBS):
        found = _climbed(rng, seed, given, parts)
        if found is not None:
            return found
    raise ValueError(f"no sound scenario was found against {observer!r}")


def _climbed(rng, seed, given, parts):
    domain = Domain(rng.choice, N, NUMBERS)
    drawn = {part: part.draw(rng, domain) for part in parts}
    scenario, refused = _tried(seed, given, drawn)
    for _ in range(STEPS):
        if scenario is not None:
            return scenario
        named = [part for part in parts if part.named(refused)]
        some = named if len(named) > 0 and rng.random() < 0.7 else parts
        other = {**drawn, **{part: part.draw(rng, domain) for part in rng.choices(some, k=2)}}
        scenario, keys = _tried(seed, given, other)
        if rng.random() < UPHILL ** (_weight(keys) - _weight(refused)):
            drawn, refused = other, keys
    return None


def _weight(keys: list[str]) -> int:
    return len(keys) + (OBSERVED - 1) * sum("observer" in key for key in keys)


def _fit(scenario: Scenario) -> bool:
    """Return whether runs are private, and there is something to attack that takes no hours."""
    found = run(scenario.replace(run={"replicates": REPLICATES}), events=True)
    told, counts = found.summary, [len(trace.events) for trace in found.traces]
    return told["private"] is True and told["updates"] > 0 and max(counts) <= EVENTS


def _tried(seed, given, drawn):
    """Return the scenario that parts make, or what is refused."""
    fields: dict[str, Any] = {
        "id": f"sound-{seed}",
        "run": {"seed": seed % 2**31, "until": 30.0},
        "owners": {"count": N, "records": [3, 5, 8]},
        "data": {"kind": "gaussian", "features": 2},
        "privacy": dict(given),
    }
    for part, value in drawn.items():
        if part.field is None:
            fields |= value
        else:
            fields.setdefault(part.sections[0], {})[part.field] = value
    fields["data"]["labels"] = fields["model"].classifies
    try:
        scenario = parse(Scenario, fields)
        if scenario.privacy.on_trust:
            return None, ["privacy.sensitivity"]
        return (scenario, []) if _fit(scenario) else (None, ["run"])
    except SpecError as error:
        return None, [fault.key for fault in error.faults]
    except InputError:
        return None, ["run"]


def against(number):
    """Return an observer: all kinds are as frequent, and their examples take turns."""
    kinds = members(Observer)
    ways = examples_of(kinds[number % len(kinds)])
    return ways[number // len(kinds) % len(ways)]


def shown(scenario):
    """Attack one of so many random scenarios; return shown/claimed at most, whether refuted, words.

    All of them together are held to 99.9 %: each may be refuted by chance with 0.001/SCENARIOS.
    """
    doubt = 0.001 / SCENARIOS
    view = attack_on_views(scenario, doubt / 2)
    found = audit(scenario, answers=40_000, runs=30, confidence=1 - doubt / (1 + len(view)))
    checks = (*found.checks, *view)
    told = [each for each in checks if each.claim.epsilon > 0]  # else nothing was said at all
    ratio = max((each.finding.epsilon / each.claim.epsilon for each in told), default=0.0)
    refuted = found.exceeded or any(each.exceeded for each in view)
    return ratio, refuted, [*found.lines(), *(each.describe() for each in view)]


@pytest.mark.parametrize("number", range(len(members(Observer))))
def test_a_random_sound_scenario_is_not_refuted(number):
    _, refuted, lines = shown(sound(31 + number, against(number)))
    assert not refuted, lines


@pytest.mark.nightly
def test_no_claim_of_many_random_sound_scenarios_is_refuted():
    """Over all observers, mechanisms, accountants, samples and budgets that are registered."""
    seed = fresh_seed()
    ratios, wrong = [], []
    met = Counter()
    for number in range(SCENARIOS):
        budget = BUDGET_OF.get(number)  # some hardly fit anything that is drawn
        scenario = sound(seed + number, against(number), budget)
        ratio, refuted, lines = shown(scenario)
        privacy = scenario.privacy
        print(f"{number}: {privacy.listener.name} {ratio:.3f}", flush=True)
        ratios.append(ratio)
        if refuted:
            print("\n".join(lines), flush=True)
            wrong.append(number)
        met.update([privacy.listener.kind, privacy.mechanism.kind, privacy.budget.kind])
        met["pld"] += privacy.accountant is not None
        met["over samples"] += privacy.sampling is not None
    print(f"{len(ratios)} scenarios, {len(wrong)} refuted; shown/claimed at most {max(ratios):.3f}")
    print(dict(met))
    assert wrong == []
    everything = {kind_of(each) for family in (Observer, Budget) for each in members(family)}
    everything |= {each.kind for each in examples(Mechanism) if not each.exact}
    assert everything | {"pld", "over samples"} <= set(met)
    assert max(ratios) > 0.5  # it does look
