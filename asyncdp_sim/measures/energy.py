"""Joules and bytes of owners and the learner: measured, and predicted by theory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.core.specification import PerOwner, Spec, per_owner, wrong_length
from asyncdp_sim.core.units import to_units
from asyncdp_sim.core.words import extent
from asyncdp_sim.measures.summary import Ratio, busy_ticks
from asyncdp_sim.network import Network
from asyncdp_sim.theory.predict.all import occupation, predicted
from asyncdp_sim.theory.prediction import Prediction, Unknown, each_of, either
from asyncdp_sim.trace import Trace
from asyncdp_sim.trace.vocabulary import MESSAGES, State

Watts = Annotated[float, Field(ge=0, le=1e12)]
PerByte = Annotated[float, Field(ge=0, le=1e6)]
Seconds = Annotated[float, Field(gt=0, le=1e9)]


class LearnerPower(Spec):
    """The learner's watts and joules; without them, its energy is not reported."""

    idle: Watts
    busy: Watts


class Energy(Spec):
    """Owners' watts, by what they are at: one number for all, or a list with one per owner.

    An owner is at one thing at a time, the first that holds of sending, computing, offline,
    receiving, listening and idle.
    """

    idle: PerOwner[Watts]
    listening: PerOwner[Watts]
    computing: PerOwner[Watts]
    sending: PerOwner[Watts]
    receiving: PerOwner[Watts]
    offline: PerOwner[Watts] = 0.0
    byte_sent: PerOwner[PerByte] = 0.0
    byte_received: PerOwner[PerByte] = 0.0
    seconds: Seconds = 1.0
    learner: LearnerPower | None = None

    def faults(self, n_owners: int) -> list[Fault]:
        """Return a fault for each list that does not have one number per owner."""
        lists = (wrong_length(f"energy.{name}", value, n_owners) for name, value in self)
        return [fault for faults in lists for fault in faults]

    def describe(self, n_owners: int) -> str:
        """Say what owners draw, from the least to the largest of them."""
        watts, per_byte = self.watts(n_owners), self.per_byte(n_owners)
        states = ", ".join(f"{state.name} {extent(watts[:, state])}" for state in reversed(State))
        per_byte_words = ""
        if per_byte.any():
            sent, heard = (extent(row) for row in per_byte.T)
            per_byte_words = f"; {sent} J for a byte sent, {heard} J for one received"
        return f"energy: W {states}; a time unit is {self.seconds:g} s{per_byte_words}"

    def watts(self, n_owners: int) -> Array:
        """Return the power of each owner in each state, shape (N, 6)."""
        return self._each(n_owners, *(state.name for state in State))

    def per_byte(self, n_owners: int) -> Array:
        """Return each owner's joules per byte sent and per byte received, shape (N, 2)."""
        return self._each(n_owners, "byte_sent", "byte_received")

    def joules(self, times: Array, sent: Array, received: Array) -> Array:
        """Return Σ watts × seconds over states plus Σ joules per byte × bytes, shape (N,).

        Parameters
        ----------
        times : array (N, 6)
            Time units in each state.
        sent, received : array (N,)
            Bytes.
        """
        n_owners = len(times)
        moved = (self.per_byte(n_owners) * np.stack([sent, received], axis=1)).sum(axis=1)
        at_work: Array = (self.watts(n_owners) * times).sum(axis=1)
        joules: Array = self.seconds * at_work + moved
        return joules

    def of_learner(self, busy: float, time: float) -> float | None:
        """Return the learner's joules, busy for ``busy`` time units; None if not reported."""
        power = self.learner
        if power is None:
            return None
        return self.seconds * (power.busy * busy + power.idle * (time - busy))

    def _each(self, n_owners: int, *names: str) -> Array:
        return np.array([per_owner(getattr(self, name), n_owners) for name in names]).T


@dataclass(frozen=True, eq=False)
class Used:
    """The energy that the owners of one replicate used.

    Attributes
    ----------
    times : array (N, 6)
        Time units in each state, in the order of :class:`~asyncdp_sim.trace.vocabulary.State`.
    joules : array (N,)
        Σ watts × seconds over states, and Σ joules per byte × bytes.
    sent, received : array of int (N,)
        Bytes.
    learner : float or None
        Joules of the learner; None where its power is not given.
    """

    times: Array
    joules: Array
    sent: Ints
    received: Ints
    learner: float | None


