"""Checks of an audit: the claim of one attack, its result, and both in words.

An attack is a lower bound on ε from scores that an attacker gives to runs on two neighbouring
datasets. Under (ε, δ)-differential privacy every event E has P(E) ≤ e^ε P'(E) + δ, both ways round.
An event is chosen on one half of the runs, and its two probabilities are bounded by Clopper and
Pearson's exact limits on the other half: that choice costs no confidence.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.words import number
from asyncdp_sim.privacy.pairs import epsilon_of, mu_of, of_gaussian, of_pure

Pair = tuple[Array, Array]
"""Scores of runs on the first and on the second of two neighbouring datasets."""
_LEVELS = 400
"""Thresholds that are tried, at so many quantiles of the scores."""
_ROUNDING = 1e-9
"""Relative: scores that differ by less are taken for the same, for an event takes all or none."""


@dataclass(frozen=True)
class Claim:
    """A claim that is attacked.

    Attributes
    ----------
    epsilon, delta : float
        The claim; δ = 0 is pure.
    gaussian : bool
        Whether the claim is that of Gaussian noise. Then all its (ε, δ) follow from one number
        μ = 1/z, and what an event shows of μ, Φ⁻¹(p) − Φ⁻¹(q), says more at a small δ than
        ln((p − δ)/q) does.
    """

    epsilon: float
    delta: float = 0.0
    gaussian: bool = False

    def __str__(self) -> str:
        """Return its ε, and its δ where there is one."""
        return f"{number(self.epsilon)}{f', δ = {self.delta:g}' if self.delta > 0 else ''}"

    def shown(self, likely: Array, unlikely: Array) -> Array:
        """Return what two probabilities show, at least 0: ε, or μ of a Gaussian claim."""
        if self.gaussian:
            from scipy.special import ndtri

            return np.asarray(np.maximum(ndtri(likely) - ndtri(unlikely), 0.0))
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(np.maximum(likely - self.delta, 0.0) / unlikely), 0.0)

    def most_true(self, false_positives: float) -> float:
        """Return the largest true-positive rate that the claim allows at a false-positive one."""
        if false_positives <= 0 or false_positives >= 1:
            return 1.0 if false_positives >= 1 else self.delta
        if self.gaussian:
            mu = np.array(mu_of(self.epsilon, self.delta))
            return float(of_gaussian(mu, false_positives).power)
        return float(of_pure(np.array(self.epsilon), self.delta, false_positives).power)

    def stated(self, shown: float) -> float:
        """Return the ε at δ that what is shown amounts to."""
        if not self.gaussian:
            return shown
        return epsilon_of(shown, self.delta)


@dataclass(frozen=True)
class Event:
    """Scores of one kind on one side of a threshold.

    Attributes
    ----------
    score : str
        Its name.
    threshold : float
    above : bool
        Whether scores at least as large, or at most as large, are in the event.
    second : bool
        Whether it is the second dataset that makes it likely, or the first.
    """

    score: str
    threshold: float
    above: bool
    second: bool

    def count(self, scores: Array) -> int:
        """Return how many runs are in the event."""
        inside = scores >= self.threshold if self.above else scores <= self.threshold
        return int(np.count_nonzero(inside))


@dataclass(frozen=True)
class Finding:
    """The outcome of an attack.

    Attributes
    ----------
    epsilon : float
        With the confidence asked for, ε is at least this; 0 shows nothing.
    event : Event
    likely, unlikely : float
        Share of the measured runs that are in the event, on the dataset that makes it likely and
        on the other one.
    rightly, falsely : float
        With the same confidence, a test that raises an alarm when the event happens has at least
        this true-positive rate and at most this false-alarm rate: a point under the trade-off
        curve.
    """

    epsilon: float
    event: Event
    likely: float
    unlikely: float
    rightly: float = 0.0
    falsely: float = 1.0


def least_probability(count: npt.ArrayLike, runs: int, doubt: float) -> Array:
    """Return a lower limit of a probability, which is missed with probability ≤ ``doubt``.

    Parameters
    ----------
    count : array of int
        Successes, 0…runs.
    runs : int
        ≥ 1.
    doubt : float
        In (0, 1).

    References
    ----------
    Clopper and Pearson (1934), The use of confidence or fiducial limits.
    """
    from scipy.special import betaincinv

    k = np.asarray(count, dtype=float)
    return np.where(k > 0, betaincinv(np.maximum(k, 1), runs - k + 1, doubt), 0.0)


def greatest_probability(count: npt.ArrayLike, runs: int, doubt: float) -> Array:
    """Return an upper limit of a probability; see :func:`least_probability`."""
    from scipy.special import betaincinv

    k = np.asarray(count, dtype=float)
    return np.where(k < runs, betaincinv(k + 1, np.maximum(runs - k, 1), 1 - doubt), 1.0)


def attack(scores: Mapping[str, Pair], claim: Claim, doubt: float) -> Finding:
    """Return the lower bound on ε of the event that separates two datasets best.

    Parameters
    ----------
    scores : mapping
        By name, numbers that runs were given; +∞ and −∞ are allowed. Every other run is for the
        choice of the event, the rest for its measurement.
    claim : Claim
    doubt : float
        In (0, 1); 1 − doubt is the confidence.
    """
    chosen = [
        _best(name, (first[::2], second[::2]), claim, doubt)
        for name, (first, second) in scores.items()
    ]
    _, event = max(chosen, key=lambda found: found[0])
    first, second = (side[1::2] for side in scores[event.score])
    likely, unlikely = (second, first) if event.second else (first, second)
    counts = event.count(likely), event.count(unlikely)
    runs = len(likely), len(unlikely)
    limits = _limits(*counts, runs, doubt)
    shares = counts[0] / runs[0], counts[1] / runs[1]
    return Finding(claim.stated(float(claim.shown(*limits))), event, *shares, *map(float, limits))


def most_shown(claim: Claim, runs: int, doubt: float) -> float:
    """Return the largest ε that this number of runs can measure, if the test makes no error."""
    measured = runs // 2
    limits = _limits(measured, 0, (measured, measured), doubt)
    return claim.stated(float(claim.shown(*limits)))


def _best(name: str, pair: Pair, claim: Claim, doubt: float) -> tuple[float, Event]:
    """Return the best event of one kind of score, and what it shows on these runs."""
    events = []
    every, ordered = np.concatenate(pair), [np.sort(scores) for scores in pair]
    tail = np.geomspace(1 / len(every), 0.5, _LEVELS // 2)
    levels = np.concatenate([tail, 1 - tail])  # denser in the tails
    values = np.unique(np.quantile(every, levels, method="nearest"))
    slack = _ROUNDING * np.abs(np.where(np.isfinite(values), values, 0.0))
    for above in (True, False):
        thresholds = values - slack if above else values + slack  # to the generous side
        inside = [_inside(scores, thresholds, above) for scores in ordered]
        for second in (True, False):
            a, b = (1, 0) if second else (0, 1)
            runs = len(pair[a]), len(pair[b])
            shown = claim.shown(*_limits(inside[a], inside[b], runs, doubt))
            at = int(np.argmax(shown))
            events.append((float(shown[at]), Event(name, float(thresholds[at]), above, second)))
    return max(events, key=lambda each: each[0])


def _limits(
    likely: npt.ArrayLike, unlikely: npt.ArrayLike, runs: tuple[int, int], doubt: float
) -> tuple[Array, Array]:
    """Return the least p and the greatest q that counts in two lots of runs leave possible."""
    low = least_probability(likely, runs[0], doubt / 2)
    return low, greatest_probability(unlikely, runs[1], doubt / 2)


def _inside(ordered: Array, thresholds: Array, above: bool) -> Ints:
    """Return how many of the scores, in order, are in the event of each threshold."""
    if above:
        return len(ordered) - np.searchsorted(ordered, thresholds, side="left")
    return np.searchsorted(ordered, thresholds, side="right")


COLUMNS: dict[str, dict[str, str]] = tomllib.loads(
    files(__package__).joinpath("columns.toml").read_text("utf-8")
)
"""Columns of an audit's frame, with unit and meaning."""


