"""Forecasts of random scenarios against runs of them: what is exact is, and ± covers."""

from collections import defaultdict
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from .calibration import KINDS, check, scenarios

pytestmark = pytest.mark.no_evidence

SEED = 20_261
WIDEST = {"by default": 0.25, "by exact moments": 0.1}
"""Half-widths over what runs gave that the median of a mode's intervals may have at most."""


def summary(found):
    """Return the figures of all checks, and print them one by one."""
    for each in found:
        print(each.describe())
    told = [f"{len(random(found))} exact: RMS z {rms(found):.3f}"] if len(random(found)) > 0 else []
    wide = defaultdict(list)
    for each in found:
        if not each.exact:
            wide[each.mode].append(each)
    for mode, some in wide.items():
        share, width = np.mean([e.covered for e in some]), np.median([e.width for e in some])
        told.append(f"{mode}: {share:.1%} of {len(some)} covered, median ± {width:.1%}")
    print("\n".join(told))
    return told


def random(found):
    """Return what is exact, of figures that differ from run to run."""
    return [each for each in found if each.exact and each.error > 0]


def rms(found):
    return float(np.sqrt(np.mean([each.z**2 for each in random(found)])))


def exact_ones_hold(found):
    assert [each.describe() for each in found if each.exact and not abs(each.z) <= 4] == []


def intervals_cover(found):
    inexact = [each for each in found if not each.exact]
    covered = sum(each.covered for each in inexact)
    assert covered >= binom.ppf(0.01, len(inexact), 0.95), summary(inexact)


def test_every_algorithm_can_be_drawn():
    drawn = [each.algorithm.kind for each in scenarios(SEED, 2 * len(KINDS))]
    assert drawn == 2 * [algorithm for _, algorithm in KINDS]


@cache
def eight():
    return [
        each
        for number, given in enumerate(scenarios(SEED, 8), start=1)
        for each in check(given, number, error=0.03, pilot=100)
    ]


@pytest.mark.long
def test_eight_small_forecasts():
    assert len(eight()) >= 16
    assert len(random(eight())) >= 2
    exact_ones_hold(eight())
    intervals_cover(eight())


@pytest.mark.long
def test_forecasts_that_are_off_are_seen():
    """Planted: 15 % too low where they are exact."""

    def wrong(each):
        value = 0.85 * each.claim.value
        return replace(each, z=(each.mean - value) / each.error)

    with pytest.raises(AssertionError):
        exact_ones_hold([wrong(each) for each in random(eight())])


@pytest.mark.nightly
def test_sixty_scenarios():
    """Every scenario, and the same under three other seeds: other records and networks."""
    print(f"seed {SEED}")
    found = []
    for number, given in enumerate(scenarios(SEED, 60), start=1):
        for again in range(4):
            seed = given.run.seed + 1000 * again
            moved = given.model_copy(update={"run": given.run.model_copy(update={"seed": seed})})
            found += check(moved, number)
    summary(found)
    assert len(random(found)) >= 60
    assert max(each.error / abs(each.claim.value) for each in random(found)) <= 0.01
    exact_ones_hold(found)
    assert 0.80 <= rms(found) <= 1.25
    assert sum(not each.exact for each in found) >= 300
    intervals_cover(found)
    for mode, most in WIDEST.items():
        widths = [each.width for each in found if each.mode == mode and not each.exact]
        assert np.median(widths) <= most, mode
