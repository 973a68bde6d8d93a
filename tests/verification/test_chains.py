"""Oracle 25: pairs of features with exponential stages, against the chain solved by brute force.

Runs start with nobody at work; the exact mean of a count over [0, t) from that state is compared,
so that no warm-up is needed. Runs are as long as the chain's own variance says the standard
errors asked for take.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest

from asyncdp_sim.core.units import to_units
from asyncdp_sim.measures.summary import busy_ticks
from asyncdp_sim.network import Latency, Network, channels, clocks, laws, protocols
from asyncdp_sim.network.availability import Always, Bernoulli, OnOff
from asyncdp_sim.trace import ExchangeOutcome
from tests.tables import table

from .chains import growth
from .networks import lasting, own_seed, runs
from .zscores import require, score, shared, two_stages

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle(
        "counts of updates, attempts, refusals and transmissions, and busy time, "
        "for all pairs of features"
    ),
]

# A small network by its features: built for the simulator, and written down as a Markov chain.
#
# Every stage is exponential (or Erlang, by phases), so that the chain's states are finite in number
# and its law is one linear solve. The two descriptions share the feature record and nothing else.

SERVED = ("query", "compute", "answer")
"""Where an owner is while its exchange is open; under ``request`` the learner is then locked."""


DEFAULTS = table(__file__, "features.toml")
"""What a network is made of; mean times of 0 stand for stages that do not exist."""


def features(**changes):
    """Return the features of a network: the defaults, with changes."""
    assert set(changes) <= set(DEFAULTS)
    return SimpleNamespace(**DEFAULTS | changes)


def simulated(these, until: float) -> Network:
    """Return the network for the simulator."""
    compute = laws.Gamma(mean=these.compute, cv=these.phases**-0.5)
    availability = Always() if these.listens == 1 else Bernoulli(probability=these.listens)
    if these.on > 0:
        availability = OnOff(
            on=laws.Exponential(mean=these.on), off=laws.Exponential(mean=these.off)
        )
    retry = {"retry": laws.Exponential(mean=these.retry)} if these.protocol == "retry" else {}
    pushes = these.protocol == "push"
    return lasting(
        len(these.rates),
        until,
        clock=clocks.PoissonClock(rate=these.rates),
        availability=availability,
        channel=channels.Ideal(
            loss=these.loss, loss_query=these.loss_query, loss_request=these.loss_request,
            loss_acknowledgement=these.loss_acknowledgement, retransmissions=these.attempts - 1,
            resend="fresh" if these.fresh else "same",
        ),
        latency=Latency(
            request=_law(these.request), query=_law(these.query), answer=_law(these.answer),
            acknowledgement=_law(these.acknowledgement),
        ),
        compute=compute if these.phases > 1 else _law(these.compute),
        protocol=protocols.Push() if pushes else protocols.Request(busy=these.protocol, **retry),
    )  # fmt: skip


def _law(mean):
    return laws.Exponential(mean=mean) if mean > 0 else laws.NoTime()


@dataclass(frozen=True)
class World:
    """A state on its way through a move: where owners are, who waits, and what has happened."""

    owners: tuple  # of (place, number of the attempt or phase, online)
    line: tuple = ()
    marks: tuple = ()

    def put(self, i, place, number=0):
        """Return the world with owner i at a place."""
        online = self.owners[i][2]
        owners = (*self.owners[:i], (place, number, online), *self.owners[i + 1 :])
        return World(owners, self.line, self.marks)

    def turn(self, i):
        """Return the world with owner i online instead of offline, or the reverse."""
        place, number, online = self.owners[i]
        owners = (*self.owners[:i], (place, number, not online), *self.owners[i + 1 :])
        return World(owners, self.line, self.marks)

    def mark(self, name, amount=1):
        """Return the world with something counted."""
        return World(self.owners, self.line, (*self.marks, (name, amount)))

    def open(self):
        """Return how many exchanges are open."""
        return sum(place in SERVED for place, _, _ in self.owners)

    @property
    def state(self):
        return self.owners, self.line


class Chain:
    """The network as a Markov chain.

    What follows from something at once is worked out as a list of (probability, world).
    """

    def __init__(self, these) -> None:
        self.these = these
        self.locks = these.protocol != "push"
        self.switches = these.on > 0

    def start(self):
        """Return the law at time 0: nobody at work, owners online by their stationary law."""
        these, n_owners = self.these, len(self.these.rates)
        if not self.switches:
            return {World((("idle", 0, True),) * n_owners).state: 1.0}
        share = these.on / (these.on + these.off)
        return {
            World(tuple(("idle", 0, up) for up in online)).state: share ** sum(online)
            * (1 - share) ** (n_owners - sum(online))
            for online in product((True, False), repeat=n_owners)
        }

    def held(self, state):
        """Return what adds up over time."""
        return {"busy": float(World(*state).open() > 0)}

    def moves(self, state):
        """Yield (rate, next state, what is counted)."""
        these, world = self.these, World(*state)
        for i, (place, number, online) in enumerate(world.owners):
            if place == "idle" and online:
                yield from _at(these.rates[i] * these.listens, self.ask(world, i))
            elif place == "compute":
                phase = number % these.phases
                after = [(1.0, world.put(i, "compute", number + 1))]
                if phase == these.phases - 1:
                    after = self.send(world, i, number // these.phases)
                yield from _at(these.phases / these.compute, after)
            elif place not in ("idle", "wait"):
                after = getattr(self, f"after_{place}")(world, i, number)
                mean = these.answer if place == "again" else getattr(these, place)
                yield from _at(1 / mean, after)
            if self.switches:
                mean = these.on if online else these.off
                yield from _at(1 / mean, [(1.0, world.turn(i))])

    def ask(self, world, i):
        world = world.mark("attempt")
        if not self.locks:
            return self.serve(world, i)
        return self.either(self.these.loss_request, self.unheard, self.heard, world, i)

    def unheard(self, world, i):
        return self.turned_away(world.mark("unheard"), i)

    def heard(self, world, i):
        if self.these.request > 0:
            return [(1.0, world.put(i, "request"))]
        return self.after_request(world, i)

    def after_request(self, world, i, number=0):  # noqa: ARG002
        world = world.put(i, "idle")
        if world.open() == 0:
            return self.serve(world, i)
        if self.these.protocol == "queue":
            waits = world.put(i, "wait")
            return [(1.0, World(waits.owners, (*waits.line, i), waits.marks))]
        return self.turned_away(world.mark("refused"), i)

    def turned_away(self, world, i):
        return [(1.0, world.put(i, "retry" if self.these.protocol == "retry" else "idle"))]

    def after_retry(self, world, i, number):  # noqa: ARG002
        free = world.put(i, "idle")
        return self.ask(free, i) if free.owners[i][2] else [(1.0, free)]

    def serve(self, world, i):
        if self.these.query > 0:
            return [(1.0, world.put(i, "query"))]
        return self.after_query(world, i, 0)

    def after_query(self, world, i, number):  # noqa: ARG002
        return self.either(self.these.loss_query, self.abandon, self.compute, world, i)

    def abandon(self, world, i):
        return self.unlock(world.mark("abandoned").put(i, "idle"))

    def compute(self, world, i):
        return [(1.0, world.put(i, "compute", self.these.phases))]

    def send(self, world, i, tries):
        world = world.mark("sent")
        if tries == 1 or self.these.fresh:
            world = world.mark("released")
        if self.these.answer > 0:
            return [(1.0, world.put(i, "answer", tries))]
        return self.after_answer(world, i, tries)

    def after_answer(self, world, i, tries):
        return self.either(self.these.loss, self.lost, self.used, world, i, tries)

    def lost(self, world, i, tries):
        if tries == self.these.attempts:
            return self.unlock(world.mark("lost").put(i, "idle"))
        if self.these.fresh:
            return [(1.0, world.mark("lost").put(i, "compute", (tries + 1) * self.these.phases))]
        return self.send(world, i, tries + 1)

    def used(self, world, i, tries):
        world = world.put(i, "gone")
        world = world.mark("update").mark("in flight", world.open())
        return _then(self.unlock(world), lambda w: self.acknowledge(w, i, tries))

    def unlock(self, world):
        if len(world.line) == 0:
            return [(1.0, world)]
        return self.serve(World(world.owners, world.line[1:], world.marks), world.line[0])

    def acknowledge(self, world, i, tries):
        if self.these.acknowledgement > 0:
            return [(1.0, world.put(i, "acknowledgement", tries))]
        return self.after_acknowledgement(world, i, tries)

    def after_acknowledgement(self, world, i, tries):
        lost = self.these.loss_acknowledgement
        return self.either(lost, self.repeat, self.rest, world, i, tries)

    def rest(self, world, i, tries=0):  # noqa: ARG002
        return [(1.0, world.put(i, "idle"))]

    def repeat(self, world, i, tries):
        """Send an answer again that has arrived, for want of an acknowledgement."""
        if tries == self.these.attempts:
            return self.rest(world, i)
        if self.these.answer > 0:
            return [(1.0, world.put(i, "again", tries + 1))]
        return self.after_again(world, i, tries + 1)

    def after_again(self, world, i, tries):
        return self.either(self.these.loss, self.repeat, self.acknowledge, world, i, tries)

    def either(self, probability, happens, otherwise, *state):
        found = [(probability * p, w) for p, w in happens(*state)] if probability > 0 else []
        return found + [((1 - probability) * p, w) for p, w in otherwise(*state)]


def _then(worlds, follow):
    return [(p * q, after) for p, world in worlds for q, after in follow(world)]


def _at(rate, worlds):
    for probability, world in worlds:
        marks = {}
        for name, amount in world.marks:
            marks[name] = marks.get(name, 0) + amount
        yield rate * probability, world.state, marks


# Pairs of features

RUNS, AIM = 100, 0.9
"""Runs of a pair, and the part of the error allowed that they are planned for."""
TABLE = table(__file__, "chains.toml")
FEATURES = TABLE["features"]
EXCLUDED = [set(names) for names in TABLE["excluded"]]
PAIRS = [
    pair
    for pair in combinations(FEATURES, 2)
    if not any(set(pair) <= excluded for excluded in EXCLUDED)
]
CHOSEN = [(one, other) for one, others in TABLE["pairs"].items() for other in others]
"""The pairs of every run; the others' turn comes at night."""
ERRORS = {"update": 0.003, "busy": 0.003}
"""Standard errors allowed; 1 % for all else."""


