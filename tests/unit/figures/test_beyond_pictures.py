"""Pictures of gains, and of whom a model serves."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.studies import fairness
from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.figures import break_even, sweep_figure
from asyncdp_sim.figures.sweep_figure import answers_paid
from asyncdp_sim.results import Result, Sweep
from tests.unit.figures.made import curve, finished, made, scenario, texts, whole, write_table

R = 2
"""Replicates; columns of owners are given for one, and alike in both."""


def written(
    directory: Path,
    values: Mapping[str, Any],
    said: dict[str, Any],
    owners: Mapping[str, Sequence[float]],
    psi: Sequence[float] = (1.0, 3.0),
    **summary: Any,
) -> dict[str, Any]:
    """Write a cell of a sweep, numbered by those there are; return its swept values."""
    number = len(list(directory.glob("cell-*")))
    place = made(directory / f"cell-{number:04d}", [(), ()], said, updates=10, **summary)
    curve(place, psi, k=4, times=(8.0, 12.0), first=9.0)
    columns = {name: list(column) * R for name, column in owners.items()}
    write_table(place, "owners", whole("owners", columns))
    return dict(values)


def read(directory: Path, rows: Sequence[Mapping[str, Any]]) -> Sweep:
    """Finish a sweep of these cells and open it."""
    return finished(directory, {name: [row[name] for row in rows] for name in rows[0]})


def of_budgets(directory: Path) -> Sweep:
    """Two budgets at two ε for three owners; mean ψ is 2, 4 and 4, 40."""
    owners = {"owner": [1, 2, 3], "records": [100, 200, 400], "psi_alone": [9.0, 3.0, 1.0]}
    rows = []
    for name, kind, mean in (("cap", "per-owner-cap", 2.0), ("all", "horizon", 4.0)):
        for epsilon, times in ((3.0, 1.0), (1.0, 2.0 if name == "cap" else 10.0)):
            budget = {"kind": kind} | ({"answers": 5} if kind == "per-owner-cap" else {})
            said = scenario(privacy={"epsilon": epsilon, "budget": budget})
            psi = (0.5 * mean * times, 1.5 * mean * times)
            values = {"variant": name, "privacy.epsilon": epsilon}
            rows.append(written(directory, values, said, owners, psi, profits_psi=1))
    return read(directory, rows)


def test_break_even_is_told_for_each_budget(tmp_path, reads):
    """With a cap ψ is 4 and 2, so that owner 2 gains from 3^(log 4/3 / log 2) = 1.58 on."""
    reads(break_even.FIGURE.picture(of_budgets(tmp_path)))


def test_without_owners_alone_nobody_can_tell_who_profits(tmp_path):
    sweep = of_budgets(tmp_path)
    for cell in sweep.cells:
        del cell.result.manifest["summary"]["profits_psi"]
    assert break_even.FIGURE.why_not(sweep) == "owners alone are not known: run.alone"
    with pytest.raises(ResultError):
        break_even.FIGURE.picture(sweep)


def of_epsilon(directory: Path, psi: Sequence[float] = (8.0, 2.0)) -> Sweep:
    """One budget at two ε for three owners."""
    owners = {"owner": [1, 2, 3], "records": [100, 200, 400], "psi_alone": [16.0, 4.0, 1.0]}
    rows = [
        written(
            directory, {"privacy.epsilon": epsilon}, scenario(privacy={"epsilon": epsilon}),
            owners, (mean, mean), profits_psi=1,
        )
        for epsilon, mean in zip((1.0, 4.0), psi, strict=True)
    ]  # fmt: skip
    return read(directory, rows)


def test_break_even_is_the_last_crossing_of_several():
    epsilon, psi = np.log([0.1, 1.0, 10.0, 100.0]), np.array([-1.0, 1.0, 1.0, -1.0])
    assert break_even._crossing(epsilon, psi, 0.0) == pytest.approx(10**1.5)


def test_break_even_is_where_the_joint_models_line_crosses_an_owners_own(tmp_path, reads):
    """ψ is 8 / ε: it is 4 at ε = 2, and below 16 from the first ε on, and never below 1."""
    picture = break_even.FIGURE.picture(of_epsilon(tmp_path))
    reads(picture)
    levels = [line for line in picture.figure.axes[0].lines if len(set(line.get_ydata())) == 1]
    assert {float(line.get_ydata()[0]) for line in levels} >= {16.0, 4.0, 1.0}


def test_a_break_even_of_one_replicate_has_no_interval(tmp_path, monkeypatch):
    mean = sweep_figure.mean_psi_at_end
    alone = lambda result: sweep_figure.OutcomeEstimate(mean(result).value)  # noqa: E731
    monkeypatch.setattr(sweep_figure, "mean_psi_at_end", alone)
    picture = break_even.FIGURE.picture(of_epsilon(tmp_path))
    assert picture.said.title.endswith("; from ε = 2 on, of half of them")
    assert "joint model better than half" in texts(picture)


def test_where_most_own_models_fit_better_it_is_said(tmp_path):
    picture = break_even.FIGURE.picture(of_epsilon(tmp_path, (90.0, 9.0)))
    assert picture.caption.endswith("At no ε shown does it fit better than half of them.")


def test_owners_with_names_are_called_by_them(tmp_path):
    served = of_seeds(tmp_path / "seeds")
    for cell in served.cells:
        cell.result.manifest["owner_names"] = ["St. Mary", "North", "Hill"]
    picture = fairness.FIGURE.picture(served)
    assert picture.table["name"].tolist()[:3] == ["St. Mary", "North", "Hill"]


def of_seeds(directory: Path, online: Sequence[float] = (1.0, 0.5, 0.1)) -> Sweep:
    """Two ways to step, two seeds; owner 3 is served worse, the more the smaller its share."""
    rows = []
    for selection, worst in (("uniform", 3.0), ("inverse-rate", 1.0)):
        for seed, more in ((1, 0.0), (2, 1.0)):
            owners = {"held_out_loss": [2.0, 4.0, 2 * (worst + more)], "updates": [6.0, 3.0, 1.0]}
            owners |= {"held_out_optimum": [2.0, 4.0, 2.0]}
            said = scenario(availability={"kind": "bernoulli", "probability": list(online)})
            values = {"algorithm.selection": selection, "run.seed": seed}
            rows.append(written(directory, values, said, owners, held_out_optimum=2.0))
    return read(directory, rows)


def test_losses_of_owners_are_means_over_seeds(tmp_path, reads):
    reads(fairness.FIGURE.picture(of_seeds(tmp_path)))


@pytest.mark.parametrize(
    ("online", "said"),
    [
        ((1.0, 0.5, 0.5), "owners are not online with 3 probabilities or more"),
        ((1.0, 0.5, 0.0), "some owners are never online"),
    ],
)
def test_fairness_needs_owners_that_are_online_unequally(online, said, tmp_path):
    assert fairness.FIGURE.why_not(of_seeds(tmp_path, online)) == said


def test_a_lost_answer_is_paid_for(tmp_path):
    """Of 12 answers 4 collide and 2 are lost."""
    owners = {"answers_released": [4] * 3, "collided": [4, 0, 0], "lost": [0, 1, 1]}
    written(tmp_path, {}, scenario(), owners)
    assert answers_paid(Result.read(tmp_path / "cell-0000")) == (2.0, 2.0, 2.0)
