"""Figures of results that are compared, and mean differences with intervals: paired, or not."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.units import in_unit, to_units, unit_of
from asyncdp_sim.measures import Ratio
from asyncdp_sim.measures.scores import SCORES, Score
from asyncdp_sim.results import Result

LEVEL = 0.95


@dataclass(frozen=True)
class Contrast:
    """The second sample's mean less the first's.

    Attributes
    ----------
    mean : float or None
        None where a value is absent or infinite, so that there is no mean.
    low, high : float or None
        Ends of the 95 % interval; None where there is none.
    less, more : int or None
        Pairs in which the second value is the smaller, or the larger; None without pairs.
    pairs : int or None
        All pairs in which both values are known.
    """

    mean: float | None
    low: float | None
    high: float | None
    less: int | None = None
    more: int | None = None
    pairs: int | None = None


def contrast(first: Array, second: Array, *, in_pairs: bool) -> Contrast:
    """Return the contrast of two samples.

    In pairs, with differences d of R of them, d̄ ± t_{R−1} sd(d)/√R, Student's t. Of independent
    samples, with s² = sd²/R of each, ȳ − x̄ ± t_ν √(s₁² + s₂²), where Welch's
    ν = (s₁² + s₂²)²/(s₁⁴/(R₁ − 1) + s₂⁴/(R₂ − 1)). No interval where there is one value.

    Parameters
    ----------
    first, second : array (R₁,), (R₂,)
        At least one value each; NaN where one is absent.
    in_pairs : bool
        Whether values belong together, place by place: R₁ = R₂.
    """
    return _paired(first, second) if in_pairs else _unpaired(first, second)


def _paired(first: Array, second: Array) -> Contrast:
    counts = pairs(first, second)
    if not _finite(first, second):
        return Contrast(None, None, None, **counts)
    differences = second - first
    error = float(differences.std(ddof=1)) / len(first) ** 0.5 if len(first) > 1 else None
    return Contrast(*_ends(float(differences.mean()), error, len(first) - 1), **counts)


def pairs(first: Array, second: Array) -> dict[str, int]:
    """Return in how many pairs the second value is less, and more, and in how many both are known.

    By the names of a contrast's attributes.
    """
    complete = ~(np.isnan(first) | np.isnan(second))
    return {
        "less": int(np.count_nonzero(second[complete] < first[complete])),
        "more": int(np.count_nonzero(second[complete] > first[complete])),
        "pairs": int(np.count_nonzero(complete)),
    }


def _unpaired(first: Array, second: Array) -> Contrast:
    if not _finite(first, second):
        return Contrast(None, None, None)
    mean = float(second.mean() - first.mean())
    if min(len(first), len(second)) == 1:
        return Contrast(mean, None, None)
    squares = [float(sample.var(ddof=1)) / len(sample) for sample in (first, second)]
    total = sum(squares)
    if total == 0:
        return Contrast(mean, mean, mean)
    parts = (s**2 / (len(sample) - 1) for s, sample in zip(squares, (first, second), strict=True))
    return Contrast(*_ends(mean, total**0.5, total**2 / sum(parts)))


def _finite(first: Array, second: Array) -> bool:
    return bool(np.isfinite(first).all() and np.isfinite(second).all())


def _ends(
    mean: float, error: float | None, freedom: float
) -> tuple[float, float | None, float | None]:
    from scipy.special import stdtrit

    if error is None:
        return mean, None, None
    half = float(stdtrit(freedom, (1 + LEVEL) / 2)) * error
    return mean, mean - half, mean + half


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
        From a result to its values, (R,), NaN where one is absent, or to a ratio of sums over
        replicates; None where it has none.
    more_is_better : bool
        Whether the larger of two values wins, not the smaller.
    """

    name: str
    words: str
    unit: str
    of: Callable[[Result], Array | Ratio | None]
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
    named = unit_of(result.manifest["scenario"] for result in (first, second))
    for quantity in _OF_NETWORKS:
        yield replace(
            quantity, words=in_unit(quantity.words, named), unit=in_unit(quantity.unit, named)
        )


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


def _throughput(result: Result) -> Ratio | None:
    """Return the updates per time unit; None of an older result of which no end is known."""
    k, time = result.last("k", "time")
    ends = result.manifest.get("end_ticks")
    if ends is not None:
        return Ratio(k.astype(float), np.asarray(to_units(np.array(ends, dtype=np.int64))))
    return Ratio(k.astype(float), time) if (k == result.updates).all() else None


def _staleness(result: Result) -> Ratio | None:
    """Return the mean staleness of answers used; None where the updates were not kept."""
    if not result.has("updates"):
        return None
    replicate, stale = result.columns("updates", "replicate", "staleness")
    groups = [stale[replicate == r] for r in result.replicates]
    return Ratio(*np.array([(group.sum(), len(group)) for group in groups], dtype=float).T)


def _share(part: str, whole: str) -> Callable[[Result], Ratio]:
    """Return what divides the sums over owners of two columns of ``owners``."""

    def share(result: Result) -> Ratio:
        return Ratio(*(result.of_owners(n).sum(axis=1).astype(float) for n in (part, whole)))

    return share


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
    Quantity("refused", "refused share of attempts", "share", _share("refused", "attempts")),
    Quantity("collided", "collided, of answers", "share", _share("collided", "answers_released")),
    Quantity("lost", "lost, of answers", "share", _share("lost", "answers_released")),
    Quantity("epsilon_spent", "largest ε spent", "", _spent),
)
"""What does not depend on what is learned; fewer answers are better for privacy, all else equal.

A figure that has the name of a summary's is that one. Shares are of all attempts and released
answers, also of those without an end.
"""
