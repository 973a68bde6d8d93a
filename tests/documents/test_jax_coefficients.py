"""Coefficients of jax-privacy, as the page takes them: its sensitivity and error are ours.

Needs the extra ``jax``: ``python -m pytest -m jax tests/documents``.
"""

import re
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.privacy.mechanisms import Correlation, LearnerNoise
from tests.documents.parts import ROOT
from tests.verification.test_correlated_noise import left

pytestmark = [pytest.mark.jax, pytest.mark.filterwarnings("default")]
PAGE = (ROOT / "docs" / "privacy" / "correlated-noise.md").read_text("utf-8")


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """Names of the page's snippet, after it has run."""
    [snippet] = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    names: dict[str, Any] = {}
    exec(snippet, names)
    return names


@pytest.fixture(autouse=True)
def double() -> Any:
    from jax import enable_x64

    with enable_x64(True):
        yield


def cost(column: Any) -> float:
    """Return squared sensitivity times the squared error of the last prefix sum, by the library."""
    from jax_privacy.matrix_factorization import toeplitz

    moved = toeplitz.minsep_sensitivity_squared(np.array(column), 100, 2, 200)
    return float(moved * toeplitz.per_query_error(strategy_coef=np.array(column), n=200)[-1])


@pytest.mark.parametrize("bands", [2, 10, 100])
def test_bands_sensitivity_and_error_are_those_of_the_library(bands):
    from jax_privacy.matrix_factorization import toeplitz

    ours = np.array(Correlation(bands=bands).column)
    assert ours == pytest.approx(np.array(toeplitz.optimal_max_error_strategy_coefs(bands)))
    moved = float(toeplitz.minsep_sensitivity_squared(ours, 100, 2, 200))
    assert moved == pytest.approx(2 * LearnerNoise(np.ones(1), 1, tuple(ours)).length ** 2)
    for curvature in (0.01, 0.3):
        kept = (1 - curvature) ** np.arange(200)
        error = toeplitz.per_query_error(strategy_coef=ours, n=200, workload_coef=kept)[-1]
        share = moved / 2 * float(error) / float(kept @ kept)
        assert share == pytest.approx(left(curvature, tuple(ours), 200))


def test_the_page_says_what_optimal_bands_gain():
    from jax_privacy.matrix_factorization import toeplitz

    best = toeplitz.optimize_banded_toeplitz(200, 5, max_optimizer_steps=60)
    ours = toeplitz.loss(np.array(Correlation(bands=5).column), 200)
    assert f"have {100 * (1 - float(toeplitz.loss(best, 200) / ours)):.0f} % less" in PAGE
    assert Correlation(coefficients=tuple((best / best[0]).tolist()[1:])).bands is None


def test_the_page_says_what_a_blt_costs_and_what_it_leaves(known):
    blt = np.array(known["blt"].toeplitz_coefs(200))
    root = Correlation(bands=100).column
    costs = [f"{cost(column):.1f}" for column in (blt, blt[:100], blt[:50], root)]
    told = (
        "{} of the whole matrix,\n{} of its first 100 coefficients, {} of the first 50, and {} of"
    )
    assert told.format(*costs) in PAGE
    columns = (Correlation(bands=50).column, root, tuple(known["column"]))
    for curvature in (0.01, 0.03, 0.1, 0.3):
        cells = [f"{left(curvature, column, 200):.2f}" for column in columns]
        assert f"| {curvature} | {' | '.join(cells)} |" in PAGE


def test_a_scenario_runs_with_them(known):
    result, bands = known["result"], {"correlation": {"bands": 100}}
    ours = known["ad"].run(known["scenario"].replace(privacy=bands))
    psi, by_bands = (each.summary.loc["psi_final.mean", "value"] for each in (result, ours))
    assert result.summary.loc["private", "value"]
    assert psi == pytest.approx(by_bands, rel=0.1)
