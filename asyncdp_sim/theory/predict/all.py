"""Predictions for a network before it runs: every figure that some formula gives.

``asyncdp check`` prints it, a run's report shows it beside what was measured, and figures draw it.
Then what owners are at in the long run, which the prediction of energy needs, and the memory and
time that a run takes. Their constants were measured on one processor of 2023, and hold within a
factor of 2 or 3; records are left out, as what they take is known once they are read.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from math import ceil, fsum, inf, isfinite, log10
from numbers import Real
from typing import Any, cast

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.units import LAST_UNIT, TICKS_PER_UNIT
from asyncdp_sim.core.words import agreed, duration, number
from asyncdp_sim.network import Network
from asyncdp_sim.network.availability.kind import Diurnal, Outages
from asyncdp_sim.theory.formulas.channels import delivered, lost_in_bursts, mean_attempts
from asyncdp_sim.theory.predict.channels import channel_use
from asyncdp_sim.theory.predict.facts import RESENT, Facts
from asyncdp_sim.theory.predict.protocols import facts_of, law
from asyncdp_sim.theory.predict.update_order import choice, shares, staleness
from asyncdp_sim.theory.prediction import Prediction, Unknown, each_of, no_formula_if, required
from asyncdp_sim.trace.vocabulary import State


def _day_in_step(available: Diurnal, network: Network) -> str:
    """Return why what is regular may keep step with the time of day, or nothing."""
    if available.low == available.high:
        return ""
    if not network.protocol.clocked:
        return "queries are regular, and may keep step with the time of day"
    if not network.clock.memoryless:
        return f"clocks are {network.clock.kind}, and may keep step with the time of day"
    return ""


def _outages_in_step(available: Outages, network: Network) -> str:
    """Return why outages of several groups may keep step with each other, or nothing."""
    regular = available.gap.listed and available.length.listed
    several = regular and max(available.groups_of(network.n_owners)) > 1
    return "regular outages of an owner's groups keep step" if several else ""


IN_STEP: Mapping[type, Callable[[Any, Network], str]] = {
    Diurnal: _day_in_step,
    Outages: _outages_in_step,
}
"""Why the share of ticks that find owners online may not be that of the time, by availability."""


def losses(facts: Facts) -> Iterator[Prediction]:
    """Yield the share of answers lost and the mean number of transmissions, if any can be lost.

    Whatever the clocks and the availability: losses do not look at them.
    """
    if not facts.loses("answer"):
        return iter(())
    names = ("loss_rate", "transmissions_per_answer")
    formula = "each transmission is lost on its own or in bursts: 1 − P(delivered), (1−l^R)/(1−l)"
    reason = facts.unknown or _entangled(facts)
    return each_of(names, Unknown(reason) if reason else _loss_and_transmissions(facts), formula)


def _entangled(facts: Facts) -> str:
    """Why an answer's losses depend on more than its transmissions, if they do."""
    network = facts.network
    again = network.channel.retransmissions > 0
    loss = network.channel.packet_loss()
    shares = loss.shares(facts.n_owners)
    if network.channel.contended is not None:
        return "owners share a channel"
    if network.protocol.newest_only:
        return "answers to older queries are discarded"
    if facts.vanishing:
        return "owners vanish"
    if network.protocol.gives_up_after is not None:
        return "the learner gives up after a timeout"
    if again and facts.loses("acknowledgement"):
        return RESENT
    if max(shares) > min(shares):
        return "owners' answers are lost differently often"
    if again and loss.bursty and facts.entangled and not facts.instant:
        return "bursts strike several answers of one owner at a time"
    return ""


def _loss_and_transmissions(facts: Facts) -> tuple[float, float]:
    """Return the share of answers lost and the mean number of transmissions of one."""
    channel = facts.network.channel
    loss, attempts = channel.packet_loss(), 1 + channel.retransmissions
    share = loss.shares(facts.n_owners)[0]
    if channel.resend == "fresh":  # every transmission is an answer of its own
        return share, 1.0
    if not loss.bursty:
        return 1 - delivered(share, attempts), mean_attempts(share, attempts)
    lost = lost_in_bursts(attempts, **loss.model_dump())
    return lost, (1 - lost) / (1 - share)  # one arrival per answer delivered


