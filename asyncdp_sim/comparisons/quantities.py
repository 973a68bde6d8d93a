"""Figures of a result, one per replicate: what two results are compared by."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.measures.scores import SCORES, Score
from asyncdp_sim.opened import Result

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Quantity:
    """A figure that every replicate of a result has.

    Attributes
    ----------
    name : str
        In tables and JSON.
    words : str
        On the screen, with the unit where the words do not say it.
    unit : str
        In tables and JSON; empty of a pure number.
    of : callable
        From a result to its values, (R,), NaN where one is absent; None where it has none.
    more_is_better : bool
        Whether the larger of two values wins, not the smaller.
    """

    name: str
    words: str
    unit: str
    of: Callable[[Result], Array | None]
    more_is_better: bool = False


def quantities(first: Result, second: Result) -> Iterator[Quantity]:
    """Yield what two results are compared by; errors are in the target's own unit, if it has one.

    Parameters
    ----------
    first, second : Result
        Of different units, errors have none that both know.
    """
    yield Quantity("psi_final", "ψ at the end", "", _psi)
    units = {result.manifest.get("target_unit") for result in (first, second)}
    unit = units.pop() if len(units) == 1 else None
    yield from (_of_score(score, unit or "") for score in SCORES)
    yield from _OF_NETWORKS


def _of_score(score: Score, unit: str) -> Quantity:
    column, own = f"held_out_{score.name}", unit if score.in_units else ""
    return Quantity(
        column,
        f"held-out {score.words}" + (f" ({own})" if own else ""),
        own,
        lambda result: _last(result, column),
        score.more_is_better,
    )


def _last(result: Result, column: str) -> Array | None:
    """Return a column of the curve at the last update; None where the curve has none."""
    if column not in result.names("curve"):
        return None
    return np.asarray(result.last(column)[0], dtype=float)


def _psi(result: Result) -> Array:
    """Return ψ of the last models; what has overflowed is infinite."""
    (psi,) = result.last("relative_fitness")
    return np.where(np.isnan(psi), np.inf, psi)


def _time_to_end(result: Result) -> Array:
    """Return when update T came, NaN where it did not."""
    k, time = result.last("k", "time")
    return np.where(k == result.updates, time, np.nan)


def _throughput(result: Result) -> Array:
    """Return the updates per time unit up to the last update, NaN where nothing takes time."""
    k, time = result.last("k", "time")
    return _ratio(k, time)


def _staleness(result: Result) -> Array | None:
    """Return each replicate's mean staleness; None where the updates were not kept."""
    if not result.has("updates"):
        return None
    replicate, stale = result.columns("updates", "replicate", "staleness")
    return np.array(
        [stale[replicate == r].mean() if r in replicate else np.nan for r in result.replicates]
    )


def _share(part: str, whole: str) -> Callable[[Result], Array]:
    """Return what divides the sums over owners of two columns of ``owners``."""

    def share(result: Result) -> Array:
        above, below = (result.of_owners(name).sum(axis=1) for name in (part, whole))
        return _ratio(above, below)

    return share


def _ratio(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> Array:
    """Return a ratio per replicate, NaN where there is nothing to divide by."""
    empty = np.full(len(above), np.nan)
    return np.asarray(np.divide(above, below, out=empty, where=below > 0))


def _answers(result: Result) -> Array:
    return np.asarray(result.of_owners("answers_released").sum(axis=1), dtype=float)


def _spent(result: Result) -> Array | None:
    """Return the largest ε that an owner has spent; None where nothing is hidden."""
    spent = np.asarray(result.of_owners("epsilon_spent"), dtype=float)
    return None if np.isnan(spent).any() else spent.max(axis=1)


_OF_NETWORKS = (
    Quantity("time_to_end", "time to update T (units)", "units", _time_to_end),
    Quantity(
        "throughput", "updates per unit", "updates per unit", _throughput, more_is_better=True
    ),
    Quantity("mean_staleness", "mean staleness", "updates", _staleness),
    Quantity("answers_released", "answers released", "", _answers),
    Quantity("refusal_rate", "requests refused", "share", _share("refused", "attempts")),
    Quantity("collision_rate", "answers collided", "share", _share("collided", "answers_released")),
    Quantity("loss_rate", "answers lost", "share", _share("lost", "answers_released")),
    Quantity("epsilon_spent", "most ε spent", "", _spent),
)
"""What does not depend on what is learned; fewer answers are better for privacy, all else equal."""
