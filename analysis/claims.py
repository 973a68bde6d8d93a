"""Which laws a scenario's network obeys exactly: theory is drawn only where it holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Raw = Mapping[str, Any]

SPREADS = 5.0  # an update count this many standard deviations low is never met


@dataclass(frozen=True)
class GapLaw:
    """Gaps between updates are independent and exponential.

    Merged Poisson clocks with zero service (oracle 1), thinned where owners are available with
    a probability per tick (oracle 2).

    Attributes
    ----------
    rate : float
        Updates per time unit, Σ λ_i p.
    n_gaps : int
        How many first gaps of a replicate may be compared: T, or as many as every replicate
        surely has before ``until``. (Later ones are seen only if short enough.)
    """

    rate: float
    n_gaps: int


def gap_law(scenario: Raw) -> GapLaw | str:
    """Return the law of the gaps between updates, or in words why none is claimed."""
    doubt = _not_poisson(scenario)
    if doubt is None and not _instant(scenario, "request", "query", "answer"):
        doubt = "an exchange takes time"
    if doubt is None and scenario["protocol"]["kind"] not in ("request", "push"):
        doubt = f"protocol {scenario['protocol']['kind']} does not update at owners' ticks"
    if doubt is not None:
        return doubt
    rate = float(_rates(scenario).sum())
    n_gaps, until = int(scenario["run"]["updates"]), scenario["run"].get("until")
    if until is not None:
        expected = rate * float(until)
        n_gaps = min(n_gaps, int(expected - SPREADS * sqrt(expected)))
    return GapLaw(rate, n_gaps) if n_gaps >= 1 else "too few updates fit before run.until"


def selection(scenario: Raw) -> Array | str:
    """Return P(i_k = i) where i_k is independent, or in words why none is claimed.

    With Poisson clocks it is λ_i/Σλ if service is instantaneous, and also under a lock that
    refuses, whatever the law of the service (oracle 12).
    """
    doubt = _not_poisson(scenario)
    protocol = scenario["protocol"]
    locked = (
        protocol["kind"] == "request"
        and protocol.get("busy") == "refuse"
        and protocol.get("own_tick", "drop") == "drop"
        and protocol.get("timeout") is None
        and _takes_none(scenario["latency"]["request"])
    )
    instant = protocol["kind"] in ("request", "push") and _instant(
        scenario, "request", "query", "answer"
    )
    if doubt is None and not (locked or instant):
        doubt = f"no closed form for protocol {protocol['kind']} as set"
    if doubt is not None:
        return doubt
    rates = _rates(scenario)
    return np.asarray(rates / rates.sum())


def _not_poisson(scenario: Raw) -> str | None:
    """Return why the attempts that reach the learner are not a Poisson process, if they are not."""
    clock, channel = scenario["clock"]["kind"], scenario["channel"]
    available, budget = scenario["availability"]["kind"], scenario["privacy"]["budget"]["kind"]
    if clock != "poisson":
        return f"clocks are {clock}"
    if available not in ("always", "bernoulli"):
        return f"availability is {available}"
    if channel["kind"] != "ideal":
        return f"the channel is {channel['kind']}"
    if any(channel.get(key) not in (None, 0) for key in ("loss", "loss_query", "loss_request")):
        return "messages are lost"
    if budget != "horizon":
        return f"owners fall silent (budget {budget})"
    return None


def _instant(scenario: Raw, *legs: str) -> bool:
    laws = [scenario["compute"], *(scenario["latency"][leg] for leg in legs)]
    return all(_takes_none(law) for law in laws)


def _takes_none(law: Raw) -> bool:
    return bool(law["kind"] == "none" or (law["kind"] == "constant" and law["value"] == 0))


def _rates(scenario: Raw) -> Array:
    """Return λ_i times the probability that owner i attends to a tick."""
    n_owners = int(scenario["owners"]["count"])
    rates = np.asarray(scenario["clock"]["rate"], dtype=float)
    listening = np.asarray(scenario["availability"].get("probability", 1.0), dtype=float)
    return np.broadcast_to(rates * listening, (n_owners,))