def presence(facts: Facts) -> Iterator[Prediction]:
    """Yield the mean share of the time, or of ticks (queries), that an owner is online."""
    network = facts.network
    available, kind = network.availability, network.availability.kind
    shares = available.online_share(facts.n_owners)
    in_step = IN_STEP.get(type(available))
    reason = "" if in_step is None else in_step(available, network)
    if facts.wires_fail and not available.drawn_per_tick:
        reason = "links fail"
    if available.drawn_per_tick and shares is not None and max(shares) > min(shares):
        reason = reason or facts.unasked  # shares are of ticks or queries that there are
    if shares is None:
        reason = f"availability is {kind}, which has no long run"
    value = None if reason or shares is None else fsum(shares) / facts.n_owners
    yield Prediction("mean_online", value, f"long-run share of availability {kind}", reason)


def predict(network: Network) -> tuple[Prediction, ...]:
    """Return a prediction for each figure that some formula gives, or why none does."""
    return _of_facts(facts_of(network))


def predicted(network: Network, quantity: str) -> float | Unknown:
    """Return the prediction of one figure of the summary, or why there is none."""
    for prediction in predict(network):
        if prediction.quantity == quantity:
            return Unknown(prediction.reason) if prediction.value is None else prediction.value
    return Unknown("no formula is known")


@lru_cache(maxsize=1)  # cells of a sweep have one network, and its facts are known by identity
def _of_facts(facts: Facts) -> tuple[Prediction, ...]:
    """Return what kinds from outside state, and else what the table has, if it has every kind."""
    parts = [_traffic(facts), facts.waiting(), staleness(facts), choice(facts), losses(facts)]
    if facts.protocol.makes_updates:
        parts = [facts.predictions()]
    predictions: dict[str, Prediction] = {}
    for prediction in _stated(facts):
        predictions.setdefault(prediction.quantity, prediction)
    for prediction in chain(*parts, presence(facts)):
        if facts.unknown:
            prediction = replace(prediction, value=None, reason=facts.unknown, low=None, high=None)
        predictions.setdefault(prediction.quantity, prediction)
    return tuple(predictions.values())


def _stated(facts: Facts) -> Iterator[Prediction]:
    """Yield what kinds from outside state in ``predicts``.

    A statement counts where the kind's own class makes it: one that derives from another such
    class may do something else, too. Of two for one figure the first in the network counts.
    """
    for at, kind in facts.strangers:
        if "predicts" not in vars(type(kind)):
            continue
        stated: Mapping[str, float] = cast("Any", kind).predicts(facts.network)
        for quantity, value in stated.items():
            if not isinstance(value, Real) or not isfinite(value):
                domain = "allowed from predicts are figures by name, each a finite number"
                raise SpecError([Fault(at.partition(" ")[0], f"{quantity}: {value!r}", domain)])
            yield Prediction(quantity, float(value), f"stated by {at}")


def _traffic(facts: Facts) -> Iterator[Prediction]:
    """How many updates per unit, and what becomes of requests and answers."""
    alone = facts.shared and not facts.dependent  # owners that contend each on their own
    for prediction in channel_use(facts) if alone else facts.predictions():
        if prediction.quantity == "throughput" and facts.buffered:
            yield replace(prediction, value=None, reason=facts.buffered, low=None, high=None)
        else:
            yield prediction


@dataclass(frozen=True, eq=False)
class Occupied:
    """The occupation of owners.

    Attributes
    ----------
    times : array (N, 6)
        Shares of the time in the states of :class:`~asyncdp_sim.trace.vocabulary.State`.
    requests, answers : array (N,)
        Messages of each kind per time unit; there are as many queries as answers.
    updates : float
        Per time unit.
    """

    times: Array
    requests: Array
    answers: Array
    updates: float


@law
def occupation(facts: Facts) -> Occupied:
    """Return what owners are at in the long run."""
    no_formula_if(_doubt(facts))
    updates = required(predicted(facts.network, "throughput"))
    flows = _answers(facts, updates)
    times = np.zeros((facts.n_owners, len(State)))
    times[:, State.sending] = flows * _air(facts, "answer")
    times[:, State.computing] = flows * facts.network.mean_times("compute")
    times[:, State.receiving] = flows * _air(facts, "query")
    times[:, State.idle] = np.maximum(0.0, 1 - times.sum(axis=1))
    return Occupied(times, _requests(facts, flows), flows, updates)