def of_pair(pair):
    """Return the network of a pair of features, with 1 to 4 owners."""
    n_owners = 1 + PAIRS.index(pair) % 4
    fields = {}
    for name in pair:
        for key, value in FEATURES[name].items():
            fields[key] = max(value, fields.get(key, value)) if key == "attempts" else value
    if fields.get("protocol") == "push" or "loss_acknowledgement" in fields or "on" in fields:
        n_owners = min(n_owners, 3)
    if "unequal rates" in pair:
        n_owners = max(n_owners, 2)
    weights = range(1, n_owners + 1) if fields.pop("rates", None) else (1,) * n_owners
    return features(rates=tuple(3.0 * w / sum(weights) for w in weights), **fields)


def tally(trace):
    """Return what a chain counts, as the trace shows it."""
    outcome, owners = trace.exchanges["outcome"], trace.owners
    return {
        "update": len(trace.updates),
        "busy": float(to_units(busy_ticks(trace))),
        "attempt": owners["attempts"].sum(),
        "refused": owners["refused"].sum(),
        "unheard": owners["unheard"].sum(),
        "sent": trace.exchanges["transmissions"].sum(),
        "released": trace.released.sum(),
        "abandoned": np.count_nonzero(outcome == ExchangeOutcome.abandoned),
        "lost": np.count_nonzero(outcome == ExchangeOutcome.lost),
        "in flight": trace.in_flight_total,
    }


