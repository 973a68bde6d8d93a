"""Predictions for a network before it runs: every figure that some formula gives.

``asyncdp check`` prints it, a run's report shows it beside what was measured, and figures draw it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from math import isfinite
from numbers import Real
from typing import Any, cast

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.network import Network
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.packet_loss import losses, presence
from asyncdp_sim.theory.predict.shared_channels import access
from asyncdp_sim.theory.predict.staleness import staleness
from asyncdp_sim.theory.predict.table import facts_of
from asyncdp_sim.theory.predict.update_order import choice
from asyncdp_sim.theory.prediction import Prediction, Unknown


def predict(network: Network) -> tuple[Prediction, ...]:
    """Return a prediction for each figure that some formula gives, or why none does."""
    return _of_facts(facts_of(network))


def predicted(network: Network, quantity: str) -> float | Unknown:
    """Return the prediction of one figure of the summary, or why there is none."""
    for each in predict(network):
        if each.quantity == quantity:
            return Unknown(each.reason) if each.value is None else each.value
    return Unknown("no formula is known")


@lru_cache(maxsize=1)  # cells of a sweep have one network, and its facts are known by identity
def _of_facts(facts: Facts) -> tuple[Prediction, ...]:
    """Return what kinds from outside state, and else what the table has, if it has every kind."""
    parts = [_traffic(facts), facts.waiting(), staleness(facts), choice(facts), losses(facts)]
    if facts.protocol.makes_updates:
        parts = [facts.predictions()]
    found: dict[str, Prediction] = {}
    for each in _stated(facts):
        found.setdefault(each.quantity, each)
    for each in chain(*parts, presence(facts)):
        if facts.unknown:
            each = replace(each, value=None, reason=facts.unknown, low=None, high=None)
        found.setdefault(each.quantity, each)
    return tuple(found.values())


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
                allowed = "allowed from predicts are figures by name, each a finite number"
                raise SpecError([Fault(at.partition(" ")[0], f"{quantity}: {value!r}", allowed)])
            yield Prediction(quantity, float(value), f"stated by {at}")


def _traffic(facts: Facts) -> Iterator[Prediction]:
    """How many updates per unit, and what becomes of requests and answers."""
    for each in _of_answers(facts):
        if each.quantity == "throughput" and facts.buffered:
            yield replace(each, value=None, reason=facts.buffered, low=None, high=None)
        else:
            yield each


def _of_answers(facts: Facts) -> Iterator[Prediction]:
    """Say the same of a network where every answer that arrives is an update."""
    if facts.shared and not facts.dependent:  # formulas are of owners that contend on their own
        return access(facts)
    return facts.predictions()
