"""Doubts of exact moments: each is stated where it is true of runs, and not else.

A row has a case in which the sentence is printed, a fact about its runs that must hold, and cases
that are close by in which the fact does not hold and nothing is said.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from analysis.exact.learning import broken, exact
from asyncdp_sim.core.specification import parse
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.privacy.mechanisms import NoMechanism
from asyncdp_sim.runs.outcome import RunResult
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from tests import scenes
from tests.one_in import one_in
from tests.tables import composed, table

pytestmark = pytest.mark.no_evidence

Fields = dict[str, Any]
Fact = Callable[[RunResult], bool]
T, R = 40, 20


SCENES = table(__file__, "scene_of_sentences.toml")


def scenario(case: list[Any]) -> Scenario:
    fields: Fields = scenes.fields(**SCENES["scene"])
    for key, value in composed(TABLE["parts"], case).items():
        whole = "kind" in value or key not in fields
        fields[key] = value if whole else fields[key] | value
    return parse(Scenario, fields)


def reasons(chosen: Scenario) -> list[str]:
    known = population(chosen, private=False)
    said = broken(known)
    if len(said) > 0:
        return said
    found = exact(known)
    return list(found) if isinstance(found, tuple) else []


def positive(name: str) -> Fact:
    """Whether a figure of the summary is above 0."""
    return lambda found: found.summary[name] > 0


def cut_short(found: RunResult) -> bool:
    return any(trace.n_updates < T for trace in found.traces)


def silent(found: RunResult) -> bool:
    """Whether some owner had no answer left while others still made updates."""
    allowed = np.array(found.scenario.network.answers_allowed)
    spent = [np.any(trace.released[: len(allowed)] >= allowed) for trace in found.traces]
    return bool(np.any(spent)) and max(trace.n_updates for trace in found.traces) > 0


def lacking(found: RunResult) -> bool:
    """Whether some round had not an answer of everybody; or fewer rounds were held."""
    n = found.scenario.owners.count
    counts = [np.bincount(trace.updates["k"], minlength=T + 1)[1:] for trace in found.traces]
    return bool(np.any(np.array(counts) != n))


def vain(found: RunResult) -> bool:
    """Whether exchanges were begun that made no update."""
    return any(len(trace.exchanges) > trace.n_updates + 1 for trace in found.traces)


def repeating(found: RunResult) -> bool:
    """Whether owners come again sooner than independent ones of their shares would."""
    owners = np.concatenate([trace.updates["owner"] for trace in found.traces])
    shares = np.bincount(owners)[1:] / len(owners)
    return abs(found.summary["p_repeat"] - shares @ shares) > 0.04


def on_the_bound(found: RunResult) -> bool:
    """Whether θ* is on the border of Θ, and models were projected onto it."""
    objective = found.problem.task.objective
    border = np.max(np.abs(objective.optimum)) >= 0.999999 * objective.theta_max
    return bool(border and found.summary["clip_count"] > 0)


def diverging(found: RunResult) -> bool:
    return not found.summary["psi_final"]["median"] < 1e6


def clipping(found: RunResult) -> bool:
    """Whether some record's gradient at 0 is scaled down."""
    sensitivity = found.scenario.privacy.sensitivity
    records = found.problem.records
    pairs = zip(records.features, records.targets, strict=True)
    largest = max(float(np.max(2 * np.abs(y) * np.abs(x).sum(axis=1))) for x, y in pairs)
    return sensitivity.kind == "clip" and largest > sensitivity.bound


def curved(found: RunResult) -> bool:
    """Whether f is no parabola along a line."""
    objective = found.problem.task.objective
    line = np.linspace(-4.0, 4.0, 5)[:, None] * np.ones(objective.n_features)
    return bool(np.max(np.abs(np.diff(objective.fitness(line), 3))) > 1e-6)


def sampled(found: RunResult) -> bool:
    """Whether replicates without noise differ by more than rounding."""
    return bool(np.ptp(found.learned.models, axis=0).max() > 1e-9)


def model_driven(found: RunResult) -> bool:
    """Whether how long runs are changes with the noise alone."""
    quiet = found.scenario.privacy.model_copy(update={"mechanism": NoMechanism()})
    again = run(found.scenario.model_copy(update={"privacy": quiet}))
    pairs = zip(found.traces, again.traces, strict=True)
    return any(one.n_updates != other.n_updates for one, other in pairs)


FACTS: dict[str, Fact] = {
    fact.__name__: fact
    for fact in (
        cut_short, silent, lacking, vain, repeating, on_the_bound, diverging, clipping, curved,
        sampled, model_driven,
    )
}  # fmt: skip
TABLE = table(__file__, "sentences.toml")
ROWS = TABLE["rows"]


@one_in(3, "name", ROWS)
def test_what_is_said_is_true(name):
    row = ROWS[name]
    said, figure = row["said"], row.get("positive")
    fact = FACTS[row["fact"]] if figure is None else positive(figure)
    for chosen in map(scenario, (row["case"], *row.get("also", ()))):
        assert any(said in reason for reason in reasons(chosen))
        assert fact(run(chosen))
    for other in row["near"]:
        near = scenario(other)
        assert not any(said in reason for reason in reasons(near)), other
        found = run(near)
        exempt = near.algorithm.looks_at_models is False
        exempt = exempt or fact is clipping or figure == "loss_rate"
        assert exempt or not fact(found), other
