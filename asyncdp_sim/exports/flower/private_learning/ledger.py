"""The ledger: a file of the client's own, charged and synced to disk before an answer leaves.

The client must trust this file, its disk, and everybody who can write to either. No clock, no
message and no server decides what is left. A ledger is made once, by its owner:
``python -m private_learning.ledger FILE OWNER``; without OWNER it prints what was spent.
"""

import fcntl
import hashlib
import json
import os
import sys
from fractions import Fraction
from pathlib import Path

PLAN = Path(__file__).with_name("plan.json")


class RefusedError(Exception):
    """The client does not answer, and the reason may be sent to the server."""


def digest() -> str:
    """Return the digest of the plan that this app carries out."""
    return hashlib.sha256(PLAN.read_bytes()).hexdigest()


def create(path: str, owner: str) -> None:
    """Make an owner's empty ledger, which belongs to this plan alone."""
    with Path(path).open("x", encoding="utf-8") as file:
        head = {"owner": owner, "plan": digest(), "place": _place(file.fileno())}
        file.write(json.dumps(head) + "\n")
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(Path(path).resolve().parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def charge(path: str, owner: str, cost: float, budget: float, answers: int) -> str:
    """Charge an answer, and return once that is on disk; the text warns of a copied ledger.

    Parameters
    ----------
    path, owner : str
    cost, budget : float
        What this answer costs, and what all may cost together, in one unit.
    answers : int
        The largest number of answers.

    Raises
    ------
    RefusedError
        If the budget is spent, or the charge cannot be written.
    """
    try:
        with Path(path).open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # two processes of one client charge in turn
            charged, warning = _read(file.read(), owner, _place(file.fileno()))
            spent = sum(map(Fraction, charged), Fraction(0))
            if len(charged) >= answers or spent + Fraction(cost) > Fraction(budget):
                raise RefusedError(
                    f"{len(charged)} answers of {answers} are charged: no budget is left"
                )
            torn = file.tell() > 0 and not _ends(file)
            line = json.dumps({"answer": len(charged) + 1, "cost": cost}) + "\n"
            file.write(b"\n" * torn + line.encode())
            file.flush()
            os.fsync(file.fileno())
            return warning
    except FileNotFoundError:
        raise RefusedError("there is no ledger: its owner makes it, once") from None
    except OSError as error:
        raise RefusedError(f"the ledger cannot be charged: {error.strerror}") from None


def spent(path: str, owner: str) -> tuple[int, float, str]:
    """Return how many answers were charged, their costs added up, and a warning or nothing."""
    try:
        with Path(path).open("rb") as file:
            charged, warning = _read(file.read(), owner, _place(file.fileno()))
    except OSError as error:
        raise RefusedError(f"the ledger cannot be read: {error.strerror}") from None
    return len(charged), float(sum(map(Fraction, charged), Fraction(0))), warning


def _read(content: bytes, owner: str, place: str) -> tuple[list[float], str]:
    """Return all charges; a line that was cut off counts as the largest cost of the others."""
    lines = content.decode("utf-8", errors="replace").split("\n")
    try:
        head = json.loads(lines[0])
    except ValueError:
        raise RefusedError("the ledger has no head") from None
    if head.get("owner") != owner or head.get("plan") != digest():
        raise RefusedError("the ledger belongs to another owner or plan")
    charged: list[float | None] = []
    for line in filter(None, lines[1:]):
        try:
            charged.append(float(json.loads(line)["cost"]))
        except (ValueError, TypeError, KeyError):
            charged.append(None)
    most = max((cost for cost in charged if cost is not None), default=0.0)
    moved = "the ledger was copied or moved: a copy does not give a budget twice"
    warning = moved if head.get("place") != place else ""
    return [most if cost is None else cost for cost in charged], warning


def _place(descriptor: int) -> str:
    status = os.fstat(descriptor)
    return f"{status.st_dev}:{status.st_ino}"


def _ends(file) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


if __name__ == "__main__":
    if len(sys.argv) > 2:
        create(sys.argv[1], sys.argv[2])
    else:
        with Path(sys.argv[1]).open(encoding="utf-8") as ledger:
            owner = json.loads(ledger.readline())["owner"]
        count, cost, warning = spent(sys.argv[1], owner)
        sys.stdout.write(f"{owner}: {count} answers charged, {cost:.12g} in all. {warning}\n")
