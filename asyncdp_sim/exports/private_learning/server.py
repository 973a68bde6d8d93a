"""The server's part: whom to ask when, the model, a checkpoint and a log; nothing here is private.

Owners need not trust this file for their privacy; the owners of the model trust it with accuracy.
An owner without budget is asked no more, but it is the owner's own ledger that refuses.
"""

import csv
import json
import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .ledger import REASONS, sync
from .steps import ServerSteps

LOG = logging.getLogger("flwr")
FIRST_PAUSE, LONGEST_PAUSE = 10.0, 600.0
"""Seconds until a node is asked again after a failure or refusal: doubled for each in a row."""
PROGRESS, SETTLED = 60.0, 10
"""Seconds between two lines of progress, at least; and updates that show a run's pace."""
NOBODY = "no owner can answer"
"""The end of a run that a later run may continue."""


class Sent(NamedTuple):
    """A message under way: to which node and when it was sent, and after which update.

    ``owner`` and ``point`` are of a query; both are None if a node is asked to introduce itself.
    """

    node: int
    owner: int | None
    point: list[float] | None
    k: int
    at: float


@dataclass
class Party:
    """An owner, as far as the server knows it."""

    name: str
    most: int
    """K_i: answers that its budget allows, in all runs of the plan."""
    answers: int = 0
    """Received in all runs of the plan, whatever its ledger says."""
    node: int | None = None
    left: int | None = None
    """What its ledger has left, as it reports itself."""
    refused: str = ""
    ticks: list[float] = field(default_factory=list)
    """Times of its next ticks, by the link's clock: one at ∞ if it has no clock, as in rounds.

    If none is left, its node must introduce itself before the owner is asked again.
    """

    @property
    def spent(self) -> bool:
        """Whether its ledger has nothing left, as it reports, or K_i answers have arrived."""
        return self.left == 0 or self.answers >= self.most

    @property
    def next_tick(self) -> float:
        """When its clock ticks next."""
        return self.ticks[0] if self.ticks else np.inf

    def part(self) -> dict:
        """Return its part in the run; lost answers were charged, and came too late or never."""
        status = "answered" if self.answers > 0 else "never answered"
        if self.spent:
            status = "spent"
        elif self.refused:
            status = f"refused: {self.refused}"
        elif self.node is None:
            status = "never connected"
        lost = 0 if self.left is None else max(self.most - self.left - self.answers, 0)
        return {"status": status, "answers": self.answers, "of": self.most, "lost": lost}


