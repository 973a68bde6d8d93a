"""Oracles 15, 16, 17 and 18: how stale answers are when owners push."""

import numpy as np
import pytest

from asyncdp_sim.network import clocks, laws, protocols
from asyncdp_sim.theory.formulas.exchanges import one_at_a_time, overlapping
from asyncdp_sim.trace import EventKind

from .networks import network, runs
from .zscores import require, score, seen, shared

pytestmark = [pytest.mark.long, pytest.mark.oracle("staleness")]

RUNS, N, JOB, WARM = 60, 10, 0.3, 20.0
STEADY, OVERLAP = laws.Constant(value=JOB), protocols.Push(own_tick="overlap")


def staleness(job, until, *, protocol=None, count=RUNS, **parts):
    """Return, per run, the staleness of jobs read after the warm-up and surely done by the end."""
    parts = {"compute": job, "protocol": protocol or protocols.Push(), "until": until, **parts}
    found = []
    for trace in runs(network(N, 100_000, **parts), 1, count):
        read = trace.updates["read_tick"] / 1e9
        kept = (read >= WARM) & (read < until - 40 * job.mean)
        found.append(trace.updates["staleness"][kept])
    return found


def compared(name, found, chance):
    """Return scores of mean, second moment and P(none), against a law on 0, 1, …"""
    s = np.arange(len(chance))
    return [
        score(f"{name} mean", [each.mean() for each in found], s @ chance),
        score(f"{name} square", [(each**2.0).mean() for each in found], s**2 @ chance),
        score(f"{name} at most the mean", [(each <= s @ chance).mean() for each in found],
              chance[s <= s @ chance].sum()),
    ]  # fmt: skip


@shared
def scores():
    constant = staleness(STEADY, 380.0, protocol=OVERLAP)
    exponential = staleness(laws.Exponential(mean=JOB), 520.0, protocol=OVERLAP)
    busy = staleness(laws.Exponential(mean=1.0), 80.0, clock=clocks.SaturatedClock())
    singly = staleness(STEADY, 340.0), one_at_a_time(N, 1.0, JOB)
    return (
        *compared("every tick a job", constant, overlapping(N * JOB, 60)),
        score("every tick a job, exponential", [each.mean() for each in exponential], N * JOB),
        *compared("one job at a time", *singly),
        score("always busy", [each.mean() for each in busy], N - 1),
    )


@pytest.mark.parametrize("kind", ["every tick a job", "one job at a time", "always busy"])
def test_law(kind):
    chosen = [each for each in scores() if each.name.startswith(kind)]
    means = [each for each in chosen if "square" not in each.name and "most" not in each.name]
    require(means, error=0.003)
    require(chosen, error=0.01)


def test_every_trace_balances_staleness_and_jobs_in_flight():
    """Recounted from the events: each update finds so many reads not yet used."""
    net = network(5, 400, compute=laws.Exponential(mean=0.7), protocol=OVERLAP)
    for trace in runs(net, 3, 5, events=True):
        in_flight = total = 0
        for kind in map(EventKind, trace.events["kind"]):
            in_flight += kind is EventKind.query_sent
            if kind is EventKind.update_applied:
                in_flight -= 1
                total += in_flight
        rows = trace.exchanges
        assert total == trace.in_flight_total == int(np.sum(rows["end_k"] - rows["read_k"]))
        assert total > 0


@pytest.mark.no_evidence
class TestPlantedBugs:
    def test_own_ticks_overlap_where_they_should_be_dropped(self):
        found = staleness(STEADY, 320.0, protocol=OVERLAP, count=20)
        assert seen(compared("", found, one_at_a_time(N, 1.0, JOB))) > 5

    def test_infinitely_many_owners_for_ten(self):
        found = staleness(STEADY, 320.0, count=20)
        assert seen(compared("", found, overlapping(N / (1 + JOB) * JOB, 60))) > 5

    def test_a_locked_learner_has_no_staleness(self):
        found = staleness(STEADY, 120.0, protocol=protocols.Request(), count=20)
        assert all(each.max() == 0 for each in found)