def verdict(exceeded: bool) -> str:
    """Return what was found of a claim."""
    return "EXCEEDED" if exceeded else "not exceeded"


@dataclass(frozen=True)
class Check:
    """One attack on a scenario.

    Attributes
    ----------
    what : str
        What was attacked.
    owner : int
        Whose record, from 1.
    claim : Claim
    finding : Finding
    runs : int
        Runs on each of the two datasets.
    most : float
        The largest ε that this number of runs can measure.
    unit : str
        What differs: a record of the owner, or the owner.
    """

    what: str
    owner: int
    claim: Claim
    finding: Finding
    runs: int
    most: float
    unit: str = "record"

    @property
    def epsilon(self) -> float:
        """The lower bound on ε."""
        return self.finding.epsilon

    @property
    def exceeded(self) -> bool:
        """Whether more was shown than is claimed."""
        return self.epsilon > self.claim.epsilon

    def describe(self) -> str:
        """Return the result in one line."""
        claim, finding = self.claim, self.finding
        result = verdict(self.exceeded)
        if self.most <= claim.epsilon:
            most = f"{self.runs} can measure at most ε = {number(self.most)}"
            result = f"undecided: too few runs, {most}"
        return (
            f"{self.what} of owner {self.owner}: measured ε ≥ {number(finding.epsilon)}, "
            f"stated {claim}: {result} ({self._event()})"
        )

    def row(self) -> dict[str, object]:
        """Return the result by column names."""
        return {
            "what": self.what,
            "owner": self.owner,
            "epsilon_shown": self.finding.epsilon,
            "epsilon_claimed": self.claim.epsilon,
            "delta": self.claim.delta,
            "epsilon_most": self.most,
            "runs": self.runs,
            "exceeded": self.exceeded,
        }

    def cells(self) -> tuple[str, ...]:
        """Return the result as cells of a table: attack, measured and stated ε, verdict."""
        figures = (self.finding.epsilon, self.claim.epsilon)
        return (f"{self.what} of owner {self.owner}", *map(number, figures), verdict(self.exceeded))

    def beside(self) -> str:
        """Return the measured point under the trade-off curve, and what the claim allows."""
        finding = self.finding
        most_allowed = self.claim.most_true(finding.falsely)
        return (
            f"{self.what} of owner {self.owner}: this test detects one {self.unit} at a rate ≥ "
            f"{finding.rightly:.3g}, with a false-alarm rate ≤ {finding.falsely:.3g}; the stated ε "
            f"allows ≤ {most_allowed:.3g}"
        )

    def _event(self) -> str:
        event, finding = self.finding.event, self.finding
        if finding.epsilon == 0:
            return f"no test separates the {self.runs:,} runs on each side"
        side = "≥" if event.above else "≤"
        return (
            f"the test '{event.score} {side} {number(event.threshold)}' is right in "
            f"{number(100 * finding.likely)} % of {self.runs:,} runs with one dataset, and wrong "
            f"in {number(100 * finding.unlikely)} % of {self.runs:,} runs with the other"
        )


@dataclass(frozen=True)
class Fact:
    """Something that is so or is not, whatever is drawn; it takes no confidence.

    Attributes
    ----------
    said : str
        What was found.
    refutes : bool
        Whether it refutes the stated ε: no claim can rest on it.
    """

    said: str
    refutes: bool = field(kw_only=True)

    def describe(self) -> str:
        """Return what was found, in one line."""
        return f"{self.said}: {self._verdict()}"

    def row(self) -> dict[str, object]:
        """Return what was found, by columns; it has no figures."""
        return {"what": self.said, "exceeded": self.refutes}

    def cells(self) -> tuple[str, ...]:
        """Return what was found, as cells of a table."""
        return (self.said, "–", "–", self._verdict())

    def _verdict(self) -> str:
        return "REFUTED" if self.refutes else "not refuted"
