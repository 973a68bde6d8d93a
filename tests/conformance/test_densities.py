"""Every mechanism is judged by its own density, in however many coordinates, and with faults in it.

Attacks on its answers are in :mod:`tests.conformance.test_mechanisms`.
"""

from typing import Any

import pytest

from asyncdp_sim.scenario import Scenario
from tests.conformance.densities import claimed, shifts
from tests.conformance.members import said
from tests.conformance.planted import FAULTS, Quieter
from tests.conformance.test_mechanisms import (
    CHARGES,
    NOISY,
    RECORDS,
    RUNS,
    SIZE,
    SPHERICAL,
    ready,
    scenario,
)
from tests.one_in import one_in
from tests.together import together
from tests.verification.zscores import Score, require, seen

LINED = 0.99
"""Of what an answer may cost, what the density has to lose on the line at least: a grid takes some.
"""


def judged(given: Scenario, noise: Any, runs: int = RUNS) -> tuple[float, list[Score]]:
    """What the density loses at most, over what it may; and whether answers follow it."""
    each = shifts(given, noise, SIZE, 2 * 1.0 / RECORDS[0])
    may, gaussian = claimed(given)
    most = max(shift.most(gaussian=gaussian) for shift in each)
    return most / may, [found for shift in each for found in shift.followed(runs, may)]


@one_in(2, "epsilon", CHARGES)
@pytest.mark.parametrize("mechanism", [*NOISY, SPHERICAL], ids=said)
def test_a_density_loses_what_is_claimed_and_answers_follow_it(mechanism, epsilon):
    """Whatever the shape of the noise, and in however many coordinates."""
    given = scenario(mechanism, epsilon)
    most, followed = judged(given, ready(given).noise)
    assert LINED < most <= 1 + 1e-6
    require(followed, error=0.01)


@together
@pytest.mark.parametrize("fault", [*FAULTS, "quieter than it says"])
@pytest.mark.parametrize("mechanism", [*NOISY, SPHERICAL], ids=said)
def test_a_fault_is_seen_in_the_density_or_against_it(mechanism, fault):
    given = scenario(mechanism)
    wrong = (FAULTS | {"quieter than it says": Quieter})[fault](ready(given).noise)
    most, followed = judged(given, wrong, RUNS // 6)
    assert most > 1.1 or seen(followed) > 5
