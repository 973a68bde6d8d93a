"""The parts of ψ at the end: exact limits, sums, and what is said where there is no limit."""

from dataclasses import replace

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.runs import split
from asyncdp_sim.runs.problem import Task, build_dataset, prepare
from asyncdp_sim.runs.replicates import InProcess, Workers
from asyncdp_sim.runs.run import run
from asyncdp_sim.runs.split import split_psi
from tests.reproducibility.runs import scenario
from tests.tables import table
from tests.verification.gossip_cases import Case, OwnersOnly, correlated

WAYS = table(__file__, "ways.toml")
FIT = correlated(n_owners=3, records=8, n_features=2, sigma=0.5, seed=1)
CASE = Case(FIT, rho=40.0, updates=40, scale=np.full(3, 0.3))
SPEC = scenario(algorithm__rho=40.0).algorithm
LENGTHS = (40, 25, 40, 25)


def found(lengths=LENGTHS, workers=1, **changes):
    """Return the split, and the traces, of a run over made-up traces."""
    generator, streams = np.random.default_rng(2), Streams(3)
    traces = [OwnersOnly(generator.choice(3, p=(0.6, 0.3, 0.1), size=n)) for n in lengths]
    task = replace(Task(FIT, CASE.steps, AnswerModel(FIT, LaplaceNoise(CASE.scale)), 1), **changes)
    numbers = list(range(1, len(traces) + 1))
    scopes = [streams.within("replicate", number) for number in numbers]
    models = replay(traces, task.steps, task.reply, scopes, 100).final
    told = (SPEC, task, 3, numbers, traces, models)
    return split_psi(*told, Workers(workers, InProcess())), traces, models


def limit(owners):
    """Return θ_L at the fixed point of a sequence of updates, and after one go from 0."""
    process, p, size = CASE.process, 2, 8
    whole, shift = np.eye(size), np.zeros(size)
    for owner in owners:
        half = np.zeros((p, size))
        own = slice((owner + 1) * p, (owner + 2) * p)
        half[:, :p] = half[:, own] = np.eye(p) / 2
        step, drift = np.eye(size), np.zeros(size)
        step[:p], drift[:p] = process.central_factor * half, process.central_drift
        step[own], drift[own] = process.factor[owner] @ half, process.drift[owner]
        whole, shift = step @ whole, step @ shift + drift
    star = np.tile(process.optimum, 4)
    fixed = np.linalg.solve(np.eye(size) - whole, shift)
    return (fixed + star)[:p], (shift - whole @ star + star)[:p]


def test_limits_are_the_fixed_points_of_the_owners_sequences():
    parts, traces, models = found()
    pairs = [limit(trace.updates["owner"] - 1) for trace in traces]
    ends, free = (np.array(column) for column in zip(*pairs, strict=True))
    psi, tolerance = FIT.relative_fitness, 1e-5 * FIT.relative_fitness(models).mean()
    assert parts.bias == pytest.approx(psi(ends.mean(axis=0)), abs=tolerance)
    both = psi(ends).mean()
    assert parts.bias + parts.selection == pytest.approx(both, abs=tolerance)
    assert parts.transient == pytest.approx(psi(free).mean() - both, abs=tolerance)
    assert parts.noise == pytest.approx(psi(models).mean() - psi(free).mean(), rel=1e-12)
    spread = {"noise": psi(models) - psi(free), "transient": psi(free) - psi(ends)}
    for name, values in spread.items():
        assert getattr(parts, f"{name}_se") == pytest.approx(values.std(ddof=1) / 2, rel=1e-3)
    assert 3 < parts.repetitions < split.REPETITIONS
    assert parts.bias > 100 * tolerance  # or the checks above would say little
    assert parts.selection > 50 * tolerance
    assert parts.transient > 100 * tolerance


def test_workers_and_neighbours_change_nothing():
    parts, *_ = found()
    for workers in (2, 4):
        assert found(workers=workers)[0] == parts


def test_one_replicate_has_no_standard_errors():
    parts, *_ = found(lengths=(40,))
    assert parts.noise_se is parts.transient_se is parts.limit_se is None
    assert parts.selection == 0


def test_a_slow_run_is_said_not_to_have_settled(monkeypatch):
    whole, *_ = found()
    monkeypatch.setattr(split, "REPETITIONS", 3)
    parts, *_ = found()
    assert parts.bias is parts.selection is parts.transient is parts.limit_se is None
    assert parts.noise == whole.noise
    assert parts.reason == "not settled: without noise, 4 of 4 replicates keep moving"


class Circling:
    """Planted: models that change sign after every repetition of a replicate's updates."""

    def __init__(self, steps):
        self._steps = steps

    def __getattr__(self, name):
        return getattr(self._steps, name)

    def update(self, state, rows=None):
        self._steps.update(state, rows)
        state.circled = getattr(state, "circled", 0) + 1
        state.central[0] = 1.0 + (state.circled // 40 % 2)


def test_a_run_that_goes_round_in_circles_is_given_up():
    parts, *_ = found(lengths=(40, 40), steps=Circling(CASE.steps))
    assert parts.reason == "not settled: without noise, 1 of 2 replicates keep moving"


@pytest.mark.parametrize("case", WAYS["no_limit"], ids=lambda case: case["reason"])
def test_without_a_limit_noise_is_told_and_the_rest_is_not(case):
    parts = run(scenario(**case["changes"], run__split=True)).summary["psi_split"]
    assert parts["reason"] == case["reason"]
    assert (parts["noise"] is None) == (case["reason"] == "the model diverged")
    assert [parts[name] for name in ("bias", "selection", "transient", "repetitions")] == [None] * 4


@pytest.mark.parametrize("changes", WAYS["split"].values(), ids=WAYS["split"])
def test_parts_sum_to_the_mean_of_psi(changes):
    outcome = run(scenario(**changes, run__split=True))
    parts = outcome.summary["psi_split"]
    assert parts["reason"] is None
    total = sum(parts[name] for name in ("bias", "selection", "transient", "noise"))
    assert total == pytest.approx(outcome.summary["psi_final"]["mean"])
    assert parts["bias"] >= 0
    assert parts["selection"] > -1e-12
    assert (parts["noise"] == 0) == ("privacy__mechanism" in changes)


# Objective and optimum of cells of a sweep: worked out once, for the same records alone.

FIRST = {"run__updates": 12, "run__replicates": 2}
QUESTIONS = table(__file__, "split_of_psi_at_end.toml")
CASES = [(True, parts) for parts in QUESTIONS["same"]]
CASES += [(False, parts) for parts in QUESTIONS["other"]]


@pytest.mark.parametrize(("same", "parts"), CASES, ids=str)
def test_other_questions_and_other_records_are_worked_out_anew(same, parts):
    """And the same questions about the same records once."""
    first, second = scenario(**FIRST), scenario(**(FIRST | parts))
    like = prepare(first, build_dataset(first))
    again = prepare(second, like.posed.dataset, like)
    alone = prepare(second, like.posed.dataset).posed
    assert (again.posed is like.posed) == same
    assert again.posed.constants == alone.constants
    assert again.posed.judge.optimum.tolist() == alone.judge.optimum.tolist()
    assert prepare(first, replace(like.posed.dataset), like).posed is not like.posed
