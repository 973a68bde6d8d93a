"""Messages that the app waits for no more, by Flower's own state of a link.

Needs the extra ``flower``. An answer that comes too late is charged and reaches nobody: see also
``tests/unit/exports``.
"""

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytestmark = [
    pytest.mark.flower,
    pytest.mark.filterwarnings("ignore:'click:DeprecationWarning"),  # of typer, which flwr imports
]
POINT = [0.5, -0.25]
RUN = 7


@pytest.fixture
def flower(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return an app's link over Flower's grid and state in memory, and the number of a node."""
    from flwr.common.constant import SUPERLINK_NODE_ID
    from flwr.proto.task_pb2 import Task
    from flwr.server.superlink.linkstate import LinkStateFactory
    from flwr.server.superlink.linkstate.in_memory_linkstate import RunRecord
    from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME, NOOP_FEDERATION_ID
    from flwr.supercore.object_store import ObjectStoreFactory
    from flwr.supercore.run import Run
    from flwr.supercore.task_identity import TaskIdentity
    from flwr.superlink.federation import NoOpFederationManager
    from flwr.superlink.grid import InMemoryGrid

    from asyncdp_sim.exports.private_learning.server_app import FlowerLink

    factory = LinkStateFactory(
        FLWR_IN_MEMORY_DB_NAME, NoOpFederationManager(), ObjectStoreFactory()
    )
    state, run = factory.state(), Run.create_empty(RUN)
    run.primary_task_id, run.federation_id = 1, NOOP_FEDERATION_ID
    state.run_ids[RUN] = RunRecord(run=run)
    state.task_store[1] = Task(task_id=1, run_id=RUN)
    node = state.create_node("account", "name", b"key", heartbeat_interval=1e6)
    state.activate_node(node, 1e6)
    grid = InMemoryGrid(factory)
    grid.set_run(run)
    identity = {"_task_id": 1, "_run_id": RUN, "_node_id": SUPERLINK_NODE_ID}
    for name, value in identity.items():
        monkeypatch.setattr(TaskIdentity, name, value)
    return SimpleNamespace(link=FlowerLink(grid), state=state, node=node)


def _received(flower: SimpleNamespace, message: str) -> list[tuple[str, dict]]:
    return flower.link.receive([message], flower.link.now())


def _reply(message: Any) -> Any:
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict

    content = {"gradient": ArrayRecord([np.ones(2)]), "numbers": MetricRecord({"left": 3})}
    reply = Message(RecordDict(content), reply_to=message)
    reply.metadata.__dict__["_message_id"] = "the reply"
    return reply


def test_an_answer_is_received_once(flower):
    message = flower.link.send(flower.node, POINT, 60.0)
    assert _received(flower, message) == []
    [query] = flower.state.get_message_ins(flower.node, limit=None)
    np.testing.assert_array_equal(query.content["model"].to_numpy_ndarrays()[0], POINT)
    assert flower.state.store_message_res(_reply(query)) is not None
    [(identity, reply)] = _received(flower, message)
    assert identity == message
    assert (reply["left"], reply["answer"].tolist()) == (3, [1.0, 1.0])
    assert flower.state.num_message_ins() == 0


def test_a_message_that_is_not_answered_in_time_is_cancelled(flower):
    message = flower.link.send(flower.node, POINT, 0.2)
    time.sleep(0.25)
    assert _received(flower, message) == [(message, {})]
    assert flower.state.num_message_ins() == 0
    assert flower.state.get_message_ins(flower.node, limit=None) == []


@pytest.mark.parametrize("asked", [True, False])
def test_an_answer_that_is_late_is_taken_by_nobody(flower, asked):
    message = flower.link.send(flower.node, POINT, 0.2)
    [query] = flower.state.get_message_ins(flower.node, limit=None)
    reply = _reply(query)
    time.sleep(0.25)
    if asked:
        assert _received(flower, message) == [(message, {})]
    assert flower.state.store_message_res(reply) is None
    assert _received(flower, message) == [(message, {})]


def test_a_message_to_a_node_that_is_gone_is_cancelled(flower):
    message = flower.link.send(flower.node, POINT, 60.0)
    flower.state.deactivate_node(flower.node)
    assert _received(flower, message) == [(message, {})]
    flower.state.activate_node(flower.node, 1e6)
    assert flower.state.get_message_ins(flower.node, limit=None) == []


def test_a_message_that_flower_does_not_take_is_one_without_an_answer(flower):
    message = flower.link.send(flower.node + 1, POINT, 60.0)
    assert _received(flower, message) == [(message, {})]
