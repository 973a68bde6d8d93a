"""Labels' words on replicates, cells and timing, held against the facts by working them out."""

from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import Dataset
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.learning.algorithms import AnswerBatch
from asyncdp_sim.learning.answers import Answers
from asyncdp_sim.privacy.accountants.own import gaussian_epsilon
from asyncdp_sim.results import read_manifest
from asyncdp_sim.runs import manifest, run, write
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.forecast import lines
from asyncdp_sim.sentences.label import composition, label
from asyncdp_sim.sentences.result import result_lines
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.sweeps import sweep
from tests.one_in import one_in
from tests.tables import table

Parts = dict[str, Any]
BASE: Parts = table(__file__, "scenes.toml")["statements"]
TARGET: Parts = {"run": {"target": 0.5}}


def scenario(*, run: Parts | None = None, privacy: Parts | None = None, **parts: Any) -> Scenario:
    changed = {"run": BASE["run"] | (run or {}), "privacy": BASE["privacy"] | (privacy or {})}
    return parse(Scenario, {**BASE, **changed, **parts})


def live(parts: Parts) -> Scenario:
    run = {"learning": "live", "until": 30.0} | parts.get("run", {})
    return scenario(**{**parts, "run": run})


def first_answer(asked: Scenario, replicate: int = 1) -> tuple[np.ndarray, np.ndarray, float]:
    """Owner 1's first noisy answer at θ = 0, the exact gradient there, and the noise's scale."""
    task = prepare(asked, build_dataset(asked)).task
    scope = Streams(asked.run.seed).within("replicate", replicate)
    turn, point = AnswerBatch(np.array([0])), np.zeros((1, 2))
    exact = task.reply.gradients.gradient(turn.owners, point.copy())
    noisy = Answers(task.reply, [scope], 2).noisy_gradients(turn, point)
    return noisy[0], exact[0], float(task.reply.noise.scale[0])


def without_noise(one: tuple[Any, ...], two: tuple[Any, ...]) -> np.ndarray:
    """What two answers with the same draw of different scale tell of their common gradient."""
    (a, _, s), (b, _, t) = one, two
    return np.asarray((t * a - s * b) / (t - s))


def test_cells_share_noise_so_that_two_of_them_tell_a_gradient_exactly(tmp_path: Path) -> None:
    cells = [scenario(privacy={"epsilon": epsilon}) for epsilon in (1.5, 3.0)]
    one, two = map(first_answer, cells)
    assert np.allclose(without_noise(one, two), one[1], rtol=1e-9)
    assert np.abs(one[0] - one[1]).min() > 1e-3  # which neither of them tells
    said = "holds for each replicate of each cell; cells share noise: publish only one"
    assert composition([manifest(run(cell)) for cell in cells]) == said
    swept = scenario(sweep={"privacy.epsilon": [1.5, 3.0]})
    sweep(swept, tmp_path / "s")
    sentence = f"This {said}."
    assert f"ε {said}" in result_lines(tmp_path / "s")
    assert sentence in read_manifest(tmp_path / "s")["label"]
    metadata = pq.read_schema(tmp_path / "s" / "cells.parquet").metadata
    assert sentence in metadata[b"asyncdp.label"].decode()
    assert f"ε {said}" in describe(swept)
    cell = read_manifest(tmp_path / "s" / "cell-0000")
    assert "This holds for each of 4 replicates; publishing all costs at most 4 ε." in cell["label"]


def test_cells_of_other_seeds_do_not_share_noise() -> None:
    cells = [
        scenario(run={"seed": seed}, privacy={"epsilon": epsilon})
        for seed, epsilon in ((1, 1.5), (2, 3.0))
    ]
    noise = [np.divide(a - g, s) for a, g, s in map(first_answer, cells)]
    assert np.abs(noise[0] - noise[1]).min() > 1e-3
    manifests = [manifest(run(cell)) for cell in cells]
    said = "holds for each replicate of each cell; the ε of all published ones adds up"
    assert composition(manifests) == said
    assert "share noise" not in label(manifests).text


