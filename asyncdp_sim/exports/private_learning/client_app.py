"""The Flower client: one process for each message, which gives ``owner.py`` what it needs."""

import logging

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from .owner import respond

app = ClientApp()


@app.query()
def tell(message: Message, context: Context) -> Message:
    """Reply whose node this is, and what budget is left."""
    return _reply(message, context, None)


@app.train()
def answer(message: Message, context: Context) -> Message:
    """Reply with a noisy gradient at the model that the server sent."""
    try:
        [point] = message.content["model"].to_numpy_ndarrays()
    except Exception:  # whatever a server sends: nothing but a refusal leaves this file
        point = np.array([])
    return _reply(message, context, point)


def _reply(message: Message, context: Context, point: np.ndarray | None) -> Message:
    reply, line = respond(dict(context.node_config), point, dict(context.run_config))
    if line:
        logging.getLogger("flwr").warning(line)  # in this owner's own log
    content = RecordDict()
    if "answer" in reply:
        content["gradient"] = ArrayRecord([np.array(reply.pop("answer"))])
    content["numbers"] = MetricRecord(reply)
    return Message(content, reply_to=message)
