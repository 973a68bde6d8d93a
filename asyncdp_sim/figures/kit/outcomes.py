"""Figures of merit by which a sweep is judged, each with its 95 % interval."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import as_float, known
from asyncdp_sim.results import Result
from asyncdp_sim.scenario import Participants
from asyncdp_sim.theory.formulas.arguments import binomial_quantile, t_quantile

LEVEL = 0.95


class OutcomeEstimate(NamedTuple):
    """A value and the ends of its 95 % interval; NaN where they are not known."""

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")


def interval(summary: Mapping[str, Any], name: str) -> tuple[float, float]:
    """Return the 95 % interval that a summary gives for one of its figures; NaN without one."""
    pair = (summary.get("intervals") or {}).get(name)
    if isinstance(pair, list) and len(pair) == 2:
        low, high = (as_float(value) for value in pair)
        if low is not None and high is not None:
            return low, high
    middle, half = as_float(summary.get(name)), as_float(summary.get(f"{name}_ci95"))
    if middle is not None and half is not None:
        return middle - half, middle + half
    return float("nan"), float("nan")


def time_to_end(result: Result) -> OutcomeEstimate:
    """Return the mean time of update T, with Student's t; nothing unless all runs reach T."""
    k, time = result.last("k", "time")
    return mean_of(time) if len(k) > 0 and (k == result.updates).all() else OutcomeEstimate()


def psi_at_end(result: Result) -> OutcomeEstimate:
    """Return the median over replicates of ψ of the last model, with its exact interval.

    The interval is between order statistics: (x_(l), x_(R+1−l)) holds the median with probability
    1 − 2 P(Bin(R, 1/2) < l) ≥ 0.95, from 6 replicates on; of fewer it is their whole range.
    """
    psi = psi_of_replicates(result)
    if len(psi) == 0:
        return OutcomeEstimate()
    ordered = np.sort(psi)
    place = max(1, int(binomial_quantile((1 - LEVEL) / 2, len(ordered), 0.5)))
    middle = ordered[(len(ordered) - 1) // 2 : len(ordered) // 2 + 1].mean()
    if len(ordered) == 1:
        return OutcomeEstimate(float(middle))
    return OutcomeEstimate(float(middle), float(ordered[place - 1]), float(ordered[-place]))


def mean_psi_at_end(result: Result) -> OutcomeEstimate:
    """Return the mean over replicates of ψ of the last model, with Student's t."""
    psi = psi_of_replicates(result)
    return mean_of(psi) if len(psi) > 0 and np.isfinite(psi).all() else OutcomeEstimate(np.inf)


def psi_of_replicates(result: Result) -> Array:
    """Return ψ of the last model of every replicate, shape (R,); what has overflowed is ∞."""
    (psi,) = result.last("relative_fitness")
    return np.where(np.isnan(psi), np.inf, psi)


def updates_made(result: Result) -> OutcomeEstimate:
    """Return the mean number of updates of a replicate."""
    return OutcomeEstimate(float(result.summary["updates"]) / max(1, len(result.replicates)))


def answers_paid(result: Result) -> OutcomeEstimate:
    """Return the mean number of answers that are charged for each one that is delivered."""
    if not result.has("owners"):
        return OutcomeEstimate()
    released, collided, lost = (
        result.of_owners(name).sum(axis=1) for name in ("answers_released", "collided", "lost")
    )
    return mean_of(released / np.maximum(released - collided - lost, 1))


def of_summary(name: str) -> Callable[[Result], OutcomeEstimate]:
    """Return what reads a figure of the summary."""
    return lambda result: OutcomeEstimate(
        known(result.summary.get(name)), *interval(result.summary, name)
    )


FIGURES: dict[str, tuple[str, Callable[[Result], OutcomeEstimate]]] = {
    "updates_made": ("updates made", updates_made),
    "time_to_end": ("time to update $T$\n(units)", time_to_end),
    **{
        name: (title, of_summary(name))
        for name, title in {
            "throughput": "updates per unit",
            "fairness": "fairness (Jain)",
            "refusal_rate": "requests refused\n(share)",
            "collision_rate": "answers collided\n(share)",
            "loss_rate": "answers lost\n(share)",
            "mean_staleness": "mean staleness\n(updates)",
        }.items()
    },
    "answers_paid": ("answers paid for\nper one delivered", answers_paid),
    "psi_final_median": ("$\\psi$ at the end\n(lower is better)", psi_at_end),
}
"""By name: the text of an axis, and how values are read."""


def mean_of(values: Array) -> OutcomeEstimate:
    """Return the mean of values of replicates, shape (R,), with Student's t."""
    count, middle = len(values), float(values.mean())
    if count < 2:
        return OutcomeEstimate(middle)
    with np.errstate(over="ignore"):  # of models that diverge the interval is all numbers
        spread = float(values.std(ddof=1))
    half = t_quantile(count - 1, (1 + LEVEL) / 2) * spread / np.sqrt(count)
    return OutcomeEstimate(middle, middle - half, middle + half)


def owner_table(owners: Participants) -> Columns:
    """Return the columns that say which owner a row is of: its number, and its whole name."""
    named = {} if len(owners.names) == 0 else {"name": np.array(owners.names)}
    return {"owner": np.array(owners.numbers), **named}
