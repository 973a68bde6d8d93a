"""Doubts of exact moments: each is stated where it is true of runs, and not else.

A row has a case in which the sentence is printed, a fact about its runs that must hold, and cases
that are close by in which the fact does not hold and nothing is said.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from analysis.exact.assumptions import ENDS_EARLY
from analysis.exact.learning import broken, exact
from analysis.exact.silence import BUDGETS_END
from asyncdp_sim.core.specification import parse
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.privacy.mechanisms import NoMechanism
from asyncdp_sim.runs import run
from asyncdp_sim.runs.outcome import RunResult
from asyncdp_sim.scenario import Scenario
from tests import scenes
from tests.one_in import one_in
from tests.verification.test_reasons import PUSH, QUEUE, RETRY

pytestmark = pytest.mark.no_evidence

Fields = dict[str, Any]
Fact = Callable[[RunResult], bool]
T, R = 40, 20


def scenario(changes: Fields) -> Scenario:
    fields: Fields = scenes.fields(
        run={"updates": T, "replicates": R, "record_every": T},
        owners={"records": [60, 40, 50]},
        model={"regularisation": 0.2},
        algorithm={"rho": 60.0},
        privacy={"epsilon": 50.0, "sensitivity": {"kind": "declared", "bound": 3.0}},
    )
    for key, value in changes.items():
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


ROUNDS: Fields = {
    "protocol": {"kind": "rounds"},
    "algorithm": {"kind": "collab-2", "step": 0.05},
}
SHORT_ROUNDS = ROUNDS | {"protocol": {"kind": "rounds", "deadline": 0.4}}
SLOW: Fields = {"compute": {"kind": "exponential", "mean": 0.3}}
STEADY: Fields = {"compute": {"kind": "constant", "value": 0.3}}
DOMAIN = {"kind": "domain", "row_norm": 2.0, "target_max": 2.0, "rows": "l1"}
ONE_SHOT: Fields = {
    "algorithm": {"kind": "noisy-statistics"},
    "run": {"updates": 3},
    "model": {"theta_max": 5.0},
    "privacy": {"sensitivity": DOMAIN, "budget": {"kind": "per-owner-cap", "answers": 1}},
}
OFTEN_OFF: Fields = {
    "kind": "on-off",
    "on": {"kind": "exponential", "mean": 3.0},
    "off": {"kind": "exponential", "mean": 3.0},
}
OUTAGES: Fields = {
    "kind": "outages",
    "groups": [[1, 2]],
    "gap": {"kind": "exponential", "mean": 1.0},
    "length": {"kind": "exponential", "mean": 1.0},
}
CHURN: Fields = {
    "kind": "churn",
    "join": {"kind": "none"},
    "lifetime": {"kind": "exponential", "mean": 3.0},
}
IDEAL: Fields = {"kind": "ideal"}
TDMA: Fields = {"kind": "tdma", "airtime": 0.1, "slot": 0.1}
SERVER: Fields = {"kind": "parameter-server", "step": 0.05}
EXACT: Fields = {"mechanism": "none", "sensitivity": None}


def capped(answers: int) -> Fields:
    return {"privacy": {"budget": {"kind": "per-owner-cap", "answers": answers}}}


def positive(name: str) -> Fact:
    """Whether a figure of the summary is above 0."""
    return lambda found: found.summary[name] > 0


stale, losing, projected = map(positive, ("mean_staleness", "loss_rate", "clip_count"))


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
    objective = found.problem.task.objective
    return bool(np.max(np.abs(objective.optimum)) >= 0.999999 * objective.theta_max)


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


Row = tuple[str, Fields, Fact, tuple[Fields, ...]]
ROWS: dict[str, Row] = {
    "stale": (
        "answers under protocol push may be stale",
        PUSH | SLOW,
        stale,
        (PUSH, SLOW, ROUNDS | SLOW, ONE_SHOT | {"protocol": {"kind": "rounds"}} | SLOW),
    ),
    "stale broadcasts": (
        "answers under protocol broadcast may be stale",
        {"protocol": {"kind": "broadcast", "interval": 2.0}},
        stale,
        ({},),
    ),
    "until": (
        ENDS_EARLY,
        {"run": {"until": 9.0}},
        cut_short,
        ({"run": {"until": 1000.0}}, {}),
    ),
    "budgets": (BUDGETS_END, capped(14), silent, ({}, capped(39))),
    "queue": (
        "requests wait in a queue",
        QUEUE | STEADY,
        positive("mean_waiting"),
        (QUEUE, STEADY),
    ),
    "retry": (
        "refused requests are sent again",
        RETRY | STEADY,
        positive("refusal_rate"),
        ({},),
    ),
    "bursts": (
        "messages are lost in bursts",
        {"channel": IDEAL | {"loss": {"to_bad": 0.2, "to_good": 0.2}}},
        losing,
        ({"channel": IDEAL | {"loss": 0.3}}, {}),
    ),
    "timeout": (
        "the learner gives up after a timeout",
        {"protocol": {"kind": "request", "timeout": 0.3}} | SLOW,
        vain,
        (SLOW,),
    ),
    "offline": (
        "availability is on-off, which is not drawn for each tick alone",
        {"availability": OFTEN_OFF},
        repeating,
        ({"availability": {"kind": "bernoulli", "probability": 0.5}}, {}),
    ),
    "regular clocks": (
        "clocks are gamma, not Poisson",
        {"clock": {"kind": "gamma", "rate": 1.0, "cv": 0.1}},
        repeating,
        ({},),
    ),
    "clipped": (
        "clipped gradients are not linear in the model",
        {"privacy": {"sensitivity": {"kind": "clip", "bound": 1.0}}},
        clipping,
        ({}, {"privacy": {"sensitivity": {"kind": "clip", "bound": 1.0}, "mechanism": "none"}}),
    ),
    "bound": (
        "the optimum lies on the bound of Θ, where the projection acts",
        {"model": {"theta_max": 0.05}},
        lambda found: on_the_bound(found) and projected(found),
        ({"model": {"theta_max": 50.0}},),
    ),
    "not quadratic": (
        "not quadratic",
        ROUNDS
        | {
            "model": {"kind": "mlp", "regularisation": 0.2, "hidden": 2},
            "algorithm": {"kind": "collab-2", "step": 0.05, "initial": "uniform"},
        },
        curved,
        (ROUNDS,),
    ),
    "batch": (
        "a new random sample of the owner's records",
        ROUNDS | {"algorithm": SERVER | {"batch": 5}, "privacy": EXACT},
        sampled,
        (ROUNDS | {"algorithm": SERVER, "privacy": EXACT},),
    ),
    "projection": (
        "the projection onto Θ may act",
        {"model": {"theta_max": 1.5}, "privacy": {"epsilon": 0.5}},
        projected,
        ({"model": {"theta_max": 50.0}},),
    ),
    "divergence": (
        "the learning diverges",
        {"algorithm": {"kind": "async-gossip", "rho": 1e9}},
        diverging,
        ({},),
    ),
    "target": (
        "timing depends on the model",
        {"run": {"target": 0.05, "learning": "live"}},
        model_driven,
        ({},),
    ),
    "lost in rounds": (
        "rounds may lack answers: messages are lost",
        ROUNDS | {"channel": IDEAL | {"loss": 0.3}},
        lacking,
        (ROUNDS, ROUNDS | {"latency": {"acknowledgement": {"kind": "constant", "value": 0.1}}}),
    ),
    "collided in rounds": (
        "rounds may lack answers: owners share a channel (pure ALOHA)",
        ROUNDS | SLOW | {"channel": {"kind": "aloha", "airtime": 0.1}},
        lacking,
        (
            ROUNDS | SLOW | {"channel": TDMA},
            ROUNDS | SLOW | {"channel": {"kind": "parallel", "channels": 2, "each": TDMA}},
        ),
    ),
    "late": (
        "answers that miss the deadline are not in their round",
        SHORT_ROUNDS | SLOW,
        lacking,
        (SHORT_ROUNDS | STEADY, ROUNDS | SLOW),
    ),
    "absent in rounds": (
        "rounds may lack owners: availability is ",
        ROUNDS | {"availability": {"kind": "bernoulli", "probability": 0.6}},
        lacking,
        (
            ROUNDS | {"availability": {"kind": "bernoulli", "probability": 1.0}},
            ROUNDS | SLOW | {"availability": OFTEN_OFF},
            ROUNDS | SLOW | {"availability": OUTAGES},
        ),
    ),
    "spent in rounds": (
        "a budget of 14 answers is spent before round 40",
        ROUNDS | capped(14),
        cut_short,
        (ROUNDS | capped(40),),
    ),
}
ALSO: dict[str, tuple[Fields, ...]] = {
    "lost in rounds": (
        ROUNDS | {"channel": IDEAL | {"loss_query": 0.1}},
        ROUNDS | {"channel": IDEAL | {"loss": {"to_bad": 0.2, "to_good": 0.5}}},
    ),
    "until": (ROUNDS | SLOW | {"run": {"until": 4.0}},),
    "absent in rounds": (ROUNDS | SLOW | {"availability": CHURN},),
}
"""Further cases in which a sentence is printed, and true."""


@one_in(3, "name", ROWS)
def test_what_is_said_is_true(name):
    said, case, fact, silent_cases = ROWS[name]
    for chosen in map(scenario, (case, *ALSO.get(name, ()))):
        assert any(said in reason for reason in reasons(chosen))
        assert fact(run(chosen))
    for other in silent_cases:
        near = scenario(other)
        assert not any(said in reason for reason in reasons(near)), other
        found = run(near)
        exempt = near.algorithm.looks_at_models is False or fact in (clipping, losing)
        assert exempt or not fact(found), other
