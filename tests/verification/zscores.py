"""Distance of a simulation from theory: one run is one observation.

A score compares the mean of independent runs with its exact value. Its z is the normal deviate
with the tail of Student's t with R − 1 degrees, so that scores from few and many runs compare.
The relative standard error says what a pass is worth; tests assert it too.

Scores are worked out once in a test run, also where several processes share it: the check of their
spread needs every score again, and under ``pytest -n`` may run in another process.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from scipy.special import chdtrc, ndtri, stdtr

from tests.fresh import fresh_seed

LIMIT = 4.0
"""|z| allowed with a fixed seed."""
CELL = 0.45
"""Relative error of the rarest cell's count below which a chi-square is valid: 5 expected."""


ERRORS = {"mean": 0.003, "tail": 0.01, "second": 0.03, "owners": 0.01, "pairs": CELL, "law": CELL}
"""Relative standard error allowed by kind of score."""


@dataclass(frozen=True)
class Score:
    """One comparison; ``error`` is the standard error of the mean over the exact value."""

    name: str
    mean: float
    exact: float
    z: float
    error: float


def score(name, samples, exact, scale=None):
    """Compare the mean of one value per independent run with its expectation.

    Parameters
    ----------
    name : str
    samples : array (R,)
        One value per run, R ≥ 20.
    exact : float
        Its expectation.
    scale : float, optional
        What the standard error is relative to; |exact| by default.
    """
    samples = np.asarray(samples, dtype=float)
    runs = len(samples)
    assert runs >= 20, f"{name}: {runs} runs are too few to estimate a standard error"
    mean = float(samples.mean())
    error = float(samples.std(ddof=1)) / np.sqrt(runs)
    if error > 0:
        t = (mean - exact) / error
    else:  # every run says the same
        t = 0.0 if mean == exact else float(np.copysign(np.inf, mean - exact))
    relative = error / abs(exact if scale is None else scale)
    return Score(name, mean, float(exact), deviate(t, runs), relative)


def deviate(t, runs):
    """Return the normal deviate with the tail of Student's t; or t, beyond what one can express."""
    z = -np.sign(t) * ndtri(stdtr(runs - 1, -abs(t)))
    return float(z if np.isfinite(z) else t)


def counts(name, observed, probability):
    """Compare independent draws with their probabilities by chi-square.

    z is the normal deviate with the chi-square's tail; ``error`` is that of the rarest share.
    """
    observed, probability = np.asarray(observed, float), np.asarray(probability, float)
    total = observed.sum()
    chi2 = float(np.sum((observed - total * probability) ** 2 / (total * probability)))
    freedom = len(observed) - 1
    tail = chdtrc(freedom, chi2)
    z = float(-ndtri(tail)) if tail > 0 else float((chi2 - freedom) / np.sqrt(2 * freedom))
    rarest = probability.min()
    return Score(name, chi2, freedom, z, float(np.sqrt((1 - rarest) / (rarest * total))))


told: list[Score] = []
"""What the running test has compared, for the page of the nightly run."""


def kept(scores):
    """Note scores of a sound simulator, and return them."""
    found = list(scores)
    told.extend(each for each in found if each not in told)
    return found


def require(scores, *, error):
    """Assert every |z| ≤ 4 and every relative standard error ≤ ``error``."""
    assert len(scores) > 0
    kept(scores)
    wrong = [s for s in scores if not abs(s.z) <= LIMIT]
    vague = [s for s in scores if not s.error <= error]
    assert not wrong, f"off theory: {wrong}"
    assert not vague, f"standard error above {error:.1%}: {vague}"


def require_kinds(table, **errors):
    """Assert the scores of a table by kind, to the error of each kind, or to one given."""
    for kind, scores in table.items():
        require(scores, error=(ERRORS | errors)[kind])


def numbers(name, found, mean, variance):
    """Return scores, by kind, of numbers in windows, (runs, windows): their mean and variance."""
    return {
        "mean": [score(name, found.mean(axis=1), mean)],
        "second": [score("their variance", np.mean((found - mean) ** 2, axis=1), variance)],
    }


def flat(tables):
    """Return all scores of tables by kind."""
    return [each for table in tables for kind in table.values() for each in kind]


def seen(scores):
    """Return the largest |z|; an oracle that sees a planted bug shows more than 5."""
    return max(abs(s.z) for s in scores)


def two_stages(measure):
    """Fail if a score is off at p < 1e-3 and again, on other numbers, with four times the runs.

    ``measure(seed, factor)`` returns scores from ``factor`` times the usual number of runs.
    """
    seed = fresh_seed()
    suspects = {s.name for s in kept(measure(seed, 1)) if abs(s.z) > 3.29}
    again = [s for s in measure(seed + 1, 4) if s.name in suspects] if suspects else []
    assert not [s for s in again if abs(s.z) > 3.29], f"seed {seed}: {again}"


def fresh_seeds(measure, cases, count):
    """Return the test, for the night, of each case of a module with fresh seeds."""

    @pytest.mark.nightly
    @pytest.mark.parametrize("name", cases)
    def test_fresh_seeds(name):
        def measured(seed, factor):
            found = measure(name, seed=seed, count=count * factor)
            return flat([found]) if isinstance(found, dict) else found

        two_stages(measured)

    return test_fresh_seeds


place: Path | None = None
"""Where the processes of this run leave results for each other; None where there is only one."""


def shared(function: Callable) -> Callable:
    """Remember what a function of hashable arguments returns, for all processes of this run."""

    @cache
    @wraps(function)
    def remembered(*arguments, **named):
        if place is None:
            return function(*arguments, **named)
        said = repr((function.__module__, function.__qualname__, arguments, sorted(named.items())))
        path = place / f"{sha256(said.encode()).hexdigest()[:32]}.scores"
        if path.exists():
            return pickle.loads(path.read_bytes())
        found = function(*arguments, **named)
        unfinished = path.with_suffix(f".{id(found)}.tmp")
        unfinished.write_bytes(pickle.dumps(found))
        unfinished.replace(path)
        return found

    return remembered
