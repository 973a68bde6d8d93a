"""Every mechanism is judged by its own density, in however many coordinates, and with faults in it.

Attacks on its answers are in :mod:`tests.conformance.test_mechanisms`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.audits.claims import owed
from asyncdp_sim.audits.per_answer import ratio
from asyncdp_sim.privacy.accountants.pairs import mu_of
from asyncdp_sim.privacy.mechanisms import Array
from asyncdp_sim.scenario import Scenario
from tests.conformance.members import said
from tests.conformance.planted import FAULTS, Planted, Quieter
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
from tests.verification.zscores import Score, require, score, seen

# The price of a shift by a mechanism's own density, and whether its answers follow that.
#
# Of noise of L2 shape few answers cost nearly as much as any, the fewer the more coordinates there
# are, and counting answers shows little of it. Its density tells at once: the most is lost along
# the line through both gradients.

ALONG = np.sort([*np.linspace(-1, 2, 29), 0.0, 1.0])
"""Answers on the line, where the first gradient is 0, and the second 1; off the edges of steps."""
LEVELS = (-0.7, -0.1, 0.3, 0.6)
"""Of what an answer may cost: losses that are told apart, none of which has a share of its own."""


@dataclass(frozen=True)
class Shift:
    """Two gradients as far apart as a record moves them, and an owner's noise on them."""

    noise: Any
    first: Array
    second: Array

    def losses(self, answers: Array) -> Array:
        """Return ln p(answer | second) − ln p(answer | first)."""
        owners = np.zeros(len(answers), dtype=np.int64)
        return ratio(self.noise, owners, answers, self.first[None], self.second[None])

    def answers(self, gradient: Array, runs: int, seed: int) -> Array:
        rows = self.noise.rows(np.random.default_rng(seed), runs, len(gradient))
        hidden = np.tile(gradient, (runs, 1))
        return np.asarray(self.noise.add_noise(np.zeros(runs, dtype=np.int64), hidden, rows))

    def on_line(self) -> Array:
        """Return answers without noise, on the grid if there is one, along the line."""
        points = self.first + ALONG[:, None] * (self.second - self.first)
        rows = np.ones((len(points), self.noise.width(len(self.first))))
        exact = self.noise if isinstance(self.noise, Planted) else Planted(self.noise)
        return np.asarray(exact.exact(np.zeros(len(points), dtype=np.int64), points, rows))

    def most(self, *, gaussian: bool) -> float:
        """Return the largest loss on the line; of Gaussian noise μ, as losses have no largest."""
        found = self.losses(self.on_line())
        if gaussian:  # they grow by μ² from the first gradient to the second
            return float(np.diff(np.interp((0, 1), ALONG, found))[0] ** 0.5)
        return float(np.abs(found).max())

    def followed(self, runs: int, cost: float) -> list[Score]:
        """Return E e^(−l/2) 1{l ≥ t} of the second, against E e^(l/2) 1{l ≥ t} of the first.

        They are equal for every t if losses l are of the answers' own law, and not if of another.
        """
        here = self.losses(self.answers(self.second, runs, 1))
        there = self.losses(self.answers(self.first, runs, 2))
        levels = [share * cost for share in LEVELS]
        return [
            score(
                f"loss ≥ {t:.3g}",
                np.where(here >= t, np.exp(-here / 2), 0.0)
                - np.where(there >= t, np.exp(there / 2), 0.0),
                0.0,
                1.0,
            )
            for t in levels
        ]


def shifts(given: Scenario, noise: Any, size: int, reach: float) -> list[Shift]:
    """Return shifts of a length along one coordinate, and along all of them."""
    order = 1 if given.privacy.norm == "l1" else 2
    every = np.ones(size) / np.linalg.norm(np.ones(size), ord=order)
    start = np.cos(np.arange(1.0, size + 1)) / size
    return [Shift(noise, start, start + reach * each) for each in (np.eye(1, size)[0], every)]


def claimed(given: Scenario) -> tuple[float, bool]:
    """Return ε that one answer may cost, or μ where the claim is Gaussian, and which it is."""
    claim = owed(given)[0].of_one()
    return (mu_of(claim.epsilon, claim.delta) if claim.gaussian else claim.epsilon), claim.gaussian


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
