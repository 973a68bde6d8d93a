"""Short runs: means are corrected for what is under way then, or said to be of longer runs."""

from typing import Any

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.network import Network, simulate
from asyncdp_sim.network.clocks import PoissonClock, SaturatedClock
from asyncdp_sim.network.laws import Constant, Exponential
from asyncdp_sim.network.protocols import Dispatch, Push
from asyncdp_sim.scenario import Scenario, parse
from asyncdp_sim.sentences.scenario import describe
from asyncdp_sim.theory.formulas.exchanges import always_busy_mean, always_busy_mean_of
from asyncdp_sim.theory.predict.all import predict, predicted
from asyncdp_sim.theory.prediction import Unknown
from tests import scenes
from tests.one_in import one_in

WORK = Exponential(mean=1.0)
SHORT = 30
UNLIKE = tuple(Exponential(mean=mean) for mean in (0.5, 1.0, 2.0, 4.0))
KNOWN: dict[str, dict[str, Any]] = {
    "ample owners": {"protocol": Dispatch(tasks=4, queue="none"), "compute": WORK},
    "more tasks": {"protocol": Dispatch(tasks=9, queue="none"), "compute": WORK},
    "a task each": {"protocol": Dispatch(tasks=4, to="same"), "compute": UNLIKE},
    "always busy": {"protocol": Push(), "clock": SaturatedClock(), "compute": UNLIKE},
}
UNKNOWN: dict[str, dict[str, Any]] = {
    "tasks that wait": {"protocol": Dispatch(tasks=4), "compute": WORK},
    "constant times": {
        "protocol": Dispatch(tasks=4, queue="none"),
        "compute": Constant(value=1.0),
    },
    "clocks that tick": {"protocol": Push(), "compute": WORK},
    "every tick": {"protocol": Push(own_tick="overlap"), "compute": WORK},
    "a run that may end before": {
        "protocol": Dispatch(tasks=4, queue="none"), "compute": WORK, "until": 8.0,
    },
}  # fmt: skip


def network(updates: int, parts: dict[str, Any]) -> Network:
    given = {"answers_allowed": (10**6,) * 4, "updates": updates, "clock": PoissonClock(rate=1.0)}
    return Network(**(given | parts))


def staleness(known: Network, seed: int, runs: int) -> tuple[float, float]:
    """Return the mean over runs of their mean staleness, and its standard error."""
    streams = Streams(seed)
    means = [
        simulate(known, streams.within("replicate", number)).updates["staleness"].mean()
        for number in range(runs)
    ]
    return float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(runs))


@pytest.mark.long
@pytest.mark.parametrize("updates", [1, 7, SHORT])
@pytest.mark.parametrize("parts", KNOWN.values(), ids=KNOWN)
def test_a_short_run_has_the_mean_that_is_predicted(parts, updates):
    known = network(updates, parts)
    expected = predicted(known, "mean_staleness")
    assert not isinstance(expected, Unknown)
    found, error = staleness(known, 41, 300)
    assert abs(found - expected) < 4 * error + 1e-12


def test_by_hand():
    """Of two jobs alike the first update is 0 stale; the second 1 if the other one ends, else 0."""
    assert always_busy_mean_of((0.5, 0.5), 1) == pytest.approx(0.0)
    assert always_busy_mean_of((0.5, 0.5), 2) == pytest.approx(0.25)
    assert always_busy_mean_of((1.0,), 5) == 0
    assert always_busy_mean_of((0.1, 0.2, 0.7), 10**9) == pytest.approx(always_busy_mean(3))


@pytest.mark.parametrize("parts", UNKNOWN.values(), ids=UNKNOWN)
def test_a_mean_for_ever_says_from_which_length_on(parts):
    value = predicted(network(10**6, parts), "mean_staleness")
    assert not isinstance(value, Unknown)
    first = int(np.ceil(100 * (1 + value)))
    short = predicted(network(first - 1, parts), "mean_staleness")
    assert isinstance(short, Unknown)
    assert f"the long-run mean {value:.3g} is" in short.reason
    assert f"from {first} updates on; this run has {first - 1}" in short.reason
    assert predicted(network(first, parts), "mean_staleness") == value


@one_in(3, "name", ["tasks that wait", "constant times", "clocks that tick"])
def test_from_that_length_on_it_is_within_a_few_per_cent(name):
    value = predicted(network(10**6, UNKNOWN[name]), "mean_staleness")
    assert not isinstance(value, Unknown)
    found, error = staleness(network(round(100 * (1 + value)), UNKNOWN[name]), 43, 60)
    assert abs(found / value - 1) < 0.02 + 4 * error / value
    found, _ = staleness(network(SHORT, UNKNOWN[name]), 43, 60)
    assert found < 0.95 * value


def test_nothing_that_is_never_stale_depends_on_the_length():
    for updates in (1, 10**6):
        [found] = [
            each
            for each in predict(network(updates, {"protocol": Push()}))
            if each.quantity == "mean_staleness"
        ]
        assert (found.value, found.reason) == (0.0, "")


@pytest.mark.parametrize(("queue", "updates"), [("none", SHORT), ("fifo", 500), ("fifo", 10**5)])
def test_a_value_that_holds_in_the_long_run_only_is_told_with_its_updates(queue, updates):
    fields = scenes.fields(
        id="short",
        run={"updates": updates},
        owners={"count": 4, "records": 50},
        model={"regularisation": 1e-2},
        compute={"kind": "exponential", "mean": 1.0},
        protocol={"kind": "dispatch", "tasks": 4, "queue": queue},
        algorithm={"kind": "fedasync", "step": 0.1, "mixing": 0.5},
        privacy={"epsilon": 10.0},
    )
    scenario = parse(Scenario, fields)
    [line] = [each for each in describe(scenario) if each.startswith("predicted throughput: ")]
    assert line.endswith("; within 1 % from 400 updates on)") is (updates < 400)