def _doubt(facts: Facts) -> str:
    """Return why stages of an owner's exchanges do not follow each other undisturbed, if not."""
    network = facts.network
    if network.availability.comes_and_goes or facts.wires_fail:
        return "owners come and go, at work or not"
    if network.aggregation is not None:
        return "sums are opened by trips of their own"
    if facts.entangled:
        return facts.entangled
    return facts.can_lose_messages or facts.shared or facts.slow_requests


def _answers(facts: Facts, updates: float) -> Array:
    """Return the answers of each owner that are used per time unit."""
    own = facts.answers(updates)
    return updates * np.array(required(shares(facts.network))) if own is None else np.array(own)


def _requests(facts: Facts, flows: Array) -> Array:
    """Return the requests of each owner per time unit: a tick while it is served is none."""
    if not facts.protocol.sends_requests:
        return np.zeros(facts.n_owners)
    rates = np.array(facts.rates)
    if facts.protocol.queues:
        return rates
    return np.asarray(rates * (1 - flows * np.array(facts.services)))


def _air(facts: Facts, message: str) -> Array:
    """Return how long each owner sends, or receives, a message, in the mean."""
    network, rate = facts.network, facts.network.latency.rate_bytes
    airtime = network.airtime
    if message == "answer" and airtime is not None:
        return np.full(facts.n_owners, airtime)
    if rate is not None:
        return np.array(network.transfer_times(message))
    return np.array(network.mean_times(message))


START = 2e8
"""Bytes of the program."""
OWNER, OF_CROWD = 4000, 300
"""Bytes of an owner: with a clock of its own, or of those for whom one clock ticks."""
ANSWER, EVENT, POINT, NUMBER = 250, 90, 60, 12
"""Bytes of an answer, of an event that is kept, of a row of the curve, and of a number in it."""
CELL = 16
"""Bytes of a feature of a record, at least: it is held as drawn, and as it is learned from."""
OF_ANSWER, OF_TICK, OF_EVENT, OF_UPDATE = 8e-6, 1e-6, 1e-6, 3e-5
"""Seconds of an answer, of a tick that makes none, of an event that is kept; of an update of all
replicates together."""
_PER_ANSWER, _PER_TICK = 6, 3
"""Events of an answer, and of a tick that makes none."""
LONG = 600.0
"""Seconds from which a run counts as long."""
_GIB = 2**30


@dataclass(frozen=True)
class Size:
    """Memory and time that a run takes, about.

    Attributes
    ----------
    memory : float
        Bytes.
    seconds : float
        Of one processor.
    held, growing : float
        How much of the memory is for records, and how much grows with T.
    sure : bool
        Whether it does: not where a model may reach its target, or owners may leave, long before.
    """

    memory: float
    seconds: float
    held: float
    growing: float
    sure: bool

    def fits(self, room: float) -> bool:
        """Return whether a run may fit into so many bytes."""
        return self.memory <= room or not (self.sure or self.held > room)


def size(scenario: Any, *, events: bool = False) -> Size:
    """Return what a run of a scenario takes in memory and time.

    Parameters
    ----------
    scenario : Scenario
        Without a sweep.
    events : bool
        Whether every event is kept.
    """
    network, run = scenario.network, scenario.run
    n_owners, replicates = network.n_owners, run.replicates
    answers_of = {"pair": 2, "answer": network.answers_per_update or 1}
    asked = network.protocol.asked_at_most or n_owners
    per_update = answers_of.get(network.protocol.update_of, asked * network.protocol.answers_each)
    updates = min(float(run.updates), sum(network.answers_allowed) / per_update)
    pace = _pace(scenario)
    if run.until is not None and pace is not None:
        updates = min(updates, run.until * pace)
    answers = updates * per_update
    rates = network.clock.rates(n_owners)
    ticks = 0.0
    if pace is not None and pace > 0 and rates is not None and network.protocol.acts_on_ticks:
        ticks = max(0.0, fsum(rates) * updates / pace - answers)
    kept = (_PER_ANSWER * answers + _PER_TICK * ticks) if events else 0.0
    points = (updates / run.record_every + 2) * (POINT + NUMBER * scenario.numbers)
    growing = replicates * (ANSWER * answers + EVENT * kept + points)
    owner = OF_CROWD if network.superposed else OWNER
    held = CELL * scenario.data.features * sum(scenario.all_records or ())
    return Size(
        memory=START + n_owners * (owner + 40 * replicates) + held + growing,
        seconds=replicates * (OF_ANSWER * answers + OF_TICK * ticks + OF_EVENT * kept)
        + OF_UPDATE * updates,
        held=held,
        growing=growing,
        sure=_goes_on(scenario) and (run.until is None or pace is not None),
    )