def used(trace: Trace, energy: Energy, network: Network) -> Used:
    """Return what a replicate used, a function of its trace and of what was specified.

    Raises
    ------
    ValueError
        If the trace does not tell what owners were at.
    """
    if trace.occupation is None:
        raise ValueError("energy needs a trace that tells what owners were at")
    times = to_units(np.stack([trace.occupation[state.name] for state in State], axis=1))
    sent, received = transferred(trace.occupation, network)
    busy, total = (float(to_units(ticks)) for ticks in (busy_ticks(trace), trace.end_tick))
    joules = energy.joules(times, sent, received)
    return Used(times, joules, sent, received, energy.of_learner(busy, total))


def transferred(rows: Any, network: Network) -> tuple[Any, Any]:
    """Return the bytes that each owner sent and received.

    Where owners talk among themselves, each message of a meeting goes both ways.

    Parameters
    ----------
    rows : mapping or structured array
        By :data:`~asyncdp_sim.trace.vocabulary.MESSAGES`, how many each owner had, or had per time
        unit.
    network : Network
    """
    queries = rows["queries"] * network.query_bytes
    answers = rows["answers"] * network.answer_bytes
    asking, opening = (rows["openings"] * size for size in network.opening_bytes)
    header = network.payload.header_bytes
    sent = answers + rows["requests"] * header + opening
    received = queries + rows["acknowledgements"] * header + asking
    if network.protocol.has_learner:
        return sent, received
    return sent + queries, received + answers


ENERGY_RATIOS = ("joules_per_update", "watts", "learner_watts")
"""Figures of energy that are ratios of sums over replicates."""
SAID = "Σ watts × shares of time, and joules per byte × bytes, per update or second"


def energy_figures(traces: Sequence[Trace], energy: Energy, network: Network) -> dict[str, Any]:
    """Return the summary's figures of energy and bytes, and the intervals of those that are ratios.

    Of the learner only where its power is given.
    """
    every = [used(trace, energy, network) for trace in traces]
    joules = np.array([replicate.joules.sum() for replicate in every])
    seconds = energy.seconds * to_units([trace.end_tick for trace in traces])
    updates = np.array([trace.n_updates for trace in traces], dtype=float)
    ratios = {"joules_per_update": Ratio(joules, updates), "watts": Ratio(joules, seconds)}
    learner = [replicate.learner for replicate in every if replicate.learner is not None]
    if len(learner) > 0:
        ratios["learner_watts"] = Ratio(np.array(learner), seconds)
    return {
        "joules": float(joules.mean()),
        "bytes_sent": float(np.mean([replicate.sent.sum() for replicate in every])),
        "bytes_received": float(np.mean([replicate.received.sum() for replicate in every])),
        **{name: ratio.value for name, ratio in ratios.items()},
        "intervals": {name: ratio.interval() for name, ratio in ratios.items()},
    }


@dataclass(frozen=True, eq=False)
class ExpectedEnergy:
    """Energy in the long run.

    Attributes
    ----------
    watts : array (N,)
        Of each owner, its bytes included.
    per_update : float
        Joules of all owners for an update.
    sent, received : float
        Bytes of all owners for an update.
    updates : float
        Per time unit.
    """

    watts: Array
    per_update: float
    sent: float
    received: float
    updates: float


def expected(energy: Energy, network: Network) -> ExpectedEnergy | Unknown:
    """Return what owners draw in the long run, or why it is not known."""
    times = occupation(network)
    if isinstance(times, Unknown):
        return times
    none = np.zeros(network.n_owners)
    messages = dict.fromkeys(MESSAGES, none) | {"requests": times.requests}
    messages |= {"answers": times.answers, "queries": times.answers}
    sent, received = transferred(messages, network)
    joules = energy.joules(times.times, sent, received)
    return ExpectedEnergy(
        watts=joules / energy.seconds,
        per_update=float(joules.sum()) / times.updates,
        sent=float(sent.sum()) / times.updates,
        received=float(received.sum()) / times.updates,
        updates=times.updates,
    )


def energy_predictions(energy: Energy | None, network: Network) -> Iterator[Prediction]:
    """Yield what owners and the learner draw, or why it is not known; nothing without energy."""
    if energy is None:
        return
    prediction = expected(energy, network)
    if isinstance(prediction, Unknown):
        yield from each_of(ENERGY_RATIOS[:2], prediction, SAID)
    else:
        yield Prediction("joules_per_update", prediction.per_update, SAID)
        yield Prediction("watts", float(prediction.watts.sum()), SAID)
    if energy.learner is not None:
        busy = predicted(network, "utilisation")
        idle, more = energy.learner.idle, energy.learner.busy - energy.learner.idle
        drawn = busy if isinstance(busy, Unknown) else idle + more * busy
        yield either("learner_watts", drawn, "busy watts while exchanges are under way")
