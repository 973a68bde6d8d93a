"""Predictions for a network before it runs: every figure that some formula gives.

``asyncdp check`` prints it, a run's report shows it beside what was measured, and figures draw it.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache

from asyncdp_sim.network import Network
from asyncdp_sim.network.facts import Facts
from asyncdp_sim.theory.predict.availability import presence
from asyncdp_sim.theory.predict.packet_loss import losses
from asyncdp_sim.theory.predict.shared_channels import access
from asyncdp_sim.theory.predict.staleness import staleness
from asyncdp_sim.theory.predict.update_order import choice
from asyncdp_sim.theory.prediction import Prediction, Unknown


def predict(network: Network) -> tuple[Prediction, ...]:
    """Return a prediction for each figure that some formula gives, or why none does."""
    return _of_facts(network.facts)


def predicted(network: Network, quantity: str) -> float | Unknown:
    """Return the prediction of one figure of the summary, or why there is none."""
    for each in predict(network):
        if each.quantity == quantity:
            return Unknown(each.reason) if each.value is None else each.value
    return Unknown("no formula is known")


@lru_cache(maxsize=1)  # cells of a sweep have one network, and its facts are known by identity
def _of_facts(facts: Facts) -> tuple[Prediction, ...]:
    parts: tuple[Callable[[Facts], Iterator[Prediction]], ...]
    protocol = facts.network.protocol
    parts = (_traffic, protocol.waiting, staleness, choice, losses, presence)
    if protocol.makes_updates:
        parts = (protocol.predictions, presence)
    return tuple(prediction for part in parts for prediction in part(facts))


def _traffic(facts: Facts) -> Iterator[Prediction]:
    """How many updates per unit, and what becomes of requests and answers."""
    for each in _of_answers(facts):
        if each.quantity == "throughput" and facts.buffered:
            yield replace(each, value=None, reason=facts.buffered, low=None, high=None)
        else:
            yield each


def _of_answers(facts: Facts) -> Iterator[Prediction]:
    """Say the same of a network where every answer that arrives is an update."""
    protocol = facts.network.protocol
    if facts.shared and not protocol.dependent:  # formulas are of owners that contend on their own
        return access(facts)
    found: Iterator[Prediction] = protocol.predictions(facts)
    return found
