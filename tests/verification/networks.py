"""Networks for the checks, and where their learning ends."""

import re
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from analysis.exact.learning import ExpectedPsi, expected_psi
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.units import to_ticks
from asyncdp_sim.forecasts.population import population
from asyncdp_sim.learning.algorithms import Setting
from asyncdp_sim.learning.answers import AnswerModel
from asyncdp_sim.learning.replay import replay
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.runs.run import run
from asyncdp_sim.runs.scored import psi_of
from asyncdp_sim.scenario import load
from asyncdp_sim.trace import ExchangeOutcome

from .zscores import score

SCENES = Path(__file__).parent / "scenes"
PAGES = Path(__file__).parents[2] / "docs" / "privacy"


def network(n_owners, updates, *, answers_allowed=None, **parts):
    """Return a network whose budgets outlast the run unless told otherwise."""
    allowed = (updates,) * n_owners if answers_allowed is None else answers_allowed
    return Network(answers_allowed=allowed, updates=updates, **parts)


def lasting(n_owners, until, **parts):
    """Return a network that its time ends, and no number of updates."""
    return network(n_owners, 2**31 - 1, until=until, **parts)


def own_seed(*words):
    """Return a seed that no other case has, so that no two share random numbers."""
    return crc32(repr(words).encode())


def runs(network, seed, count, *, events=False):
    """Yield the traces of independent replicates 1, 2, …"""
    for scope in replicates(seed, count):
        yield simulate(network, scope, events=events)


def pushing(rates, until, channel, own_tick="drop"):
    """Return a network whose owners push over a channel until some time."""
    parts = {"clock": {"kind": "poisson", "rate": rates}, "channel": channel}
    return lasting(len(rates), until, protocol=Push(own_tick=own_tick), **parts)


def replicates(seed, count, first=1):
    """Return the streams of replicates ``first``, …"""
    return [Streams(seed).within("replicate", first + row) for row in range(count)]


def learned(algorithm, objective, noise, traces, seed, *, every=None):
    """Return the path of learning over traces, a replicate each; its last model by default."""
    updates, o = traces[0].n_updates, objective
    setting = Setting(o.weights, o.n_features, updates, o.sigma, o.theta_max)
    scopes = replicates(seed, len(traces))
    return replay(traces, algorithm.steps(setting), AnswerModel(o, noise), scopes, every or updates)


def ended(outcome):
    """Return ψ at the end of every replicate of a run."""
    return psi_of(outcome.problem.task.objective, outcome.learned.models)


def by_moments(scenario):
    """Return what moments say of ψ, where they say it."""
    found = expected_psi(population(scenario, private=False))
    assert isinstance(found, ExpectedPsi), found
    return found


def scene(name, *settings):
    """Return a scenario of the folder ``scenes``, with settings."""
    return load(SCENES / f"{name}.toml", settings)[0]


def rows_of(page, row):
    """Return what a pattern finds in a page on privacy."""
    return re.findall(row, (PAGES / f"{page}.md").read_text("utf-8"), re.M)


def is_its_replay_within_a_budget_of_one(name, *settings):
    """Require the same of live learning and of its replay, and that no owner spends more."""
    first, again = (
        run(scene(name, *settings, f"run.learning={how}")) for how in ("replay", "live")
    )
    assert first.fingerprints == again.fingerprints
    assert first.summary["private"] is True
    assert 0 < first.summary["max_spent_ratio"] <= 1.0
    assert first.summary["epsilon_true"] == pytest.approx(1.0, rel=1e-3)


def in_windows(trace, length, number):
    """Return how many updates fall into each of the first windows of a length, in time units."""
    place = trace.updates["tick"] // to_ticks(length)
    return np.bincount(place[place < number], minlength=number)


def begun(trace, start, end):
    """Return the answers whose first transmission began in [start, end), and which survived.

    Times are in time units. Without losses and retransmissions an answer that is applied is one
    that survived.
    """
    rows, first = trace.exchanges, trace.exchanges["release_tick"]
    within = (first >= to_ticks(start)) & (first < to_ticks(end)) & (rows["transmissions"] > 0)
    sent = rows[within]
    assert not np.any(sent["outcome"] == ExchangeOutcome.in_flight), "the run ended too early"
    return sent, sent["outcome"] == ExchangeOutcome.applied


def surviving(traces, start, window, theory):
    """Return scores of the answers begun in a window, and of those that survive, by a theory."""
    rows = []
    for trace in traces:
        sent, clear = begun(trace, start, start + window)
        rows.append([len(sent), np.count_nonzero(clear)])
    sent, clear = np.array(rows).T
    expected = theory.success_rate * window
    return [
        score("begun", sent, theory.attempt_rate * window),
        score("surviving", clear, expected),
        score("surviving of those begun", clear - theory.success_probability * sent, 0, expected),
    ]
