"""The Flower server: messages to single nodes, and replies as they arrive."""

import json
import time
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from .ledger import PLAN, digest
from .server import AsyncStrategy

app = ServerApp()
POLL, REFRESH = 0.1, 2.0
"""Seconds between two questions for replies, and for nodes."""


class FlowerLink:
    """Connection of the server to its nodes, through Flower."""

    now = staticmethod(time.time)

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._there: set[int] = set()
        self._seen = 0.0

    def nodes(self) -> set[int]:
        """Return the nodes that are there."""
        if self.now() - self._seen > REFRESH:
            self._there, self._seen = set(self._grid.get_node_ids()), self.now()
        return self._there

    def send(self, node: int, point: list[float] | None, timeout: float) -> str:
        """Send a query, which Flower forgets after so many seconds; return the message's id."""
        content, kind = RecordDict(), "query"
        if point is not None:
            content["model"], kind = ArrayRecord([np.array(point)]), "train"
        sent = list(self._grid.push_messages([Message(content, node, kind, ttl=timeout)]))
        return sent[0] if sent and sent[0] else f"not taken for {node}"

    def receive(self, ids: list[str], until: float) -> list[tuple[str, dict]]:
        """Wait a little; return the replies that have arrived.

        For a message that it does not know, whose time is over, or whose node is gone, Flower
        replies with an error, and cancels it.
        """
        time.sleep(min(POLL, max(until - self.now(), 0.0)))
        # By position: the argument has had several names.
        replies = self._grid.pull_messages(ids) if ids else []
        return [(reply.metadata.reply_to_message_id, _read(reply)) for reply in replies]


def _read(reply: Message) -> dict:
    if reply.has_error():
        return {}
    content = dict(reply.content["numbers"])
    if "gradient" in reply.content:
        [content["answer"]] = reply.content["gradient"].to_numpy_ndarrays()
    return content


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Carry out the plan, or go on with it."""
    plan = json.loads(PLAN.read_text(encoding="utf-8"))
    folder, wait = Path(str(context.run_config["folder"])), float(context.run_config["wait"])
    folder.mkdir(parents=True, exist_ok=True)
    if not AsyncStrategy(plan, FlowerLink(grid), folder, digest(), wait).start():
        raise RuntimeError("the run has ended before its updates were made: see the lines above")
