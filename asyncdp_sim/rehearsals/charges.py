"""Charges of an owner: a line on disk for each answer, before the answer is sent."""

import os
from pathlib import Path


class Charges:
    """An owner's ledger.

    A line is on disk before its answer can leave, so that an owner that is killed, and started
    again, knows what it has spent. Of a line that was cut off nothing was sent, and it is paid for
    all the same.

    Parameters
    ----------
    file : Path
        Made where it is not there.

    Attributes
    ----------
    count : int
        How many answers are paid for.
    """

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        before = file.read_bytes()
        if len(before) > 0 and not before.endswith(b"\n"):
            os.write(self._file, b"?\n")
        self.count = len(before.split(b"\n")) - before.endswith(b"\n") if before else 0

    def charge(self, message: int, tick: int) -> None:
        """Pay for the answer to a query; it is on disk when this returns."""
        os.write(self._file, f"{message} {tick}\n".encode())
        os.fsync(self._file)
        self.count += 1

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)


def ledger_file(folder: Path, owner: int) -> Path:
    """Return where an owner (from 1) keeps its ledger."""
    return folder / f"owner-{owner}.txt"


def charged(file: Path) -> dict[int, int]:
    """Return the tick of each charge by the message that was paid for; cut lines have none."""
    lines = file.read_text().splitlines() if file.exists() else []
    whole = [line.split() for line in lines if "?" not in line]
    return {int(message): int(tick) for message, tick in whole}


__all__ = ["Charges", "charged", "ledger_file"]
