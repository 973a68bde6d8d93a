"""The gain of an owner and of all, its interval, and the verdict on it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil, inf, isfinite, nan, sqrt
from typing import Any, Literal

import numpy as np

from asyncdp_sim.core.arrays import Array, Ints

MATERIAL = 0.05
"""Share of the own error from which on a gain is material, unless the owner says otherwise."""
ROUNDING = 1e-9
"""Share of the own error below which a difference is none."""
OwnBest = Literal["any", "linear"]
"""Which own models compete: all, or those without boosting."""
HALVES = 8
"""Halves of public rows that :func:`over_halves` is of."""


@dataclass(frozen=True)
class Judging:
    """Options of judging gains.

    Attributes
    ----------
    material : float
        Share of the own error, > 0, from which on a gain counts.
    own_best : str
        "linear" leaves boosting out of own models.
    """

    material: float = MATERIAL
    own_best: OwnBest = "any"


class Verdict(StrEnum):
    """Verdict on a gain; exactly one holds."""

    GAINS = "gains"
    WORSE = "does worse"
    NO_DIFFERENCE = "no material difference"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval.

    Attributes
    ----------
    value : float
        In the unit of the error.
    parts : tuple of (float, float)
        Variances that add up to that of the value, each with its degrees of freedom.
    """

    value: float
    parts: tuple[tuple[float, float], ...] = ()

    @property
    def variance(self) -> float:
        """The sum of its parts."""
        return sum(variance for variance, _ in self.parts)

    @property
    def half_width(self) -> float:
        """Half of the interval: t · √Σ v, of (Σ v)² / Σ (v²/f) degrees (Satterthwaite).

        Infinite where a part has no degree of freedom: nothing is known of it then.
        """
        from scipy.special import stdtrit  # scipy.stats takes a second to import

        total = self.variance
        if any(not (degrees > 0 and isfinite(v)) for v, degrees in self.parts):
            return inf
        if total == 0:
            return 0.0
        degrees = 1 / sum((v / total) ** 2 / degrees for v, degrees in self.parts)
        return float(stdtrit(degrees, 0.975)) * sqrt(total)

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.value - self.half_width if isfinite(self.value) else self.value

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.value + self.half_width if isfinite(self.value) else self.value

    def content(self) -> dict[str, float]:
        """Return the value, as ``gain``, and the ends of its interval."""
        return {"gain": self.value, "low": self.low, "high": self.high}


def verdict_of(gain: Estimate, material: float, *, better_than_guessing: bool) -> Verdict:
    """Return the verdict on a gain.

    Parameters
    ----------
    gain : Estimate
    material : float
        Smallest gain that the owner calls material, > 0, in the unit of the error.
    better_than_guessing : bool
        Whether the joint model or the adapted one errs less than one guess for all cases. If not,
        no verdict is "gains".
    """
    if np.isnan(gain.value):
        return Verdict.UNDECIDED
    if gain.low > 0 and gain.value >= material:
        return Verdict.GAINS if better_than_guessing else Verdict.UNDECIDED
    if gain.high < 0 and gain.value <= -material:
        return Verdict.WORSE
    if -material <= gain.low and gain.high <= material:
        return Verdict.NO_DIFFERENCE
    return Verdict.UNDECIDED


