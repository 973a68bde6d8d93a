"""Energy in a run's summary, and what theory says of it beforehand."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.measures.energy import Energy, transferred, used
from asyncdp_sim.measures.summary import Ratio
from asyncdp_sim.network import Network
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.occupation import occupation
from asyncdp_sim.theory.prediction import Prediction, Unknown, either, none_of
from asyncdp_sim.trace import Trace
from asyncdp_sim.trace.occupation import MESSAGES
from asyncdp_sim.units import to_units

Array = npt.NDArray[np.float64]
ENERGY_RATIOS = ("joules_per_update", "watts", "learner_watts")
"""Figures of energy that are ratios of sums over replicates."""
SAID = "Σ watts × shares of time, and joules per byte × bytes, per update or second"


def energy_figures(traces: Sequence[Trace], energy: Energy, network: Network) -> dict[str, Any]:
    """Return the summary's figures of energy and bytes, and the intervals of those that are ratios.

    Of the learner only where its power is given.
    """
    every = [used(trace, energy, network) for trace in traces]
    joules = np.array([each.joules.sum() for each in every])
    seconds = energy.seconds * to_units([trace.end_tick for trace in traces])
    updates = np.array([trace.n_updates for trace in traces], dtype=float)
    ratios = {"joules_per_update": Ratio(joules, updates), "watts": Ratio(joules, seconds)}
    learner = [each.learner for each in every if each.learner is not None]
    if len(learner) > 0:
        ratios["learner_watts"] = Ratio(np.array(learner), seconds)
    return {
        "joules": float(joules.mean()),
        "bytes_sent": float(np.mean([each.sent.sum() for each in every])),
        "bytes_received": float(np.mean([each.received.sum() for each in every])),
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
    known = occupation(network)
    if isinstance(known, Unknown):
        return known
    none = np.zeros(network.n_owners)
    messages = dict.fromkeys(MESSAGES, none) | {"requests": known.requests}
    messages |= {"answers": known.answers, "queries": known.answers}
    sent, received = transferred(messages, network)
    joules = energy.joules(known.times, sent, received)
    return ExpectedEnergy(
        watts=joules / energy.seconds,
        per_update=float(joules.sum()) / known.updates,
        sent=float(sent.sum()) / known.updates,
        received=float(received.sum()) / known.updates,
        updates=known.updates,
    )


def energy_predictions(energy: Energy | None, network: Network) -> Iterator[Prediction]:
    """Yield what owners and the learner draw, or why it is not known; nothing without energy."""
    if energy is None:
        return
    found = expected(energy, network)
    if isinstance(found, Unknown):
        yield from none_of(ENERGY_RATIOS[:2], found.reason, SAID)
    else:
        yield Prediction("joules_per_update", found.per_update, SAID)
        yield Prediction("watts", float(found.watts.sum()), SAID)
    if energy.learner is not None:
        busy = predicted(network, "utilisation")
        idle, more = energy.learner.idle, energy.learner.busy - energy.learner.idle
        drawn = busy if isinstance(busy, Unknown) else idle + more * busy
        yield either("learner_watts", drawn, "busy watts while exchanges are under way")


__all__ = ["ENERGY_RATIOS", "ExpectedEnergy", "energy_figures", "energy_predictions", "expected"]
