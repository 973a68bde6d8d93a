"""Mean ψ against ε for several ways to hide records: what is drawn, and when nothing is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures.break_even import WAYS as FIGURE
from asyncdp_sim.figures.break_even import select_ways
from asyncdp_sim.results import Sweep, read_table
from tests.manifests import changed
from tests.unit.figures.made import curve, finished, keys, made, scenario, texts, write_table

BOUNDS = "in the domain record gradients are bounded by Ξ₁ = 4 and Ξ₂ = 2"
WAYS: dict[str, dict[str, Any]] = {
    "pure": {"mechanism": "laplace"},
    "weaker": {"mechanism": "gaussian", "delta": 1e-6},
    "hoped": {"mechanism": "laplace", "sensitivity": {"kind": "declared", "bound": 1.0}},
}
BUDGETS = (1.0, 4.0)
EXCEEDED = "not private: the declared bound 1 on a record gradient's L1 norm is exceeded: 9 at …"


def swept(directory: Path, ways: Mapping[str, dict[str, Any]] = WAYS) -> Sweep:
    """Two budgets for each way; three replicates, whose ψ is 1, 2 and 6 times the cell's number."""
    rows = [(name, epsilon) for name in ways for epsilon in BUDGETS]
    for number, (name, epsilon) in enumerate(rows):
        broken = name == "hoped"
        cell = made(
            directory / f"cell-{number:04d}", [(), (), ()],
            scenario(privacy=ways[name] | {"epsilon": epsilon}),
            updates=10, private=not broken,
            epsilon_true=9 * epsilon if broken else epsilon,
            delta=ways[name].get("delta", 0.0),
        )  # fmt: skip
        with changed(cell) as manifest:
            manifest["warnings"] = [EXCEEDED if broken else BOUNDS]
            manifest["constants"] = {"noise_bound": 2.0 if name == "weaker" else 4.0}
        curve(cell, [times * (1.0 + number) for times in (1, 2, 6)])
        write_table(cell, "owners", {"records": [10, 10, 10]})
    names, budgets = zip(*rows, strict=True)
    return finished(directory, {"variant": names, "privacy.epsilon": budgets})


def test_each_line_is_named_with_its_guarantee(tmp_path):
    picture = FIGURE.picture(swept(tmp_path / "sweep"))
    assert keys(picture) == [
        "pure (Ξ₁ = 4): ε-DP, pure, Laplace noise",
        "weaker (Ξ₂ = 2): (ε, 1e-06)-DP, Gaussian noise",
        "hoped (Ξ₁ = 4): NOT PRIVATE as claimed, ε ≥ 9 to 36",
    ]
    [axes] = picture.figure.axes
    assert [bars.lines[0].get_linestyle() for bars in axes.containers] == ["-", "-", "--"]
    said = [text.replace("\n", " ") for text in texts(picture)]
    assert any(each.startswith("NOT PRIVATE") and "in 2 of 6 cells" in each for each in said)
    assert "hollow and dashed: not private as claimed" in picture.caption


def test_its_numbers_are_means_and_each_row_has_its_own_label(tmp_path):
    table = FIGURE.picture(swept(tmp_path / "sweep")).labelled()
    assert list(table["line"]) == ["pure"] * 2 + ["weaker"] * 2 + ["hoped"] * 2
    np.testing.assert_allclose(table["psi_final_mean"], 3.0 * np.arange(1, 7))
    np.testing.assert_array_equal(table["models_private"], [True] * 4 + [False] * 2)
    np.testing.assert_array_equal(table["epsilon_true"], [1, 4, 1, 4, 9, 36])
    np.testing.assert_array_equal(table["delta"], [0, 0, 1e-6, 1e-6, 0, 0])
    half = 4.302653 * np.sqrt(7 / 3)  # Student's t with 2 degrees of freedom
    np.testing.assert_allclose(table["psi_final_mean_high"][0] - 3.0, half, rtol=1e-6)


@pytest.mark.parametrize(
    ("names", "path", "said"),
    [
        (("pure",), "privacy.epsilon", "one way to hide data"),
        (("pure", "weaker"), "run.seed", "privacy.epsilon is not swept"),
    ],
)
def test_nothing_is_compared_where_there_is_one_way_or_no_budget(names, path, said, tmp_path):
    sweep = swept(tmp_path / "sweep", {name: WAYS[name] for name in names})
    frame = read_table(sweep.directory, "cells").set_axis(
        ["cell", "variant", path, "status"], axis=1
    )
    write_table(sweep.directory, "cells", frame)
    sweep = Sweep.read(sweep.directory)
    assert select_ways(sweep) == said
    with pytest.raises(ResultError, match=said.partition(",")[0]):
        FIGURE.picture(sweep)


def test_lines_that_hide_records_alike_are_not_compared(tmp_path):
    sweep = swept(tmp_path / "sweep", dict.fromkeys(("pure", "again"), WAYS["pure"]))
    assert select_ways(sweep) == "lines that hide data in the same way"
