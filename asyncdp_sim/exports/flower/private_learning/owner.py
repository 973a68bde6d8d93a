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


def respond(settings: dict, point: list[float] | None) -> dict:
    """Return the reply to a query at a point, or to a question about the budget (None).

    Parameters
    ----------
    settings : dict
        The client's own: ``owner``, and the paths ``table`` and ``ledger``.
    point : list of float or None
    """
    plan = json.loads(ledger.PLAN.read_text(encoding="utf-8"))
    try:
        [(place, owner)] = [
            (place, each)
            for place, each in enumerate(plan["owners"])
            if each["name"] == str(settings["owner"])
        ]
        reply = {"owner": place, "gaps": _gaps(owner["mean_gap"])}
        if point is not None:
            reply["answer"], reply["warning"] = _answer(plan, owner, settings, point)
        count, _, reply["warning"] = ledger.spent(str(settings["ledger"]), owner["name"])
        return {**reply, "left": max(owner["answers"] - count, 0)}
    except (KeyError, ValueError, OSError, ledger.RefusedError) as error:
        # A message about a table may quote a private cell, so that only its kind is sent.
        said = str(error) if isinstance(error, ledger.RefusedError) else type(error).__name__
        return {"owner": -1, "left": 0, "refused": said, "local": str(error)}


def _answer(plan: dict, owner: dict, settings: dict, point: list[float]) -> tuple[list, str]:
    """Return a noisy gradient, which has been charged, and a warning of the ledger."""
    from .noise import OwnerNoise  # OpenDP, which only clients need

    theta = np.array(point, dtype=float)
    if theta.shape != (plan["size"],) or not np.isfinite(theta).all():
        raise ledger.RefusedError("the query is no model")
    x, y = table.read(str(settings["table"]), owner, plan["data"])
    exact = steps.gradient(x, y, theta, plan["model"])
    noise = OwnerNoise(plan["privacy"], owner, plan["size"])
    answer = noise.answer(exact)
    path = str(settings["ledger"])
    return answer, ledger.charge(path, owner["name"], noise.cost, noise.budget, owner["answers"])


def _gaps(mean: float | None) -> list[float]:
    """Return seconds between the next ticks of the client's Poisson clock; none without one."""
    draw = SystemRandom().random
    return [] if mean is None else [-mean * math.log1p(-draw()) for _ in range(GAPS)]
