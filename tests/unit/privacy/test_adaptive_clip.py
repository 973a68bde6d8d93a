"""Adaptive clipping in runs: one path however it is computed, its cost, and what is refused."""

from typing import Any

import numpy as np
import pytest

from analysis.exact.assumptions import nonlinear
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.forecasts.costs import applying
from asyncdp_sim.learning.answers import AdaptiveBound
from asyncdp_sim.runs import run
from asyncdp_sim.runs.outcome import manifest
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.replicates import learn_all, simulate_all
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.sentences.label import label
from asyncdp_sim.sentences.scenario import describe
from tests.one_in import one_in
from tests.whole_owners import RECORDS, WHOLE_OWNERS

LOCAL = {"kind": "parameter-server", "step": 1.0, "local_steps": 3, "local_step": 0.1}


def made(
    privacy: dict[str, Any] | None = None, bound: dict[str, Any] | None = None, **changed: Any
) -> Scenario:
    moving = {"kind": "adaptive-clip", "start": 0.5, "share": 0.2} | (bound or {})
    said = {"observer": "model", "sensitivity": moving} | (privacy or {})
    return parse(Scenario, {**WHOLE_OWNERS, **changed, "privacy": WHOLE_OWNERS["privacy"] | said})


def law(of: Scenario) -> AdaptiveBound:
    assert of.clip_law is not None
    return of.clip_law


@pytest.mark.parametrize(("adjacency", "moves"), [("replaced", 1.0), ("added-or-removed", 0.5)])
def test_a_sum_and_a_count_share_the_budget_of_an_answer(adjacency: str, moves: float) -> None:
    of = made({"adjacency": adjacency})
    multiplier = of.accountant.multiplier
    assert multiplier is not None
    fixed = made({"adjacency": adjacency, "sensitivity": {"kind": "clip", "bound": 0.5}})
    sizes = np.array(RECORDS)
    in_sum = np.sqrt(3) * of.noise_for(sizes).scale * sizes
    sensitivity = 2 * moves * 0.5 * max(RECORDS)
    assert in_sum == pytest.approx(sensitivity * multiplier / 0.8**0.5)
    assert law(of).noise == pytest.approx(moves * multiplier[0] / 0.2**0.5)
    told = (sensitivity / in_sum[0]) ** 2 + (moves / float(law(of).noise)) ** 2
    assert told == pytest.approx(multiplier[0] ** -2)
    assert fixed.accountant.multiplier == pytest.approx(multiplier)
    assert of.noise_for(sizes).scale == pytest.approx(fixed.noise_for(sizes).scale / 0.8**0.5)


@one_in(2, ("how", "workers"), [("live", 1), ("replay", 2)])
@pytest.mark.parametrize("algorithm", [WHOLE_OWNERS["algorithm"], LOCAL], ids=["gradient", "steps"])
def test_live_learning_and_any_workers_give_its_replay(
    algorithm: Any, how: str, workers: int
) -> None:
    runs = [
        run(made(algorithm=algorithm, run={**WHOLE_OWNERS["run"], "learning": each}), workers=count)
        for each, count in (("replay", 1), (how, workers))
    ]
    assert runs[0].fingerprints == runs[1].fingerprints
    curve = runs[0].learned.curve
    first = curve["clip_bound"][curve["k"] == 0]
    assert first.tolist() == [0.5] * 3
    assert len(np.unique(curve["clip_bound"])) == len(curve) - 2  # replicates move apart


def test_cells_together_have_the_bits_of_each_alone() -> None:
    cells = [
        made(),
        made({"epsilon": 8.0}),
        made(bound={"start": 0.1}),
        made(bound={"quantile": 0.9, "rate": 0.5}),
        made(bound={"share": 0.6}),
    ]
    tasks = [prepare(each, build_dataset(each)).task for each in cells]
    traces = simulate_all(cells[0].network, 4, range(1, 4), events=False, workers=1, run_map=map_)
    together = learn_all(tasks, 4, range(1, 4), traces, workers=1, run_map=map_)
    alone = [
        learn_all([each], 4, range(1, 4), traces, workers=1, run_map=map_)[0] for each in tasks
    ]
    for one, other in zip(together, alone, strict=True):
        assert one.curve.tobytes() == other.curve.tobytes()
    [second] = learn_all([tasks[1]], 4, [2], traces[1:2], workers=1, run_map=map_)
    mine = together[1].curve
    assert second.curve.tobytes() == mine[mine["replicate"] == 2].tobytes()


def map_(work: Any, *lots: Any, **_: Any) -> list[Any]:
    return list(map(work, *lots))


def test_without_noise_the_bound_follows_the_exact_count() -> None:
    of = made()
    task = prepare(of, build_dataset(of)).task.without_noise()
    assert task.reply.bound is not None
    assert task.reply.bound.noise == 0.0
    assert task.reply.bound.start == 0.5


def test_a_label_and_a_check_say_that_bounds_are_public_and_paid_for() -> None:
    of = made()
    said = label([manifest(run(of))]).text
    assert "so is the clip bound of every round, found by noisy counts that ε covers" in said
    lines = " ".join(describe(of))
    for words in ("counts take 20 % of 1/z²", "noise on sums is 11.8 % larger", "noise on counts"):
        assert words in lines
    other = manifest(run(made({"sensitivity": {"kind": "clip", "bound": 0.5}})))
    assert "clip bound" not in label([other]).text


@pytest.mark.parametrize(
    "privacy",
    [
        {"observer": "transcript"},
        {"observer": "aggregate"},
        {"unit": "record"},
        {"unit": "record", "observer": "transcript"},
    ],
)
def test_without_a_learner_that_counts_it_is_refused(privacy: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="whose learner counts"):
        made(privacy)


def test_what_takes_the_bound_for_fixed_refuses_or_says_so() -> None:
    of, fixed = made(), made({"sensitivity": {"kind": "clip", "bound": 0.5}})
    assert any("clip bound moves by noisy counts" in doubt for doubt in nonlinear(of))
    assert not any("noisy counts" in doubt for doubt in nonlinear(fixed))
    assert [each.learner_adds_noise for each in applying(of)] == [True]
    assert len(applying(fixed)) == 3


@pytest.mark.parametrize(("asked", "answers"), [(None, "3 answers"), (1, "1 answer;")])
def test_check_says_how_far_noise_on_counts_moves_the_bound(
    asked: int | None, answers: str
) -> None:
    of = made(protocol={"kind": "rounds", "owners": asked})
    [line] = [line for line in describe(of) if line.startswith("noise on counts: ")]
    assert of.clip_law is not None
    moved = 100 * of.clip_law.rate * of.clip_law.noise / (asked or 3)
    assert f"on a count of {answers}" in line
    assert line.endswith(f"it changes the clip bound by {moved:.3g} % a round")
