"""A node's loss from all that it hears: adds up to a whole number, and a published sum to another.

The loss of what node v hears, summed over all owners, is the trace of a projection: its rank, the
number of messages that are no sum of earlier ones, which is counted here from the meetings alone.
Identities of every run: no law, and no error but rounding.
"""

from functools import cache

import numpy as np
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.learning.algorithms import Averaging
from asyncdp_sim.network import simulate
from asyncdp_sim.privacy.observers import NodeObserver
from asyncdp_sim.privacy.observers.node import Round, leverages, meetings
from asyncdp_sim.scenario.catalogue import entry
from scenarios.beyond.muffliato import counts, first_alone, new_messages, sums
from tests.tables import table

pytestmark = pytest.mark.oracle(
    "information that a node gains about all other owners' records jointly, "
    "and from a first message"
)

N = 8
SMALL = tuple(table(__file__, "message_sums.toml")["small"])


@cache
def played() -> tuple[list[Round], ...]:
    scenario = entry("privacy-over-distance").scenario(SMALL)
    cell = scenario.cell(next(iter(scenario.grid())))
    streams = Streams(3)
    return tuple(
        meetings(simulate(cell.network, streams.within("replicate", r))) for r in range(1, 4)
    )


def exact(rounds: list[Round]) -> np.ndarray:
    found = leverages(rounds, np.ones(N), np.eye(N, dtype=bool)).T
    np.fill_diagonal(found, 0.0)
    return found


def test_the_entry_is_averaging_as_a_node_sees_it():
    asked = entry("privacy-over-distance").scenario()
    assert isinstance(asked.algorithm, Averaging)
    assert isinstance(asked.privacy.observer, NodeObserver)


def test_every_message_adds_one_over_all_owners():
    for rounds in played():
        assert sums(rounds, N).sum(axis=0) == pytest.approx(counts(rounds, N), rel=1e-12)


def test_losses_add_up_to_the_new_messages_and_no_other_number_does():
    """The trace of a projection is its rank; a message that repeats others adds nothing."""
    for rounds in played():
        totals, new = exact(rounds).sum(axis=0), new_messages(rounds, N)
        assert totals == pytest.approx(new, abs=N * 1e-9)
        assert (new <= np.minimum(counts(rounds, N), N - 1)).all()
    assert any((counts(rounds, N) > new_messages(rounds, N)).any() for rounds in played())


def test_of_one_message_alone_the_sum_is_the_loss_and_of_all_it_is_none():
    [first, *_] = played()
    alone = first_alone(first)
    assert counts(alone, N).max() == 1
    assert exact(alone) == pytest.approx(sums(alone, N) * ~np.eye(N, dtype=bool), abs=1e-12)
    together = exact(first) > np.minimum(sums(first, N), 1) * (1 + 1e-9)
    assert together.mean() > 0.05
