"""The owner's part: what is computed from its rows, and what it costs before it leaves.

The client must trust this file. The server may send any query, as often as it wants: each
answer is clipped, noised and charged by this file, ``steps.py``, ``noise.py`` and ``ledger.py``.
"""

import json
import math
from pathlib import Path
from random import SystemRandom

import numpy as np

from . import ledger, steps, table

GAPS = 64
"""Ticks of the client's clock that a reply announces."""


class OwnerClient:
    """An owner's rows and ledger under a plan.

    ``settings`` are the client's own: the paths ``table`` and ``ledger``. Of them and of the rows,
    ``warning`` is for the owner's own log.
    """

    def __init__(self, plan: dict, owner: dict, settings: dict) -> None:
        self.plan, self._of = plan, owner
        self._ledger, path = str(settings.get("ledger")), str(settings.get("table"))
        if not Path(self._ledger).is_file():
            make = f"python -m private_learning.ledger {self._ledger} {owner['name']}"
            raise ledger.RefusedError("no ledger", f"its owner makes it: {make}")
        _, self.warning = ledger.spent(self._ledger, owner["name"])
        if not Path(path).is_file():
            raise ledger.RefusedError("no table", f"{path} is not there")
        self._x, self._y, void = table.read(path, owner, plan["data"])
        if 2 * void > len(self._y):
            self.warning += f" {void} of {len(self._y)} records have no target that can be read"

    def reply(self, point: np.ndarray | None) -> dict:
        """Return the reply to a query at a point, or to a question about the budget."""
        reply = {} if point is None else {"answer": self._answer(point)}
        count, _ = ledger.spent(self._ledger, self._of["name"])
        reply["left"] = max(self._of["answers"] - count, 0)
        gap, draw = self._of["mean_gap"], SystemRandom().random
        if gap is not None:  # a Poisson clock of the client's own, in seconds
            reply["gaps"] = [-gap * math.log1p(-draw()) for _ in range(GAPS)]
        return reply

    def _answer(self, point: np.ndarray) -> list[float]:
        """Return a noisy gradient, which has been charged."""
        from .noise import OwnerNoise  # OpenDP, which only clients need

        if point.shape != (self.plan["size"],) or not np.isfinite(point).all():
            raise ValueError("the query is no model")
        noise = OwnerNoise(self.plan["privacy"], self._of, self.plan["size"])
        answer = noise.answer(steps.gradient(self._x, self._y, point, self.plan["model"]))
        ledger.charge(self._ledger, self._of["name"], self._of["answers"])
        return answer


def dry_settings(name: str, config: dict) -> dict:
    """Return the settings of an owner in Flower's simulation engine, on one machine.

    ``config`` is the run's. Without a ``table`` each owner has public rows, and a ledger in
    ``folder``. Real rows are charged to the ``ledgers`` of their owners.
    """
    rows = str(config["table"])
    charged = Path(str(config["ledgers"] if rows else config["folder"])) / f"{name}.ledger"
    if not rows and not charged.exists():
        charged.parent.mkdir(parents=True, exist_ok=True)
        ledger.create(str(charged), name)
    return {"owner": name, "table": rows or str(table.PUBLIC), "ledger": str(charged)}


def respond(
    settings: dict, point: np.ndarray | None, config: dict | None = None
) -> tuple[dict, str]:
    """Return the reply to a query, and a line for the owner's own log, or nothing.

    ``config`` is the run's, of which only nodes of Flower's simulation engine take anything.

    Whatever goes wrong, nothing about it is in the reply but one of ``ledger.REASONS``: the kind
    of an exception that one cell causes would be a bit about that cell.
    """
    reply: dict = {}
    try:
        plan = json.loads(ledger.PLAN.read_text(encoding="utf-8"))
        names = [owner["name"] for owner in plan["owners"]]
        if config is not None and "owner" not in settings and "partition-id" in settings:
            settings = dry_settings(names[int(settings["partition-id"])], config)
        if settings.get("owner") not in names:
            raise ledger.RefusedError("wrong owner", "the plan has no owner of that name")
        reply["owner"] = names.index(settings["owner"])
        owner = OwnerClient(plan, plan["owners"][reply["owner"]], settings)
        return reply | owner.reply(point), owner.warning.strip()
    except Exception as error:
        reason = error.reason if isinstance(error, ledger.RefusedError) else 0
        return {**reply, "refused": reason}, f"{settings.get('owner')} refuses: {error!r}"
