"""Growth of cost: the fit against its law, and the script at small sizes."""

import csv
import gc
from pathlib import Path

import numpy as np
import pytest

from analysis.growth import Growth, exponent
from scenarios import how_cost_grows

SIZES = np.geomspace(10, 1e6, 16)


def fitted(costs: np.ndarray) -> tuple[float, float]:
    found = exponent(Growth("work", SIZES, costs))
    return found.value, found.error


@pytest.mark.parametrize("power", [0.0, 1.0, 2.5])
def test_a_power_law_has_its_exponent(power: float) -> None:
    value, error = fitted(3e-6 * SIZES**power)
    assert abs(value - power) < 1e-12
    assert error < 1e-12


def test_only_the_upper_half_counts() -> None:
    costs = 1e-9 * SIZES**2
    costs[:8] = 5.0  # a cost that does not grow hides what does at small sizes
    assert abs(fitted(costs)[0] - 2) < 1e-12
    costs[7] *= 3
    assert abs(fitted(costs)[0] - 2) < 1e-12
    costs[8] *= 3
    assert abs(fitted(costs)[0] - 2) > 0.01


def test_the_standard_error_is_the_spread_of_the_fit() -> None:
    """(b̂ − b)/s has Student's law with 6 degrees of freedom: mean 0 and variance 1.5.

    Its square has variance 11.25 (fourth moment 3·6²/(4·2) = 13.5, less 1.5²), so that the mean
    of 2000 squares has standard error √(11.25/2000) = 0.075.
    """
    generator = np.random.default_rng(8)
    scores = []
    for _ in range(2000):
        value, error = fitted(SIZES * np.exp(0.1 * generator.standard_normal(len(SIZES))))
        scores.append((value - 1) / error)
    assert abs(np.mean(scores)) < 4 * np.sqrt(1.5 / 2000)
    assert abs(np.mean(np.square(scores)) - 1.5) < 4 * 0.075


def test_two_points_have_no_error_and_one_is_refused() -> None:
    few = np.array([1.0, 10.0, 100.0, 1000.0])
    found = exponent(Growth("work", few, few))
    assert np.isfinite(found.value)
    assert np.isnan(found.error)
    with pytest.raises(ValueError, match="two points"):
        exponent(Growth("work", few[:1], few[:1]))


@pytest.mark.long
def test_the_script_measures_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gc.freeze()  # else what other tests left is gone over before each of sixty measurements
    assert how_cost_grows.main([str(tmp_path), "--quick"]) == 0
    picture = tmp_path / "figures" / "how-cost-grows.png"
    assert capsys.readouterr().out.endswith(f"{picture}\n")
    assert picture.read_bytes().startswith(b"\x89PNG")
    with picture.with_suffix(".csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["size_of"] for row in rows} == {"N", "T", "p", "n"}
    for axis in how_cost_grows.AXES:
        for part in (*axis.parts, "memory"):
            of_part = [r for r in rows if (r["size_of"], r["part"]) == (axis.symbol, part)]
            assert [float(row["size"]) for row in of_part] == list(axis.quick)
            assert all(float(row["cost"]) > 0 for row in of_part)
    assert "Measured on" in (tmp_path / "figures" / "captions.md").read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written_to_is_said_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = tmp_path / "file"
    taken.write_text("")
    assert how_cost_grows.main([str(taken)]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "allowed is a place that can be written to" in line


def test_the_full_sizes_are_those_asked_for() -> None:
    ends = {axis.symbol: (axis.full[0], axis.full[-1]) for axis in how_cost_grows.AXES}
    asked = {"N": (3, 10**6), "T": (100, 10**6), "p": (2, 1000), "n": (1000, 10**7)}
    assert ends == asked
