"""`lending-sound` under three accountants: forecast ψ beside what is simulated, and who profits.

At night as it stands in the catalogue, at ε = 1; by default three banks of 300 records, with the ε
at which one of them profits under one accountant alone. Runs are of numbers that no forecast looks
at. What an owner has alone is worked out here, from the records and the definition of ψ.
"""

from dataclasses import dataclass
from importlib import import_module
from math import hypot

import numpy as np
import pytest

from asyncdp_sim.data import Dataset
from asyncdp_sim.forecasts.forecast import forecast
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from scenarios import entry
from tests.tables import table

from .networks import PAGES, ended, rows_of
from .test_calibration import FIRST
from .zscores import LIMIT, shared

pytestmark = pytest.mark.oracle(
    "forecast final ψ, and owners whose own model fits worse, under three accountants"
)

TABLE = table(__file__, "three_accountants.toml")
ACCOUNTANTS, SMALL, ENTRY = TABLE["accountants"], tuple(TABLE["small"]), tuple(TABLE["entry"])


@dataclass(frozen=True)
class Compared:
    """ψ at the end as forecast and as runs give it, and the owners that profit by each.

    Beside it ψ without noise, and that of each owner alone.
    """

    told: float
    mean: float
    error: float
    z: float
    told_profits: tuple[int, ...]
    profits: tuple[int, ...]
    quiet: float
    alone: tuple[float, ...]

    def row(self, accountant: str) -> str:
        """As the page has it."""
        return (
            f"| {accountant} | {self.told:.3g} | {self.mean:.3g} ± {self.error:.1g} | {self.z:.2f} "
            f"| {', '.join(map(str, self.profits)) or 'none'} | {self.quiet:.2g} |"
        )


def banks(accountant: str, settings: tuple[str, ...]) -> Scenario:
    return entry("lending-sound").scenario((*settings, *ACCOUNTANTS[accountant])).base()


@shared
def learned(accountant: str, settings: tuple[str, ...], runs: int) -> np.ndarray:
    """Return ψ at the end of so many runs, (R,)."""
    return ended(run(banks(accountant, settings), numbers=range(FIRST, FIRST + runs)))


def compared(accountant, settings, runs, told=None):
    """Hold the forecast, or that of another scenario, against runs."""
    given = banks(accountant, settings)
    found, psi = forecast(told or given), learned(accountant, settings, runs)
    each = alone(given, build_dataset(given))
    assert found.alone.tolist() == pytest.approx(each)
    mean, error = float(psi.mean()), float(psi.std(ddof=1) / runs**0.5)
    z = (mean - found.psi) / hypot(error, found.psi_half_width / 1.96)
    told_profits, profits = (
        tuple((np.flatnonzero(gains) + 1).tolist())
        for gains in (found.alone > found.psi, each > mean)
    )
    figures = (found.psi, mean, error, z, told_profits, profits)
    return Compared(*figures, found.noise_free, tuple(each.tolist()))


def alone(given: Scenario, dataset: Dataset) -> np.ndarray:
    """ψ of each owner's own optimum: how much larger the mean of (y − θᵀx)² + (σ/2)‖θ‖² is."""
    half = given.model.regularisation / 2

    def best(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.linalg.solve(x.T @ x + len(y) * half * np.eye(x.shape[1]), x.T @ y)

    every = np.concatenate(dataset.features), np.concatenate(dataset.targets)
    fitness = [
        np.mean((every[1] - every[0] @ theta) ** 2) + half * theta @ theta
        for theta in (best(*every), *map(best, dataset.features, dataset.targets))
    ]
    return np.array(fitness[1:]) / fitness[0] - 1


@shared
def small(accountant: str) -> Compared:
    return compared(accountant, SMALL, 100)


@pytest.mark.long
@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_small_banks_end_where_they_are_forecast_to(accountant):
    found = small(accountant)
    assert abs(found.z) <= LIMIT
    assert found.error < 0.07 * found.mean
    assert found.told_profits == found.profits == ((2,) if accountant == "Gaussian" else ())


@pytest.mark.long
def test_a_forecast_by_another_accountant_is_seen():
    told = banks("ε adds up", SMALL)
    assert abs(compared("losses composed", SMALL, 100, told).z) > LIMIT
    found = compared("Gaussian", SMALL, 100, told)
    assert abs(found.z) > LIMIT
    assert found.told_profits != found.profits


@pytest.mark.long
def test_a_forecast_with_a_quarter_more_noise_is_seen(monkeypatch):
    """By as many runs as a forecast makes where its first ones leave an owner undecided."""
    monkeypatch.setattr(import_module("asyncdp_sim.forecasts.population"), "RUNS", 100)
    told = banks("ε adds up", (*SMALL, "privacy.epsilon=24"))
    assert abs(compared("ε adds up", SMALL, 100, told).z) > LIMIT


@pytest.mark.nightly
@pytest.mark.parametrize("accountant", ACCOUNTANTS)
def test_banks_of_the_catalogue_end_where_they_are_forecast_to(accountant):
    """And as docs/privacy/accountants.md says."""
    found = compared(accountant, ENTRY, 200)
    row = found.row(accountant)
    print(row)
    assert abs(found.z) <= LIMIT
    assert found.error < 0.06 * found.mean
    assert found.told_profits == found.profits
    page = (PAGES / "accountants.md").read_text("utf-8")
    assert row in page
    assert "Alone the banks have {:.2g}, {:.2g} and {:.2g}.".format(*found.alone) in page


def test_the_page_has_a_row_for_each_accountant_within_the_limit():
    row = r"^\| ([^|]+) \| [\d.]+ \| [\d.]+ ± [\d.]+ \| (-?[\d.]+) \| (?:none|[\d, ]+) \| [\d.]+ \|"
    rows = rows_of("accountants", row)
    assert [name for name, _ in rows] == list(ACCOUNTANTS)
    assert all(abs(float(z)) <= LIMIT for _, z in rows)