def copy(owner: int, own: str = "noised", epsilon: float = 1.5) -> Scenario:
    learner = {"owner": owner, "own": own}
    return scenario(run={"replicates": 1}, privacy={"epsilon": epsilon, "learner": learner})


ALONE = scenario(run={"replicates": 1})
ADDS_UP = "holds for each replicate of each cell; the ε of all published ones adds up"
SHARED = "holds for each replicate of each cell; cells share noise: publish only one"


@one_in(
    2,
    ("cells", "said"),
    [
        ((ALONE, copy(1), copy(2)), ADDS_UP),
        ((ALONE, copy(1), copy(1, epsilon=3.0)), SHARED),
        ((copy(1), copy(1, "exact-as-published")), SHARED),
        ((copy(1), copy(2, "exact-as-published")), ADDS_UP),
    ],
)
def test_copies_with_other_learners_have_noise_of_their_own(
    cells: tuple[Scenario, ...], said: str, tmp_path: Path
) -> None:
    """Whoever answers exactly in a copy, the others' noise there is that of the copy."""
    rows = []
    for cell in cells:
        task = prepare(cell, build_dataset(cell)).task
        scope = Streams(cell.run.seed).within("replicate", 1)
        turn, point = AnswerBatch(np.array([1])), np.zeros((1, 2))
        exact = task.reply.gradients.gradient(turn.owners, point.copy())
        noisy = Answers(task.reply, [scope], 2).noisy_gradients(turn, point)
        scale = float(task.reply.noise.scale[1])  # owner 2's
        rows += [(noisy - exact) / scale] if scale > 0 else []
    alike = any(np.allclose(a, b) for i, a in enumerate(rows) for b in rows[:i])
    assert alike is (said == SHARED)
    assert composition([manifest(run(cell)) for cell in cells]) == said
    changes = [
        {"name": f"{number}", "privacy": cell.plain()["privacy"]}
        for number, cell in enumerate(cells)
    ]
    swept = scenario(run={"replicates": 1}, sweep={"variant": changes})
    assert f"ε {said}" in describe(swept)
    sweep(swept, tmp_path / "s")
    assert f"ε {said}" in result_lines(tmp_path / "s")


def neighbours() -> tuple[Scenario, Dataset, Dataset]:
    """Owner 1's first record replaced by its opposite, both clipped: the largest move there is."""
    asked = scenario()
    given = build_dataset(asked)
    tables = []
    for sign in (1.0, -1.0):
        x, y = given.features[0].copy(order="F"), given.targets[0].copy()
        x[0], y[0] = (1e3, 0.0), sign * 1e3
        tables.append(replace(given, features=(x, *given.features[1:]),
                              targets=(y, *given.targets[1:])))  # fmt: skip
    return asked, tables[0], tables[1]


def test_replicates_cost_as_often_as_there_are_and_no_more() -> None:
    """All answers of R replicates tell Rε of two neighbours, at the answer that tells them most."""
    asked, one, two = neighbours()
    tasks = [prepare(asked, table).task for table in (one, two)]
    owner, point = np.array([0]), np.zeros((1, 2))
    gradients = [task.reply.gradients.gradient(owner, point.copy()) for task in tasks]
    noise, replicates, answers = tasks[0].reply.noise, 4, 6
    far = gradients[0] + 1e3 * np.sign(gradients[0] - gradients[1])
    told = [float(noise.log_likelihood(owner, g, far)[0]) for g in gradients]
    each = answers * (told[0] - told[1])
    assert each == pytest.approx(1.5, rel=1e-9)
    row = [line for line in label([manifest(run(asked))]).text.split(". ") if "replicates" in line]
    assert row == ["This holds for each of 4 replicates; publishing all costs at most 4 ε."]
    assert replicates * each > 1.5 * 3.999
    streams = Streams(1)
    noises = [
        noise.rows(streams.within("replicate", r).generator("noise"), 1, 2) for r in (1, 2, 3, 4)
    ]
    assert len({x.tobytes() for x in noises}) == 4  # which is why they add up, and tell no step