@dataclass(frozen=True, eq=False)
class Gain:
    """The gain of one owner; by default what is known without rows to train or judge on: nothing.

    Attributes
    ----------
    rows : int
        Rows of the owner that are trained on, all of them in turn where folds are judged.
    records : int
        n_i, which the mean by records weighs.
    own, joint, adapted, guessing : float
        Mean errors: of the best own model, of the joint model as it is, of the better use of it,
        and of one guess for all cases.
    own_best : str
        The own model that was best most often: "constant", "linear" or "boosting".
    gain, joint_gain : Estimate
        ``own`` − ``adapted``, and ``own`` − ``joint``.
    of_rows : float
        Variance of ``gain`` by the rows that were scored and trained on.
    degrees : float
        Its degrees of freedom.
    by_run : array (J,)
        The gain under each joint model.
    redraw : array (J,) or None
        Which redraw of the others' rows each joint model learned from; None where it is one.
    material : float
        Smallest gain that counts, in the unit of the error.
    rarer : int
        Judged persons with a row of another class than the owner's commonest; of numbers all.
    """

    rows: int
    records: int
    own: float = nan
    joint: float = nan
    adapted: float = nan
    guessing: float = nan
    own_best: str = "constant"
    gain: Estimate = Estimate(nan)
    joint_gain: Estimate = Estimate(nan)
    of_rows: float = 0.0
    degrees: float = inf
    by_run: Array = field(default_factory=lambda: np.zeros(0))
    redraw: Ints | None = None
    material: float = nan
    rarer: int = 0

    @property
    def better_than_guessing(self) -> bool:
        """Whether the joint model, as it is or adapted, errs less than guessing."""
        return min(self.joint, self.adapted) < self.guessing

    @property
    def verdict(self) -> Verdict:
        """The verdict on the gain."""
        return verdict_of(self.gain, self.material, better_than_guessing=self.better_than_guessing)

    @property
    def better_in(self) -> int:
        """The number of runs in which it gains more than rounding."""
        return int(np.count_nonzero(self.by_run > ROUNDING * self.own))

    def content(self) -> dict[str, Any]:
        """Return what tables, manifests and JSON say of an owner's gain, by its name there."""
        joint = self.joint_gain
        return {
            "records": self.records,
            "own": self.own,
            "own_best": self.own_best,
            "joint": self.joint,
            "adapted": self.adapted,
            "guessing": self.guessing,
            **self.gain.content(),
            "joint_gain": joint.value,
            "joint_gain_low": joint.low,
            "joint_gain_high": joint.high,
            "verdict": str(self.verdict),
            "rows_to_decide": self.rows_to_decide,
        }

    @property
    def rows_to_decide(self) -> int | None:
        """The number of training rows with which a verdict other than "undecided" is expected.

        The rows that judge grow in proportion. The half width shrinks with 1/√rows, down to the
        part that the runs leave. None where there is a verdict, or where more rows bring none.
        """
        half = self.gain.half_width
        if self.verdict is not Verdict.UNDECIDED or not 0 < half < inf:
            return None
        size = abs(self.gain.value)
        needed = size if size >= self.material else self.material - size
        left = self.gain.variance - self.of_rows
        room = (needed / half) ** 2 * self.gain.variance - left
        if needed <= 0 or room <= 0 or needed >= half:
            return None
        return ceil(self.rows * self.of_rows / room)


@dataclass(frozen=True)
class Consortium:
    """The gain of all: the mean over owners, every owner counting once.

    Attributes
    ----------
    gain, by_records : Estimate
        The mean over owners, and the mean in which every record counts once.
    verdict, verdict_by_records : Verdict
    owners : int
        How many owners it is of: those that have rows to be judged on.
    """

    gain: Estimate
    by_records: Estimate
    verdict: Verdict
    verdict_by_records: Verdict
    owners: int

    def content(self) -> dict[str, Any]:
        """Return what manifests and JSON say of a mean gain, by its name there."""
        by_records = self.by_records.content() | {"verdict": str(self.verdict_by_records)}
        return {**self.gain.content(), "by_records": by_records, "verdict": str(self.verdict)}


def consortium(gains: Sequence[Gain]) -> Consortium | None:
    """Return the mean gain of owners that were judged with the same joint models.

    A run's noise is common to all owners, so that its part of the variance is that of the mean over
    owners, run by run; rows are not common, and their variances add up. None where no owner has a
    gain.
    """
    known = [gain for gain in gains if not np.isnan(gain.gain.value)]
    if len(known) == 0:
        return None
    once = np.full(len(known), 1 / len(known))
    records = np.array([gain.records for gain in known], dtype=float)
    shares = (once, records / records.sum())
    (mean, verdict), (weighted, other) = (_weighted(known, share) for share in shares)
    return Consortium(mean, weighted, verdict, other, len(known))


def _weighted(gains: Sequence[Gain], share: Array) -> tuple[Estimate, Verdict]:
    """Return a weighted mean, and the verdict on it."""
    rows = np.array([gain.of_rows for gain in gains]) * share**2
    degrees = np.array([gain.degrees for gain in gains])
    total = float(rows.sum())
    pooled = 1 / float(np.sum((rows / total) ** 2 / degrees)) if 0 < total < inf else inf
    by_run = share @ np.stack([gain.by_run for gain in gains])
    runs = of_runs(by_run, gains[0].redraw)
    parts = (*(((total, pooled),) if total > 0 else ()), *runs, *of_unseen(gains))
    value = float(share @ np.array([gain.gain.value for gain in gains]))
    means = {
        name: float(share @ np.array([getattr(gain, name) for gain in gains]))
        for name in ("joint", "adapted", "guessing", "material")
    }
    better = min(means["joint"], means["adapted"]) < means["guessing"]
    estimate = Estimate(value, parts)
    return estimate, verdict_of(estimate, means["material"], better_than_guessing=better)


