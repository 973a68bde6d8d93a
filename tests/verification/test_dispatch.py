"""Dispatch: tasks that circulate among owners, against the closed network in product form.

Every run leaves out its first fifth. Staleness is of each owner: so many other tasks return while
one is with it; over all owners its mean is m − 1, whatever the times' laws. That is told of every
update of a run, with what is still under way counted, to the last one.
"""

import numpy as np
import pytest

from asyncdp_sim.core.units import to_units
from asyncdp_sim.theory.formulas.exchanges import closed_network
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.predict.update_order import shares
from tests.tables import table

from .networks import network, runs
from .zscores import fresh_seeds, require, score, shared

pytestmark = [
    pytest.mark.long,
    pytest.mark.oracle("dispatched tasks: throughput, owners, staleness"),
]

RUNS, UPDATES = 40, 3000
SKEWED = (0.5, 0.3, 0.2)
MEANS = (0.1, 0.5, 1.0)
WORK = table(__file__, "work.toml")
CASES = table(__file__, "dispatch.toml")
DRAWN = [name for name, case in CASES.items() if "to" not in case["protocol"]]


def network_of(name):
    case = CASES[name]
    work, latency = WORK[case["work"]], {"query": case["query"]} if "query" in case else {}
    return network(len(work), UPDATES, compute=work, latency=latency, protocol=case["protocol"])


def settled(trace):
    """Return the updates after the first fifth."""
    return trace.updates[UPDATES // 5 :]


def gap(rows):
    """Return the mean time from an update to the next, which has no bias as its inverse has."""
    return to_units(rows["tick"][-1] - rows["tick"][0]) / (len(rows) - 1)


def updates_seen(trace):
    """Return Σ staleness of the answers used, and updates that those still open have seen."""
    still = trace.exchanges[~np.isin(trace.exchanges["message"], trace.updates["message"])]
    return int(trace.updates["staleness"].sum() + (trace.n_updates - still["read_k"]).sum())


def measure(name, *, seed=None, count=RUNS):
    """Return scores of the time between returns, of the staleness, and of the owners' shares."""
    net = network_of(name)
    rows = [settled(each) for each in runs(net, seed or CASES[name]["seed"], count)]
    found = [score("returns", [gap(each) for each in rows], 1 / predicted(net, "throughput"))]
    if name in DRAWN:
        chosen, exact = shares(net), stale(name)
        last = int(np.argmax(exact))  # whose tasks are the oldest
        picked = [float(np.mean(each["owner"] == last + 1)) for each in rows]
        found.append(score("share", picked, chosen[last]))
        if exact[last] > 0:
            late = [float(np.sum(each["staleness"][each["owner"] == last + 1])) for each in rows]
            late = np.array(late) - exact[last] * len(rows[0]) * np.array(picked)
            scale = exact[last] * len(rows[0]) * chosen[last]
            found.append(score("staleness", late, 0, scale))
    return found


def stale(name):
    """Return the mean staleness of each owner's tasks by the formula."""
    net = network_of(name)
    protocol, work, travel = net.protocol, net.compute, net.latency.query.mean
    means, away = [law.mean for law in work], [travel] * len(work)
    if protocol.queue == "none":
        means, away = [0.0] * len(work), [law.mean + travel for law in work]
    return closed_network(protocol.tasks, protocol.chances(len(work)), means, away)[1]


sound = shared(measure)


@pytest.mark.parametrize("name", CASES)
def test_tasks_circulate_as_in_the_closed_network(name):
    require(sound(name), error=0.05)


@pytest.mark.parametrize("name", CASES)
def test_other_tasks_that_return_meanwhile_are_one_less_than_all(name):
    """Pathwise: Σ staleness of those used + updates seen by those still open = (m − 1) k."""
    tasks = network_of(name).protocol.tasks
    for trace in runs(network_of(name), CASES[name]["seed"], 3):
        assert updates_seen(trace) == (tasks - 1) * UPDATES
    many = {"updates": 10**6, "answers_allowed": (10**6 + tasks,) * network_of(name).n_owners}
    long = network_of(name).model_copy(update=many)
    assert predicted(long, "mean_staleness") == pytest.approx(tasks - 1, rel=1e-4)


def test_with_many_tasks_the_slowest_owner_sets_the_pace():
    """m → ∞: min μ_i/p_i; and one task: 1/Σ p_i E S_i."""
    many, _ = closed_network(2000, SKEWED, MEANS, (0.0,) * 3)
    assert many == pytest.approx(min(10 / 0.5, 2 / 0.3, 1 / 0.2), rel=1e-9)
    one, stale = closed_network(1, SKEWED, MEANS, (0.0,) * 3)
    assert one == pytest.approx(1 / (0.05 + 0.15 + 0.2))
    assert stale == (0.0, 0.0, 0.0)


def test_who_shares_is_as_fast_as_who_queues_with_exponential_times():
    """Insensitivity: at the same means the law of shared work is of no account."""
    queued = network_of("four of three owners")
    for name in ("shared, constant", "shared, lognormal"):
        assert predicted(network_of(name), "throughput") == predicted(queued, "throughput")
        assert stale(name) == stale("four of three owners")


test_fresh_seeds = fresh_seeds(measure, CASES, RUNS)