@pytest.mark.parametrize("overlap", [1, 2])
@pytest.mark.parametrize("replicates", [2, 10, 1000])
def test_gaussian_replicates_cost_at_most_r_times_epsilon_and_delta(
    overlap: int, replicates: int
) -> None:
    """Exactly composed at R δ, they cost less: "at most" is what is said."""
    privacy = {"mechanism": "gaussian", "delta": 1e-6, "overlap": overlap}
    asked = scenario(privacy=privacy, run={"replicates": replicates})
    accountant = prepare(asked, build_dataset(asked)).accountant
    rho = overlap * float(accountant.zcdp(accountant.answers)[0]) * replicates
    together = gaussian_epsilon(1 / np.sqrt(2 * rho), replicates * 1e-6)
    assert together <= replicates * 1.5
    said = composition([{"scenario": asked.plain(), "summary": {
        "epsilon_true": 1.5, "delta": 1e-6, "timing_accounted": True}}])  # fmt: skip
    assert said == (
        f"holds for each of {replicates} replicates; publishing all costs at most "
        f"{replicates} ε and {replicates} δ"
    )


def test_where_there_is_nothing_to_add_up_nothing_is_said() -> None:
    assert composition([manifest(run(scenario(run={"replicates": 1})))]) is None
    assert composition([manifest(run(scenario(privacy={"epsilon": inf})))]) is None
    assert composition([manifest(run(scenario(privacy={"mechanism": "none"})))]) is None


@pytest.mark.long
def test_timing_that_nobody_pays_for_is_said_everywhere(tmp_path: Path) -> None:
    asked = live(TARGET)
    outcome = run(asked)
    why = f"timing not accounted: {asked.timing_unaccounted}"
    assert outcome.summary | {
        "private": False, "epsilon_true": inf, "timing_accounted": False
    } == outcome.summary  # fmt: skip
    assert f"not private: {why}" in outcome.warnings
    write(outcome, tmp_path / "r")
    screen = "\n".join(result_lines(tmp_path / "r"))
    assert "NO (no finite ε)" in screen
    assert screen.count(why) == 1
    told = read_manifest(tmp_path / "r")["label"]
    assert told.startswith("NOT PRIVATE as claimed (ε = 1.5 ")
    assert "timing not accounted. True ε = ∞." in told
    for name in ("curve", "owners", "models", "optimum"):
        metadata = pq.read_schema(tmp_path / "r" / f"{name}.parquet").metadata
        assert metadata[b"asyncdp.label"].decode().endswith(told)
        assert (metadata[b"asyncdp.private"], metadata[b"asyncdp.epsilon_true"]) == (
            b"false", b"inf",
        )  # fmt: skip
    assert f"not private, no finite ε: {why}" in describe(asked)
    foreseen = lines(forecast(asked))
    assert any(line.split(maxsplit=1) == ["private", "NO (no finite ε)"] for line in foreseen)
    assert any(line.split(maxsplit=1)[1:] == [why] for line in foreseen)
    swept = live({**TARGET, "sweep": {"privacy.epsilon": [1.5, 3.0]}})
    sweep(swept, tmp_path / "s")
    cells = pq.read_table(tmp_path / "s" / "cells.parquet").to_pydict()
    assert (cells["private"], cells["epsilon_true"]) == ([False, False], [inf, inf])
    assert "in all cells: private = NO, true ε = ∞" in result_lines(tmp_path / "s")


def test_of_budgets_that_are_infinite_none_is_said_to_be_spent(tmp_path: Path) -> None:
    for name, privacy in (("none", {"mechanism": "none"}), ("inf", {"epsilon": inf})):
        write(run(scenario(run={"replicates": 1}, privacy=privacy)), tmp_path / name)
        [told] = [line for line in result_lines(tmp_path / name) if line.startswith("budget spent")]
        assert told.split(maxsplit=2)[-1] == "no finite budget"
