"""No owner answers more often, or sooner after its last query, than it may: any network."""

from collections import Counter
from random import Random

from hypothesis import given

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.network import Network
from asyncdp_sim.trace import Detail, Ending, EventKind
from tests.drawn import NothingFitsError
from tests.properties.networks import FIXED, SEEDS, network, seeded, traced
from tests.properties.rough_networks import rough_network


def resting(rng: Random) -> Network:
    """A network whose learner lets owners rest, with losses or without."""
    found = rough_network(rng, 1 / 3) if rng.random() < 0.75 else network(rng)
    if not found.protocol.keeps_apart:
        raise NothingFitsError
    same = found.channel.model_copy(update={"resend": "same"})
    return Network(**{**dict(found), "apart": rng.choice([1, 2, 3]), "channel": same})


NETWORKS = seeded(resting)


@FIXED
@given(NETWORKS, SEEDS)
def test_no_owner_answers_more_often_or_sooner_than_it_may(network: Network, seed: int) -> None:
    trace = traced(network, seed)
    asked, released, updates = dict[int, int](), Counter[int](), 0
    for event in trace.events:
        kind, owner = EventKind(event["kind"]), int(event["owner"])
        if kind is EventKind.update_applied:
            updates += 1
        elif kind is EventKind.query_sent:
            assert updates - asked.get(owner, -network.apart) >= network.apart
            asked[owner] = updates
        elif kind is EventKind.answer_released:
            released[owner] += 1
        elif event["detail"] == Detail.too_soon:
            assert updates - asked[owner] < network.apart
    for owner, allowed in enumerate(network.answers_allowed, start=1):
        assert released[owner] <= allowed
    if trace.ending is Ending.resting:
        assert any(
            released[owner] < network.answers_allowed[owner - 1] and updates - k < network.apart
            for owner, k in asked.items()
        )


def test_everything_happens_in_some_network() -> None:
    rng, met = Random(1), Counter[str]()
    for seed in range(200):
        try:
            found = resting(rng)
        except (NothingFitsError, SpecError):
            continue
        trace = traced(found, seed)
        met[found.protocol.kind] += 1
        met[trace.ending.name] += 1
        met["refused"] += bool((trace.events["detail"] == Detail.too_soon).any())
        met["drawn"] += found.protocol.asked_at_most is not None
    expected = ("request", "rounds", "dispatch", "resting", "updates", "refused", "drawn")
    assert min(met[name] for name in expected) >= 3, met
