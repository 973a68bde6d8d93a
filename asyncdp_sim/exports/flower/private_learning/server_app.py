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

    now = staticmethod(time.time)

    def __init__(self, grid: Grid, patience: float) -> None:
        self._grid, self._patience = grid, patience

    def nodes(self) -> set[int]:
        """Return the nodes that are there."""
        return set(self._grid.get_node_ids())

    def send(self, node: int, point: list[float] | None) -> str:
        """Send a query, and return the message's id."""
        query = ConfigRecord({} if point is None else {"point": point})
        message = Message(RecordDict({"query": query}), node, "train", ttl=self._patience)
        [identity] = self._grid.push_messages([message])
        return identity

    def receive(self, ids: list[str]) -> list[tuple[str, dict]]:
        """Wait a little; return the replies that have arrived, empty ones for failures."""
        time.sleep(0.1)
        replies = self._grid.pull_messages(ids) if ids else []
        said = [{} if reply.has_error() else dict(reply.content["reply"]) for reply in replies]
        return [(r.metadata.reply_to_message_id, s) for r, s in zip(replies, said, strict=True)]


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