class AsyncStrategy:
    """A run of a plan, or the rest of it by the checkpoint in a folder.

    A link to the owners has ``nodes()``, which are there; ``send(node, point, timeout)``, which
    returns a message's id; ``receive(ids, until)``, which waits no longer than until a time and
    returns pairs of an id and a reply; and ``now()``. Each message has one reply: it is empty, and
    the message is cancelled, once the timeout is over or the node is gone.

    ``wait`` is how many seconds owners have to connect at the start, and after which a run ends if
    no owner with budget can answer.
    """

    def __init__(self, plan: dict, link, folder: Path, digest: str, wait: float) -> None:
        self.plan, self.link, self.wait, self._folder = plan, link, wait, folder
        self.rounds = plan["protocol"]["kind"] == "rounds"
        # What a learner that serves one query after another does with ticks meanwhile: refuse or
        # queue. None if it sends queries at once, as by push and in rounds.
        self.busy = plan["protocol"]["busy"]
        self._checkpoint, self._log = folder / "checkpoint.json", folder / "exchanges.csv"
        self._saved = {"plan": digest, "state": {}, "answers": {}}
        if self._checkpoint.exists():
            self._saved = json.loads(self._checkpoint.read_text(encoding="utf-8"))
        if self._saved["plan"] != digest:
            raise ValueError(f"{self._checkpoint} is of another plan: move it away to begin anew")
        if not self._log.exists():
            self._log.write_text("client,sent,received\n", encoding="utf-8")
        self.learner = ServerSteps(plan["algorithm"], self._saved["state"])
        if self.rounds:
            self.learner.gather_anew()  # the answers of a round that was not ended are lost
        self.parties = [
            Party(owner["name"], owner["answers"], self._saved["answers"].get(owner["name"], 0))
            for owner in plan["owners"]
        ]
        # Queries under way, by the id of their message.
        self._sent: dict[str, Sent] = {}
        # Owners to be sent a query, in the order of their ticks.
        self._queue: list[int] = []
        # Seconds of a node's last pause after a failure or refusal, and when it may be asked again.
        self._pauses: dict[int, float] = {}
        self._ask_at: dict[int, float] = {}
        # The last warning of each subject, so that it is not logged twice in a row.
        self._warned: dict[str, str] = {}
        # When clocks began to tick: all owners had connected, or the wait was over.
        self.begun: float | None = None
        # Updates made before this run, from which its pace is counted.
        self._first = self.k
        # The end of the wait for owners: before clocks tick, for those that have never connected;
        # later, for any that can answer.
        self._deadline = link.now() + wait
        # When progress was last logged.
        self._reported = link.now()

    @property
    def k(self) -> int:
        """Updates made, in all runs together."""
        return self.learner.state["k"]

    def start(self) -> bool:
        """Learn to the end, which is logged and stands in ``model.json``.

        Returns
        -------
        bool
            True if T updates are made or all budgets are spent; False if no owner with budget
            could answer for ``wait`` seconds, so that a later run may go on.
        """
        (self._folder / "model.json").unlink(missing_ok=True)  # it would be of an earlier run
        LOG.info("starts at update %d of %d", self.k, self.plan["updates"])
        while not (ending := self._ending()):
            replies = list(self.link.receive(list(self._sent), self._next_time()))
            self._tick()  # first: until now, these replies were under way
            for message, reply in replies:
                if self.k < self.plan["updates"]:  # a later one is as if it were still under way
                    self._take(self._sent.pop(message), reply)
            if self.rounds and self.learner.state["weight"] > 0 and not self._asked():
                self.learner.end_round()
            if replies:
                self._save()
            self._report()
            self._query()
        complete = ending != NOBODY
        owners = {party.name: party.part() for party in self.parties}
        model = {"model": self.learner.state["central"], "updates": self.k, "end": ending}
        _write(self._folder / "model.json", {**model, "complete": complete, "owners": owners})
        for name, part in owners.items():
            LOG.info("%s: %s, %d answers of %d, %d lost", name, *part.values())
        LOG.info("update %d of %d: %s", self.k, self.plan["updates"], ending)
        return complete

    def _ending(self) -> str:
        """Return why the run ends; nothing while it goes on."""
        if self.k >= self.plan["updates"]:
            return "all updates are made"
        if all(party.spent for party in self.parties):
            return "no owner has budget left"
        over = self.begun is not None and self.link.now() >= self._deadline
        return NOBODY if over else ""

    def _next_time(self) -> float:
        """Return when there is something to do, whether or not a reply arrives."""
        ticks = [self.parties[owner].next_tick for owner in self._able()]
        return min([self._deadline, *self._introductions().values(), *ticks])

    def _able(self) -> list[int]:
        """Return owners that are there, have budget, and do not refuse; none until clocks tick."""
        connected = self.link.nodes() if self.begun is not None else set()
        able = (p.node in connected and not p.refused and not p.spent for p in self.parties)
        return [owner for owner, is_able in enumerate(able) if is_able]

    def _asked(self) -> set[int]:
        """Return the owners with a query under way."""
        return {sent.owner for sent in self._sent.values() if sent.owner is not None}

    def _introductions(self) -> dict[int, float]:
        """Return when nodes must report whose they are, what is left, and when they tick.

        These are nodes without an owner, and those whose owner has no further tick, as after a
        failure; they are asked at once, or after a pause.
        """
        expected = {sent.node for sent in self._sent.values()}
        for owner, party in enumerate(self.parties):
            if party.ticks or party.spent or owner in self._queue:
                expected.add(party.node)
        return {node: self._ask_at.get(node, 0.0) for node in self.link.nodes() - expected}

    def _tick(self) -> None:
        """Queue the owners whose clocks have ticked; over request, a busy server may refuse."""
        due = [owner for owner in self._able() if self.parties[owner].next_tick <= self.link.now()]
        for _, owner in sorted((self.parties[owner].ticks.pop(0), owner) for owner in due):
            waiting = self._asked() | set(self._queue)
            if owner not in waiting and (self.busy != "refuse" or not waiting):
                self._queue.append(owner)

    def _query(self) -> None:
        """Ask nodes to introduce themselves; send queries in a round, or if clocks have ticked."""
        for node, at in sorted(self._introductions().items()):
            if at <= self.link.now():
                self._send(node)
        if self.begun is None:
            self._begin()
        able = self._able()
        if able:
            self._deadline = self.link.now() + self.wait
        if self.rounds and not self._asked():
            self._queue.extend(owner for owner in able if self.parties[owner].ticks)
        while self._queue and not (self.busy and self._asked()):
            owner = self._queue.pop(0)
            if owner in able:
                self._send(self.parties[owner].node, owner)

    def _send(self, node: int, owner: int | None = None) -> None:
        point = None if owner is None else self.learner.query(owner).tolist()
        message = self.link.send(node, point, self.plan["patience"])
        self._sent[message] = Sent(node, owner, point, self.k, self.link.now())

    def _begin(self) -> None:
        """Let all clocks tick from now on, once all owners have connected or ``wait`` is over."""
        now = self.link.now()
        absent = [party.name for party in self.parties if party.node is None]
        if absent and now < self._deadline:
            return
        if absent:
            LOG.warning("continues without %s: never connected", ", ".join(absent))
        self.begun = now
        self._saved.setdefault("start", now)  # of the first run; times in the log count from it
        for party in self.parties:  # whose Poisson clocks have no memory
            party.ticks = [tick for tick in party.ticks if tick >= now]

    def _take(self, sent: Sent, reply: dict) -> None:
        """Take a reply; an empty one is a failure, whose answer may be charged and is lost."""
        if not all(isinstance(reply.get(name, 0), int) for name in ("owner", "left", "refused")):
            reply = {}  # not of this app's client: it counts as a failure, and stops no run
        answer, asked = np.array(reply.get("answer", [])), sent.owner is not None
        fits = answer.dtype.kind == "f" and answer.shape == (self.plan["size"],)
        # An answer counts if its owner was asked for it.
        answered = asked and reply.get("owner") == sent.owner and fits and np.isfinite(answer).all()
        if asked:
            self._log_exchange(sent, answered)
        party = self._party_of(sent.node, reply.get("owner"))
        failed = "left" not in reply or asked != answered
        if not failed and "refused" not in reply and party in self.parties:
            return self._accept(party, sent, reply, answer)
        again = f"asked again in {self._pause(sent.node, party):g} s"
        if "refused" in reply:
            party.refused = REASONS[reply["refused"] % len(REASONS)]  # whatever number it is
            party.left = 0 if party.refused == "spent" else party.left
            self._warn(party.name, f"refuses ({party.refused}): its own log has the reason")
        elif failed:
            text = f"gives no answer ({again}): if this continues, start its node again"
            self._warn(party.name, text)

    def _log_exchange(self, sent: Sent, answered: bool) -> None:
        """Write a row of ``exchanges.csv``, whose times count from the first run's start."""
        name, start = self.parties[sent.owner].name, self._saved["start"]
        row = [name, f"{sent.at - start:.6f}", f"{self.link.now() - start:.6f}" if answered else ""]
        with self._log.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(row)

    def _accept(self, party: Party, sent: Sent, reply: dict, answer: np.ndarray) -> None:
        """Take what an owner reports, and an answer that it was asked for."""
        party.left, party.refused = reply["left"], ""
        party.ticks = (self.link.now() + np.cumsum(reply.get("gaps", [np.inf]))).tolist()
        if sent.owner is not None:
            party.answers += 1
            self._pauses.pop(sent.node, None)
            self._warned.pop(party.name, None)
            self.learner.take(sent.owner, np.array(sent.point), answer, self.k - sent.k)
        if party.left > party.most - party.answers:
            text = "has charged fewer answers than arrived: a second or a restored one"
            self._warn(f"{party.name}'s ledger", text)

    def _party_of(self, node: int, owner: int | None) -> Party:
        """Return the owner that a node speaks for: none of the plan's, if another node is there.

        A reply that names no owner is of the owner that the node spoke for before.
        """
        stranger = Party(f"node {node}", 0)
        if owner not in range(len(self.parties)):
            return next((party for party in self.parties if party.node == node), stranger)
        party = self.parties[owner]
        for other in self.parties:
            if other is not party and other.node == node:  # started again for another owner
                other.node = None
        if party.node not in self.link.nodes():
            LOG.info("%s connected, by node %d", party.name, node)
            party.node = node
        if party.node == node:
            return party
        text = f"claims to be {party.name}, as node {party.node} does: not asked"
        self._warn(f"node {node}", text + " (two ledgers would be two budgets)")
        return stranger

    def _pause(self, node: int, party: Party) -> float:
        """Ask a node later whose it is and what it has left; return in how many seconds."""
        pause = min(2 * self._pauses.get(node, FIRST_PAUSE / 2), LONGEST_PAUSE)
        self._pauses[node], self._ask_at[node] = pause, self.link.now() + pause
        party.ticks.clear()
        return pause

    def _warn(self, about: str, text: str) -> None:
        """Log a line once, and again when it changes."""
        if self._warned.get(about) != text:
            LOG.warning("%s %s", about, text)
        self._warned[about] = text

    def _report(self) -> None:
        """Log progress and the minutes left, by the pace of this run.

        Until ``SETTLED`` updates are made, it counts as no faster than the forecast.
        """
        now, total, made = self.link.now(), self.plan["updates"], self.k - self._first
        if self.begun is None or now - self._reported < PROGRESS:
            return
        least = self.plan["expected_seconds"] / total if made < SETTLED else 0.0
        pace = max(least, (now - self.begun) / max(made, 1))  # seconds of an update
        self._reported, left = now, (total - self.k) * pace / 60
        LOG.info("update %d of %d: about %.0f minutes left", self.k, total, left)

    def _save(self) -> None:
        answers = {party.name: party.answers for party in self.parties}
        _write(self._checkpoint, {**self._saved, "state": self.learner.state, "answers": answers})


def _write(path: Path, content: dict) -> None:
    """Write a JSON file, whole or not at all, and sync it."""
    partial = path.with_suffix(".tmp")
    with partial.open("wb") as file:
        sync(file, json.dumps(content).encode())
    partial.replace(path)
