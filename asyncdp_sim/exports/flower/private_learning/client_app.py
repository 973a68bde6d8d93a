"""The Flower client: one process for each message, which gives ``owner.py`` what it needs."""

import logging

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from .owner import respond

app = ClientApp()


@app.train()
def answer(message: Message, context: Context) -> Message:
    """Reply to a query at a point that the server sent, or to one without a point."""
    reply, warning = respond(dict(context.node_config), message.content["query"].get("point"))
    if warning:
        logging.getLogger("flwr").warning(warning)  # in this client's own log
    return Message(RecordDict({"reply": ConfigRecord(reply)}), reply_to=message)
