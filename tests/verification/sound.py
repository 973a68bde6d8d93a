"""Random scenarios whose claims are sound: every part from its register, as long as they fit."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from asyncdp_sim.core.errors import InputError, SpecError
from asyncdp_sim.core.specification import members, parse
from asyncdp_sim.learning.algorithms import AnyAlgorithm
from asyncdp_sim.learning.objectives import Model
from asyncdp_sim.network.channels import Channel
from asyncdp_sim.network.protocols import Protocol
from asyncdp_sim.privacy.accountants.composition import Accounting
from asyncdp_sim.privacy.budgets import Budget, BudgetKind
from asyncdp_sim.privacy.mechanisms import Mechanism
from asyncdp_sim.privacy.observers import ObserverKind
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from tests.conformance.members import examples
from tests.drawn import Domain

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


PARTS = (
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
    parts = [part for part in PARTS if budget is None or part.field != "budget"]
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
