"""The owner's part: what is computed from its rows, and what it costs before it leaves.

The client must trust this file. The server may send any query, as often as it wants: each
answer is clipped, noised and charged by this file, ``steps.py``, ``noise.py`` and ``ledger.py``.
"""

import json
import math
from random import SystemRandom

import numpy as np

from . import ledger, steps, table

GAPS = 64
"""Ticks of the client's clock that a reply announces."""


def respond(settings: dict, point: list[float] | None) -> tuple[dict, str]:
    """Return the reply to a query, and a warning for the client's own log.

    The client's own settings are ``owner``, and the paths ``table`` and ``ledger``. A point is
    where the server wants a gradient; without one it asks what budget is left.
    """
    plan = json.loads(ledger.PLAN.read_text(encoding="utf-8"))
    reply: dict = {}
    try:
        place = [each["name"] for each in plan["owners"]].index(str(settings["owner"]))
        owner, path = plan["owners"][place], str(settings["ledger"])
        if point is not None:
            reply["answer"] = _answer(plan, owner, settings, np.array(point, dtype=float))
        count, warning = ledger.spent(path, owner["name"])
        reply |= {"owner": place, "left": max(owner["answers"] - count, 0)}
        if owner["mean_gap"] is not None:  # a Poisson clock of the client's own, in seconds
            draw = SystemRandom().random
            reply["gaps"] = [-owner["mean_gap"] * math.log1p(-draw()) for _ in range(GAPS)]
        return reply, warning
    except (KeyError, ValueError, OSError, ledger.RefusedError) as error:
        # A message about a table may quote a private cell, so that only its kind is sent.
        said = str(error) if isinstance(error, ledger.RefusedError) else type(error).__name__
        return {"refused": said}, f"{type(error).__name__}: {error}"


def _answer(plan: dict, owner: dict, settings: dict, point: np.ndarray) -> list[float]:
    """Return a noisy gradient, which has been charged."""
    from .noise import OwnerNoise  # OpenDP, which only clients need

    if point.shape != (plan["size"],) or not np.isfinite(point).all():
        raise ledger.RefusedError("the query is no model")
    x, y = table.read(str(settings["table"]), owner, plan["data"])
    noise = OwnerNoise(plan["privacy"], owner, plan["size"])
    answer = noise.answer(steps.gradient(x, y, point, plan["model"]))
    ledger.charge(str(settings["ledger"]), owner["name"], owner["answers"])
    return answer