def allowed(name):
    return ERRORS.get(name, 0.01)


def measure(these, seed, count=RUNS):
    """Return scores of all that the chain of a network counts."""
    chain = Chain(these)
    exact = growth(chain.moves, chain.start(), chain.held)
    exact = dict(sorted(exact.items(), key=lambda item: item[0] != "update"))
    distinct = {round(each.rate, 12): name for name, each in reversed(exact.items())}
    exact = {name: exact[name] for rate, name in distinct.items() if rate > 0}
    if these.fresh:
        exact.pop("in flight", None)  # an answer computed anew counts what it missed at once
    total = max(g.spread / (AIM * allowed(name) * g.rate) ** 2 for name, g in exact.items())
    length = total / RUNS
    found = [tally(trace) for trace in runs(simulated(these, length), seed, count)]
    return [
        score(name, [each[name] for each in found], g.rate * length + g.offset)
        for name, g in exact.items()
    ]


@shared
def sound(pair):
    return measure(of_pair(pair), own_seed(*pair))


def scores():
    """Return every score of a sound simulator."""
    return [each for pair in CHOSEN for each in sound(pair)]


def test_at_least_thirty_pairs_have_every_feature_three_times():
    assert len(set(CHOSEN)) >= 30
    assert set(CHOSEN) <= set(PAIRS)
    times = Counter(name for pair in CHOSEN for name in pair)
    assert all(times[name] >= 3 for name in FEATURES)


@pytest.mark.parametrize("pair", CHOSEN, ids=" × ".join)
def test_pair(pair):
    for each in sound(pair):
        require([each], error=allowed(each.name))


@pytest.mark.nightly
@pytest.mark.parametrize("pair", PAIRS, ids=" × ".join)
def test_fresh_seeds(pair):
    two_stages(lambda seed, factor: measure(of_pair(pair), seed, RUNS * factor))
