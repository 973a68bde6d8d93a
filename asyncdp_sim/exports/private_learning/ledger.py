"""The ledger: a file of the client's own, charged and synced to disk before an answer leaves.

The client must trust this file, its disk, and everybody who can write to either. No clock, no
message and no server decides what is left. A ledger is made once, by its owner:
``python -m private_learning.ledger FILE OWNER``.

Its first line says whose it is and of which plan. Each byte after that line is an answer: a byte
cannot be half written, and whatever else a crash leaves there counts as answers too. An answer
costs at most a K_i-th of the owner's budget.
"""

import fcntl
import hashlib
import json
import os
import sys
from pathlib import Path
from typing import BinaryIO

PLAN = Path(__file__).with_name("plan.json")


REASONS = ("refused", "no table", "no ledger", "wrong owner", "wrong plan", "spent")
"""All that a server may learn of why an owner refuses. No cell of a table decides which it is: but
for files and budgets that are not there, or another's, the server learns that it was refused."""


class RefusedError(Exception):
    """The client does not answer: one of ``REASONS``, and details for the owner's own log."""

    def __init__(self, reason: str, details: str) -> None:
        super().__init__(f"{reason}: {details}")
        self.reason = REASONS.index(reason)


def digest() -> str:
    """Return the digest of the plan that this app carries out."""
    return hashlib.sha256(PLAN.read_bytes()).hexdigest()


def create(path: str, owner: str) -> None:
    """Make an owner's empty ledger, which belongs to this plan alone."""
    with open(path, "xb") as file:
        head = {"owner": owner, "plan": digest(), "place": _place(file)}
        sync(file, json.dumps(head).encode() + b"\n")
    folder = os.open(Path(path).resolve().parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def charge(path: str, owner: str, answers: int) -> None:
    """Charge one answer of so many, and return once that is on disk."""
    with open(path, "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # two processes of one client charge in turn
        count, _ = _read(file, owner)
        if count >= answers:
            raise RefusedError("spent", f"{count} answers of {answers} are charged")
        sync(file, b"|")


def spent(path: str, owner: str) -> tuple[int, str]:
    """Return how many answers were charged, and a warning of a copied ledger, or nothing."""
    with open(path, "rb") as file:
        return _read(file, owner)


def _read(file: BinaryIO, owner: str) -> tuple[int, str]:
    head = json.loads(file.readline())
    if head["owner"] != owner:
        raise RefusedError("wrong owner", f"the ledger belongs to {head['owner']}, not to {owner}")
    if head["plan"] != digest():
        raise RefusedError("wrong plan", "the ledger belongs to another plan")
    warning = "the ledger was copied or moved: a copy does not give a budget twice"
    return len(file.read()), "" if head["place"] == _place(file) else warning


def _place(file: BinaryIO) -> str:
    status = os.fstat(file.fileno())
    return f"{status.st_dev}:{status.st_ino}"


def sync(file: BinaryIO, content: bytes) -> None:
    """Write bytes, and return once they are on disk."""
    file.write(content)
    file.flush()
    os.fsync(file.fileno())


if __name__ == "__main__":
    create(*sys.argv[1:])