def _goes_on(scenario: Any) -> bool:
    """Return whether nothing but T, budgets and ``until`` ends a run, as far as one can know."""
    available, clock = scenario.availability, scenario.network.clock
    stay = available.always_online or available.drawn_per_tick or available.all_return
    endless = clock.saturated or clock.rates(scenario.owners.count) is not None
    return scenario.run.target is None and stay and endless


def _pace(scenario: Any) -> float | None:
    """Return the updates per time unit, or the most that they may be; None where nobody knows."""
    for prediction in predict(scenario.network):
        if prediction.quantity == "throughput":
            return prediction.value if prediction.between is None else prediction.between[1]
    return None


def require_room(scenario: Any, *, events: bool = False) -> None:
    """Refuse a run, without a sweep, beyond the memory of this machine or the last tick of time.

    Raises
    ------
    SpecError
        If it is, with what to change.
    """
    _require_time(scenario)
    room, needed = machine_memory(), size(scenario, events=events)
    if needed.fits(room):
        return
    run, owners = scenario.run, scenario.owners.count
    fits = f"allowed is what fits into the {number(room / _GIB)} GiB of this machine"
    takes = f"about {number(needed.memory / _GIB)} GiB"
    if needed.held > room / 2:
        held = f"{sum(scenario.all_records):,} of all owners, which take {takes}"
        raise SpecError([Fault("owners.records", held, f"{fits}: lower them")])
    if needed.growing < (needed.memory - START) / 2:
        crowd = "" if scenario.clock.superposed else ', or set clock.population = "superposed"'
        lower = f"{fits}: lower it{crowd}"
        raise SpecError([Fault("owners.count", f"{owners}, which takes {takes}", lower)])
    asked = agreed(f"{run.updates} in {run.replicates} replicates, which takes {takes}")
    further = ", and keep no events" if events else ""
    lower = f"lower it or run.replicates, or raise run.record_every{further}"
    raise SpecError([Fault("run.updates", asked, f"{fits}: {lower}")])


def _require_time(scenario: Any) -> None:
    """Refuse a run whose updates take, in the mean, more time than can be counted."""
    if scenario.run.until is not None or not _goes_on(scenario):
        return
    network, pace = scenario.network, _pace(scenario)
    rates = network.clock.rates(network.n_owners)
    if pace is None and rates is not None and network.protocol.acts_on_ticks:
        pace = fsum(rates)  # at most one answer for each tick
    if pace is None or pace <= 0:
        return
    takes = scenario.run.updates / pace
    if takes > LAST_UNIT:
        longer = 10 ** ceil(log10(takes / LAST_UNIT))
        wanted = f"{scenario.run.updates}, which take {number(takes)} time units"
        rule = (
            f"allowed is what takes {number(LAST_UNIT)}, as time is counted in steps of "
            f"{1 / TICKS_PER_UNIT:g}: choose a time unit {longer:,} times as long, by which rates "
            "grow and durations fall, or set run.until"
        )
        raise SpecError([Fault("run.updates", wanted, rule)])


def size_notes(scenario: Any, *, events: bool = False) -> list[str]:
    """Return what a reader must know before a run, without a sweep, that takes long or much."""
    room, needed = machine_memory(), size(scenario, events=events)
    brief = needed.memory - START < room / 2 and needed.seconds < LONG
    if brief or not needed.fits(room):
        return []
    takes = f"{duration(needed.seconds)} of one processor, and {number(needed.memory / _GIB)} GiB"
    most = "" if needed.sure else "at most "
    return [f"a run takes {most}{takes}; of fewer run.updates or run.replicates it takes less"]


def machine_memory() -> float:
    """Return the bytes of memory that this process may have; infinite where nobody says."""
    if sys.platform == "win32":
        return inf
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return float(physical if limit == resource.RLIM_INFINITY else min(limit, physical))
