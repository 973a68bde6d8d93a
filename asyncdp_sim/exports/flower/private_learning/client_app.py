"""The Flower client: one process for each message, which gives ``owner.py`` what it needs."""

import logging

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from .owner import respond

app = ClientApp()


@app.train()
def answer(message: Message, context: Context) -> Message:
    """Answer a query at the point that the server sent."""
    return _reply(message, context, [float(v) for v in message.content["query"]["point"]])


@app.query()
def budget(message: Message, context: Context) -> Message:
    """Say which owner this is, and how many answers it has left."""
    return _reply(message, context, None)


def _reply(message: Message, context: Context, point: list[float] | None) -> Message:
    said = respond(dict(context.node_config), point)
    local = said.pop("local", None) or said.get("warning")
    if local:
        logging.getLogger("flwr").warning(local)  # for this client's own log
    record = ConfigRecord({key: value for key, value in said.items() if value != []})
    return Message(RecordDict({"reply": record}), reply_to=message)
