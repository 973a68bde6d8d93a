"""Moments with clipped gradients against simulation: how far they are off, as they say."""

import numpy as np
import pytest

from asyncdp_sim.forecasts.advice.coalitions import clipped_course
from asyncdp_sim.forecasts.advice.contest import Played, ends
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.moments.clipped import ClippedCourse
from tests.unit.forecasts.banks import banks

pytestmark = pytest.mark.oracle(
    "E ψ with clipped gradients",
    "moments that take gradients as linear between their clipped ends, within 6 %",
    source="asyncdp_sim.theory.moments.clipped",
    setting="async-gossip, three owners alike; half to nine in ten of all gradients clipped",
    kinds="Clip",
    basis="approximation",
)

HALF, MOST = 2.5, 0.3
"""Clipping bounds under which about half, and nine in ten, of all gradients are at the optimum."""
OFF = 0.06


def known(bound, rho, epsilon, updates=60):
    raw = banks((800, 800, 800), (epsilon,) * 3, updates, rho)
    raw["privacy"]["sensitivity"] = {"kind": "clip", "bound": bound}
    return population(Scenario.model_validate(raw), "own", private=False)


def estimate(population, rho, course=None):
    """Return E ψ by moments."""
    found = clipped_course(population) if course is None else course
    noise = population.problem.task.reply.noise.variance.mean()
    updates = population.scenario.run.updates
    return float(found.expected_psi(np.array([rho]), np.array([3]), updates, np.array([noise]))[0])


def share_clipped(population):
    """Return the share of records whose gradients at the optimum are longer than the bound."""
    rows, optimum = population.problem.records, population.objective.optimum
    slopes = np.concatenate(
        [2 * np.abs(x @ optimum - y) * size for x, y, size in
         zip(rows.features, rows.targets, rows.lengths, strict=True)]
    )  # fmt: skip
    return float(np.mean(slopes > rows.clip))


@pytest.mark.parametrize("bound", [HALF, MOST])
def test_the_shares_are_as_said(bound):
    assert share_clipped(known(bound, 30.0, 1.0)) == pytest.approx(
        {HALF: 0.5, MOST: 0.9}[bound], abs=0.06
    )


@pytest.mark.parametrize(
    ("bound", "rho", "epsilon"),
    [(HALF, 100.0, 3.0), (HALF, 200.0, 3.0), (HALF, 200.0, 1.0), (MOST, 1500.0, 0.5)],
)
def test_they_are_as_near_as_they_say(bound, rho, epsilon):
    case = known(bound, rho, epsilon)
    runs = Played(ends(case.scenario, range(1, 201), dataset=case.dataset))
    assert runs.half_width < 0.2 * runs.psi
    assert abs(estimate(case, rho) / runs.psi - 1) < OFF + runs.half_width / runs.psi


@pytest.mark.no_evidence
def test_moments_that_take_clipping_as_inactive_are_seen():
    case = known(HALF, 200.0, 3.0)
    runs = Played(ends(case.scenario, range(1, 101), dataset=case.dataset))
    rows = case.problem.records
    inactive = ClippedCourse.of(case.objective, type(rows)(rows.features, rows.targets))
    assert abs(estimate(case, 200.0, inactive) / runs.psi - 1) > 5 * OFF