def of_runs(by_run: Array, redraw: Ints | None) -> tuple[tuple[float, float], ...]:
    """Return the variance that joint models leave in a mean over them, and its degrees of freedom.

    Of J runs with the others' own rows it is var/J. Where the others' rows were redrawn, they
    themselves are one more draw: var · (1 + 1/redraws) of the means of redraws. One joint model
    shows no variance: nothing is returned for a single run, and no degree of freedom for a single
    redraw, which makes the interval infinite.
    """
    if redraw is None:
        if len(by_run) < 2 or not np.isfinite(by_run).all():
            return ()
        return ((_variance(by_run) / len(by_run), len(by_run) - 1.0),)
    means = np.array([by_run[redraw == number].mean() for number in np.unique(redraw)])
    if len(means) < 2:
        return ((0.0, 0.0),)
    return ((_variance(means) * (1 + 1 / len(means)), len(means) - 1.0),)


def of_unseen(gains: Sequence[Gain]) -> tuple[tuple[float, float], ...]:
    """Return a variance without a degree of freedom if all judged rows but one are of one class.

    They show nothing of the other classes. Nothing is returned otherwise.
    """
    return ((0.0, 0.0),) if sum(gain.rarer for gain in gains) < 2 else ()


def _variance(values: Array) -> float:
    """Return the sample variance; infinite where squares are no numbers, of models that diverge."""
    with np.errstate(over="ignore", invalid="ignore"):
        variance = float(np.var(values, ddof=1))
    return inf if np.isnan(variance) else variance


def over_halves(means: Sequence[float]) -> Estimate:
    """Return the mean gain over random halves of the public rows: ± t₇ · sd · √(1 + 1/8).

    The private rows of owners are one more draw, in addition to the halves, which share rows.

    Parameters
    ----------
    means : sequence of float
        The mean gain over owners in each half, at least two; :data:`HALVES` by plan.
    """
    variance = _variance(np.array(means)) * (1 + 1 / len(means))
    return Estimate(float(np.mean(means)), ((variance, len(means) - 1.0),))


@dataclass(frozen=True)
class BreakEven:
    """The budget from which on an owner, or the mean owner, gains.

    Attributes
    ----------
    low : float
        Largest budget below it that was tried; 0 where the smallest suffices.
    value : float
        Where the lower end of the interval, and the gain above what is material, have both become
        positive: linear between budgets in 1/ε.
    high : float
        Smallest budget that was tried from which on the verdict is "gains".
    """

    low: float
    value: float
    high: float


def break_even(
    budgets: Sequence[float], gains: Sequence[Gain | Consortium | None], material: Sequence[float]
) -> BreakEven | None:
    """Return the smallest ε from which on the verdict is "gains"; None where there is none.

    It is also None where a single budget was tried, or where some gain is not known.

    Parameters
    ----------
    budgets : sequence of float
        ε > 0, ascending.
    gains, material : sequence
        At each budget.
    """
    known = [gain for gain in gains if gain is not None]
    first = len(budgets)
    if first < 2 or len(known) < len(gains):
        return None
    while first > 0 and known[first - 1].verdict is Verdict.GAINS:
        first -= 1
    if first == len(budgets):
        return None
    if first == 0:
        return BreakEven(0.0, budgets[0], budgets[0])
    low, high = budgets[first - 1], budgets[first]

    def over(at: int) -> float:
        return min(known[at].gain.low, known[at].gain.value - material[at])

    before, after = over(first - 1), over(first)
    share = 1.0 if not isfinite(before) or before >= 0 else before / (before - after)
    value = 1 / (1 / low + share * (1 / high - 1 / low))
    return BreakEven(low, value, high)


def of_rows(differences: Array, persons: Ints, overlap: float) -> tuple[float, float]:
    """Return the variance of a mean of paired differences, and its degrees of freedom.

    Rows of one person count together: Σ_g e_g² · G/(G − 1)/n², e_g the sum of a person's rows'
    distances from the mean, G the number of persons. ``overlap`` is by how much more the mean
    varies because training sets overlap (Nadeau and Bengio, "Inference for the generalization
    error", Machine Learning 52 (2003)).

    Parameters
    ----------
    differences : array (n,)
    persons : array (n,)
        From 0.
    overlap : float
        ≥ 1.
    """
    names, whose = np.unique(persons, return_inverse=True)
    away, groups = np.bincount(whose, weights=differences - differences.mean()), len(names)
    if groups < 2:
        return inf, 0.0
    with np.errstate(over="ignore"):  # of a model that diverged nothing is known
        variance = float(np.sum(away**2)) * groups / (groups - 1) / len(differences) ** 2
    return variance * overlap, groups - 1.0


def of_choices(gains: Array) -> float:
    """Return the variance of a gain that is left by the choice of models.

    Folds of nearly the same rows choose nearly the same models, so that their differences do not
    show what other rows would choose: an adapted model that is the own one in each fold has a gain
    of exactly 0 in all of them.

    Parameters
    ----------
    gains : array (B,)
        The gain of the models that the rows choose, and of those that other weights of them choose.
    """
    return _variance(gains) if len(gains) > 1 else 0.0


Score = Literal["absolute error", "log loss"]
"""What errors are measured by."""
