"""The Flower server: messages to single nodes, and replies as they arrive."""

import json
import logging
import time
from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from .ledger import PLAN, digest
from .server import RunServer

app = ServerApp()


class FlowerLink:
    """Connection of the server to its nodes, through Flower."""

    def __init__(self, grid: Grid, patience: float) -> None:
        self._grid, self._patience = grid, patience

    def nodes(self) -> list[int]:
        """Return the nodes that are there."""
        return list(self._grid.get_node_ids())

    def send(self, node: int, point: list[float] | None) -> str:
        """Send a query, or a question about the budget, and return the message's id."""
        query = ConfigRecord({} if point is None else {"point": point})
        kind = "query" if point is None else "train"
        message = Message(RecordDict({"query": query}), node, kind, ttl=self._patience)
        [identity] = self._grid.push_messages([message])
        return identity

    def receive(self, ids: list[str]) -> list[tuple[str, dict | None]]:
        """Return the replies that have arrived; None for a failure."""
        replies = self._grid.pull_messages(ids) if ids else []
        return [
            (m.metadata.reply_to_message_id, None if m.has_error() else dict(m.content["reply"]))
            for m in replies
        ]

    now = staticmethod(time.time)

    def sleep(self) -> None:
        """Wait a little."""
        time.sleep(0.1)


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Carry out the plan, or go on with it."""
    plan = json.loads(PLAN.read_text(encoding="utf-8"))
    folder = Path(str(context.run_config["folder"]))
    folder.mkdir(parents=True, exist_ok=True)
    server = RunServer(plan, FlowerLink(grid, plan["patience"]), folder, digest())
    logging.getLogger("flwr").info("starts at update %d of %d", server.k, plan["updates"])
    ending = server.run()
    model = {"model": server.learner.state["central"], "updates": server.k}
    (folder / "model.json").write_text(json.dumps(model), encoding="utf-8")
    logging.getLogger("flwr").info("update %d of %d: %s", server.k, plan["updates"], ending)
