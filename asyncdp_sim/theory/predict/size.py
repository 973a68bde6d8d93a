"""Memory and time that runs take, estimated before anything is simulated.

The constants were measured on one processor of 2023, and hold within a factor of 2 or 3. Records
are left out: what they take is known once they are read.
"""

import os
import sys
from dataclasses import dataclass
from math import ceil, fsum, inf, log10
from typing import Any

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.units import LAST_UNIT, TICKS_PER_UNIT
from asyncdp_sim.core.words import duration, number
from asyncdp_sim.theory.predict.all import predict

START = 2e8
"""Bytes of the program."""
OWNER, OF_CROWD = 4000, 300
"""Bytes of an owner: with a clock of its own, or of those for whom one clock ticks."""
ANSWER, EVENT, POINT, NUMBER = 250, 90, 60, 12
"""Bytes of an answer, of an event that is kept, of a row of the curve, and of a number in it."""
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
    growing : float
        How much of the memory grows with T.
    sure : bool
        Whether it does: not where a model may reach its target, or owners may leave, long before.
    """

    memory: float
    seconds: float
    growing: float
    sure: bool

    def fits(self, room: float) -> bool:
        """Return whether a run may fit into so many bytes."""
        return self.memory <= room or not self.sure


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
    return Size(
        memory=START + n_owners * (owner + 40 * replicates) + growing,
        seconds=replicates * (OF_ANSWER * answers + OF_TICK * ticks + OF_EVENT * kept)
        + OF_UPDATE * updates,
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
    if needed.growing < (needed.memory - START) / 2:
        lower = f"{fits}: lower it" + ("" if scenario.clock.superposed else f", or set {_CROWD}")
        raise SpecError([Fault("owners.count", f"{owners}, which takes {takes}", lower)])
    asked = f"{run.updates} in {run.replicates} replicates, which takes {takes}"
    further = ", and keep no events" if events else ""
    lower = f"lower it or run.replicates, or raise run.record_every{further}"
    raise SpecError([Fault("run.updates", asked, f"{fits}: {lower}")])


def _require_time(scenario: Any) -> None:
    """Refuse a run whose updates take, in the mean, more time than can be counted."""
    if scenario.run.until is not None or not _goes_on(scenario):
        return
    pace = _most_updates(scenario)
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


def _most_updates(scenario: Any) -> float | None:
    """Return the most updates per time unit: as predicted, or of one answer for each tick."""
    network = scenario.network
    pace = _pace(scenario)
    rates = network.clock.rates(network.n_owners)
    if pace is not None or rates is None or not network.protocol.acts_on_ticks:
        return pace
    return fsum(rates)


_CROWD = 'clock.population = "superposed"'


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
