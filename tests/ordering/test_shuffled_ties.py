"""``ties = "shuffled"`` shows what depends on the order at one tick, and changes nothing else."""

import numpy as np
import pytest

from asyncdp_sim.network import simulate
from asyncdp_sim.streams import Streams
from asyncdp_sim.trace import EventKind, Trace
from tests.ordering.cases import CASES, Case

SEEDS = range(1, 21)

UNORDERED = {
    # Two owners leave at one tick: who is noted first depends on the order, nothing else does.
    "run_ends_when_all_have_left",
    # An outage ends as another begins: the owner may be noted as back for no time.
    "one_outage_begins_as_another_ends",
}

DEPENDENT = {
    # Two requests of one class meet at one tick: who goes first decides who is served.
    "two_ticks_at_once",
    "scheduled_first_happens_first",
    "two_requests_arrive_at_once",
    "deterministic_rates_differ",
    # Several exchanges at one tick: the order of updates is the order of ticks.
    "three_ticks_at_once",
    "zero_service_none",
    "zero_compute_constant",
    "zero_everything_constant",
    "update_t_between_two_ticks",
    # Two gradients are ready at one tick, over and over.
    "saturated_owners_begin_at_once",
}


def shuffled(case: Case, seed: int) -> Trace:
    network = case.network.model_copy(update={"ties": "shuffled"})
    return simulate(network, Streams(seed).within("replicate", 1), events=True)


def told(trace: Trace) -> tuple[object, ...]:
    return (trace.exchanges.tolist(), trace.owners.tolist(), trace.events.tolist(), trace.end_tick)


def test_the_dependent_scenarios_are_in_the_catalogue() -> None:
    assert {case.name for case in CASES} > DEPENDENT | UNORDERED
    assert not DEPENDENT & UNORDERED


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name not in DEPENDENT | UNORDERED], ids=lambda case: case.name
)
def test_order_independent_scenarios_do_not_change(case: Case) -> None:
    declared = told(simulate(case.network, Streams(1).within("replicate", 1), events=True))
    assert all(told(shuffled(case, seed)) == declared for seed in SEEDS)


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name in UNORDERED], ids=lambda case: case.name
)
def test_only_the_notes_of_coming_and_going_change_order(case: Case) -> None:
    presence = [EventKind.went_online, EventKind.went_offline]

    def others(trace: Trace) -> tuple[object, ...]:
        rest = trace.events[~np.isin(trace.events["kind"], presence)].tolist()
        return (trace.exchanges.tolist(), trace.owners.tolist(), rest, trace.end_tick)

    declared = simulate(case.network, Streams(1).within("replicate", 1), events=True)
    traces = [shuffled(case, seed) for seed in SEEDS]
    assert all(others(trace) == others(declared) for trace in traces)
    assert len({tuple(trace.events["owner"].tolist()) for trace in traces}) > 1


@pytest.mark.parametrize(
    "case", [c for c in CASES if c.name in DEPENDENT], ids=lambda case: case.name
)
def test_order_dependent_scenarios_are_exposed(case: Case) -> None:
    first = {tuple(shuffled(case, seed).updates["owner"].tolist()) for seed in SEEDS}
    assert len(first) > 1


def test_a_shuffle_is_the_same_for_the_same_seed() -> None:
    case = next(case for case in CASES if case.name == "three_ticks_at_once")
    orders = [shuffled(case, seed).updates["owner"].tolist() for seed in SEEDS]
    assert orders == [shuffled(case, seed).updates["owner"].tolist() for seed in SEEDS]
    assert len({tuple(order) for order in orders}) == 6  # 20 draws find all 3! orders


def test_both_orders_of_a_tie_are_about_equally_likely() -> None:
    case = next(case for case in CASES if case.name == "two_ticks_at_once")
    first = sum(int(shuffled(case, seed).updates["owner"][0]) == 1 for seed in range(400))
    assert abs(first - 200) < 40  # four standard errors
