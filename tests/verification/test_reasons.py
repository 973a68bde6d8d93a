"""Reasons for no prediction, and doubts of exact moments: each is told where it is true of runs.

And not else. A row has a case for which the words are told, a fact about its runs that must hold,
and cases close by in which the fact does not hold and the words are not told.
"""

from collections.abc import Callable

import numpy as np
import pytest

from analysis.exact.learning import broken, exact
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.privacy.mechanisms import NoMechanism
from asyncdp_sim.runs.outcome import RunResult
from asyncdp_sim.runs.run import run
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.theory.predict.update_order import releases
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.trace import EventKind, Trace
from tests import scenes
from tests.one_in import one_in
from tests.tables import composed, table

pytestmark = pytest.mark.no_evidence

OF_NETWORKS, OF_MOMENTS = table(__file__, "reasons.toml"), table(__file__, "sentences.toml")
SCENE = table(__file__, "scene_of_sentences.toml")["scene"]
T, UPDATES = 60, SCENE["run"]["updates"]


def network(case: list) -> Network:
    fields = {"answers_allowed": [T] * 3, "updates": T, "clock": {"kind": "poisson"}}
    return parse(Network, fields | composed(OF_NETWORKS["parts"], case))


def traces(found: Network) -> list[Trace]:
    return [simulate(found, Streams(5).within("replicate", r), events=True) for r in range(5)]


def reasons(found: Network) -> set[str]:
    law = releases(found)
    also = {law.reason} if isinstance(law, Unknown) else set()
    return {each.reason for each in predict(found)} | also


def ticks(trace: Trace, kind: EventKind) -> np.ndarray:
    return trace.events["tick"][trace.events["kind"] == kind]


def happens(kind: str) -> Callable[[list[Trace]], bool]:
    """Whether there are events of a kind."""
    return lambda found: any(len(ticks(trace, EventKind[kind])) > 0 for trace in found)


def regular(found: list[Trace]) -> bool:
    gaps = np.concatenate([np.diff(trace.update_ticks) for trace in found])
    return bool(gaps.std() < 0.8 * gaps.mean())


def delayed(found: list[Trace]) -> bool:
    """Whether the first query of a run comes later than the first request."""
    return all(
        ticks(trace, EventKind.query_sent)[0] > ticks(trace, EventKind.request_sent)[0]
        for trace in found
    )


def several(found: list[Trace]) -> bool:
    return any(len(trace.updates) > len(np.unique(trace.updates["k"])) for trace in found)


def together(found: list[Trace]) -> bool:
    """Whether different owners answer one query."""
    return any(len(np.unique(t.updates["read_tick"])) < len(t.updates) for t in found)


def silenced(found: list[Trace]) -> bool:
    """Whether a budget is spent before a run's last update."""
    return any(
        np.any(ticks(trace, EventKind.budget_exhausted) < trace.update_ticks[-1]) for trace in found
    )


def piling_up(found: list[Trace]) -> bool:
    """Whether requests still wait at the end, more than half of all."""
    asked = [len(ticks(t, EventKind.request_sent)) for t in found]
    return bool(np.mean([t.n_updates for t in found]) < 0.5 * np.mean(asked))


def unanswered(found: list[Trace]) -> bool:
    """Whether more queries than owners can have at hand have no answer."""
    return any(
        len(ticks(t, EventKind.query_sent)) - len(ticks(t, EventKind.answer_released)) > 3
        for t in found
    )


def lacking(found: list[Trace]) -> bool:
    """Whether some round has not an answer of everybody."""
    return any(np.any(np.bincount(t.updates["k"])[1:] != 3) for t in found)


def late(found: list[Trace]) -> bool:
    """Whether some owner has none of the first half of the updates, in every run."""
    return all(len(np.unique(t.updates["owner"][: T // 2])) < 3 for t in found)


def interleaved(found: list[Trace]) -> bool:
    """Whether an owner sends an answer again after it has begun to send another one."""
    again = EventKind.answer_resent
    for trace in found:
        sent = trace.events[np.isin(trace.events["kind"], (EventKind.answer_released, again))]
        for owner in (1, 2, 3):
            own = sent[sent["owner"] == owner]
            if np.any((own["kind"][1:] == again) & (np.diff(own["message"]) != 0)):
                return True
    return False


def timeless(found: list[Trace]) -> bool:
    return all(trace.update_ticks[-1] == 0 for trace in found)


@pytest.mark.parametrize("said", OF_NETWORKS["rows"])
def test_what_is_said_is_true(said):
    row = OF_NETWORKS["rows"][said]
    fact = happens(row["event"]) if "event" in row else globals()[row["fact"]]
    chosen = network(row["case"])
    assert any(reason.startswith(said) for reason in reasons(chosen)), reasons(chosen)
    assert fact(traces(chosen))
    for other in row["near"]:
        near = network(other)
        assert not any(reason.startswith(said) for reason in reasons(near)), other
        assert not fact(traces(near)), other


# Doubts of exact moments


def scenario(case: list) -> Scenario:
    fields = scenes.fields(**SCENE)
    for key, value in composed(OF_MOMENTS["parts"], case).items():
        whole = "kind" in value or key not in fields
        fields[key] = value if whole else fields[key] | value
    return parse(Scenario, fields)


def doubts(chosen: Scenario) -> list[str]:
    known = population(chosen, private=False)
    found = broken(known) or exact(known)
    return list(found) if isinstance(found, list | tuple) else []


def positive(name: str) -> Callable[[RunResult], bool]:
    """Whether a figure of the summary is above 0."""
    return lambda found: found.summary[name] > 0


def cut_short(found: RunResult) -> bool:
    return any(trace.n_updates < UPDATES for trace in found.traces)


def silent(found: RunResult) -> bool:
    """Whether some owner had no answer left while others still made updates."""
    allowed = np.array(found.scenario.network.answers_allowed)
    spent = [np.any(trace.released[: len(allowed)] >= allowed) for trace in found.traces]
    return bool(np.any(spent)) and max(trace.n_updates for trace in found.traces) > 0


def incomplete(found: RunResult) -> bool:
    """Whether some round had not an answer of everybody; or fewer rounds were held."""
    n = found.scenario.owners.count
    return any(
        np.any(np.bincount(t.updates["k"], minlength=UPDATES + 1)[1:] != n) for t in found.traces
    )


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


@one_in(3, "name", OF_MOMENTS["rows"])
def test_what_is_said_of_moments_is_true(name):
    row = OF_MOMENTS["rows"][name]
    said, figure = row["said"], row.get("positive")
    fact = globals()[row["fact"]] if figure is None else positive(figure)
    for chosen in map(scenario, (row["case"], *row.get("also", ()))):
        assert any(said in reason for reason in doubts(chosen))
        assert fact(run(chosen))
    for other in row["near"]:
        near = scenario(other)
        assert not any(said in reason for reason in doubts(near)), other
        found = run(near)
        exempt = near.algorithm.looks_at_models is False
        exempt = exempt or fact is clipping or figure == "loss_rate"
        assert exempt or not fact(found), other
