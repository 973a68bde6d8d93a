"""Measured exchanges: owner and times of request, read, answer and arrival, a row per request."""

from dataclasses import dataclass
from math import inf, nan
from pathlib import Path

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools, Ints
from asyncdp_sim.core.errors import DataError, Fault, SpecError
from asyncdp_sim.core.specification import LONGEST
from asyncdp_sim.network.protocols import Push, Request, Rounds
from asyncdp_sim.network.table_file import by_line, columns_of, moment_of

COLUMNS = ("owner", "request", "read", "release", "end")
CLIENT = ("client", "sent", "received")
"""What federated software logs: a model is read when it is sent, and its answer is computing."""
KIND = f"allowed is a CSV or .parquet with the columns {','.join(COLUMNS)}, or {','.join(CLIENT)}"
_TIMES = "allowed are times in this order, empty after the last step reached"


@dataclass(frozen=True)
class MeasuredTrace:
    """Exchanges in the order of their requests; NaN from where one did not come to its end.

    Attributes
    ----------
    names : tuple of str
        Name of owner 0, 1, … in the file.
    owner : array of int
        Owner of each exchange.
    request, read, release, end : array
        Time units: when an owner asked, when the model was read for it, when its answer left, and
        when that was received.
    """

    names: tuple[str, ...]
    owner: Ints
    request: Array
    read: Array
    release: Array
    end: Array

    @property
    def answered(self) -> "MeasuredTrace":
        """Those exchanges that ended with a received answer."""
        return self.only(~np.isnan(self.end))

    def only(self, which: Bools) -> "MeasuredTrace":
        """Return some of the exchanges."""
        return MeasuredTrace(self.names, *(getattr(self, name)[which] for name in COLUMNS))

    @property
    def locked(self) -> bool:
        """Whether the learner had one exchange at a time."""
        mine = self.answered
        order = np.argsort(mine.read, kind="stable")
        return bool((mine.read[order][1:] >= mine.end[order][:-1] - 1e-9).all())

    @property
    def found_free(self) -> Bools:
        """Which answered requests found the learner without an open exchange."""
        mine = self.answered
        begun = np.searchsorted(np.sort(mine.read), mine.request, side="left")
        ended = np.searchsorted(np.sort(mine.end), mine.request, side="right")
        return np.asarray(begun <= ended)

    @property
    def unseen(self) -> bool:
        """Whether requests that a locked learner refused are not in the table.

        They are in it if requests were never served, and others asked after them.
        """
        refused = np.isnan(self.read[: len(self.read) - len(self.names)]).any()
        return self.protocol == Request(busy="refuse") and not bool(refused)

    def rounds(self) -> tuple[Ints, Array]:
        """Return the round of each exchange, by its read, and when the round before it ended."""
        order = np.argsort(self.read, kind="stable")
        ends = np.where(np.isnan(self.end), self.read, self.end)[order]
        before = np.append(-np.inf, np.maximum.accumulate(ends)[:-1])
        begins = self.read[order] >= before - 1e-9
        number = np.empty(len(order), np.int64)
        number[order] = np.cumsum(begins) - 1
        return number, before[begins]

    @property
    def in_rounds(self) -> bool:
        """Whether the learner sent its model to several owners at once and waited for all.

        In a round each owner is asked once and, in the median of ten answers or more to rounds with
        several owners, all within a tenth of the longest answer's time.
        """
        import pandas as pd

        mine = self.answered
        columns = {"round": mine.rounds()[0], "owner": mine.owner, "read": mine.read}
        frame = pd.DataFrame({**columns, "time": mine.end - mine.read})
        if frame.duplicated(["round", "owner"]).any():
            return False
        rounds = frame[frame["round"].duplicated(keep=False)].groupby("round")
        apart = rounds["read"].max() - rounds["read"].min()
        close = (apart / rounds["time"].max().clip(1e-9)).median() < 0.1
        return bool(close and rounds.size().sum() >= 10)

    @property
    def protocol(self) -> Request | Push | Rounds:
        """The protocol by which the exchanges were made."""
        if self.in_rounds:
            return Rounds()
        if not self.locked:
            return Push()
        return Request(busy="refuse" if self.found_free.all() else "queue")

    @property
    def staleness(self) -> Array:
        """Other answers received between an answer's read and its end."""
        mine = self.answered
        ends = np.sort(mine.end)
        since = np.searchsorted(ends, mine.read, side="right")
        return (np.searchsorted(ends, mine.end, side="left") - since).clip(0).astype(float)

    def durations(self) -> dict[str, tuple[Array, "MeasuredTrace"]]:
        """Return by stage the durations (time units), and the exchanges that they are of.

        A request's travel is seen where the learner was free when it was sent. In rounds, a query's
        time counts from the end of the round before.
        """
        mine = self.answered
        result = {
            "compute": (mine.release - mine.read, mine),
            "answer": (mine.end - mine.release, mine),
        }
        if self.in_rounds:
            number, ended = mine.rounds()
            later = number > 0
            return {"query": ((mine.read - ended[number])[later], mine.only(later)), **result}
        free = self.found_free if self.locked else np.ones(len(mine.owner), bool)
        return {"request": ((mine.read - mine.request)[free], mine.only(free)), **result}

    def gaps(self) -> tuple[list[Array], list[Array], float]:
        """Return each owner's times from when it was free to its next request, and busy before.

        Of requests that are unseen while the learner is locked the gaps count what is left: a
        Poisson clock is one in the time that the learner is free, too. The number returned is the
        share of the time that gaps count.
        """
        mine, unseen = self.answered, self.unseen
        order = np.argsort(mine.read, kind="stable")
        edges = np.stack([mine.read[order], mine.end[order]], axis=1).ravel()
        locked = np.cumsum((mine.end - mine.read)[order])
        passed = np.stack([np.append(0.0, locked[:-1]), locked], axis=1).ravel()
        gaps, busy = [], []
        for owner in range(len(self.names)):
            own = self.owner == owner
            asked, ended = self.request[own], self.end[own]
            free = np.where(np.isnan(ended), asked, ended)[:-1]
            gap = asked[1:] - free
            good = gap >= 0
            if unseen:
                gap = gap - np.interp(asked[1:], edges, passed) + np.interp(free, edges, passed)
            gaps.append(np.maximum(gap[good], 0.0))
            busy.append((free - asked[:-1])[good])
        share = 1 - float(locked[-1] / (mine.end.max() - self.request.min())) if unseen else 1.0
        return gaps, busy, share


def read_trace(file: Path) -> MeasuredTrace:
    """Read a measured table; its times count from the first request.

    Raises
    ------
    DataError
        With the rows that are wrong.
    """
    try:
        log = len(columns_of(str(file), CLIENT[:1], "", KIND).lines) > 0
    except SpecError:  # the second reading says what is wrong
        log = False
    columns = CLIENT if log else COLUMNS
    table = columns_of(str(file), columns, "", KIND)
    wrong = list(table.wrong)
    times = np.full((len(table.lines), len(columns) - 1), nan)
    for row, (line, *cells) in enumerate(zip(table.lines, *table.cells.values(), strict=True)):
        times[row] = [_time(cell) for cell in cells[1:]]
        reached = times[row][~np.isnan(times[row])].tolist()
        in_order = len(reached) > 0 and times[row, : len(reached)].tolist() == sorted(reached)
        if cells[0] == "" or not in_order or not np.isfinite(reached).all():
            where = f"{file.name}, {table.place} {line}"
            wrong.append((line, Fault("", f"{','.join(cells)} ({where})", _TIMES)))
    if len(wrong) > 0:
        raise DataError(by_line(wrong, file.name), str(file))
    times -= times[:, 0].min()
    if np.nanmax(times) > LONGEST:
        given = f"{np.nanmax(times):g} between the first and the last time ({file.name})"
        rule = f"allowed are at most {LONGEST:g}, and times in numbers or in ISO 8601, not in both"
        raise DataError([Fault("", given, rule)], str(file))
    texts = table.cells[columns[0]]
    names = tuple(sorted(set(texts), key=lambda text: (len(text), text)))
    numbers = {name: place for place, name in enumerate(names)}
    owner = np.array([numbers[text] for text in texts], np.int64)
    order = np.argsort(times[:, 0], kind="stable")
    steps = times[order].T[[0, 0, 1, 1] if log else slice(None)]
    return MeasuredTrace(names, owner[order], *steps)


def _time(cell: str) -> float:
    """Return a time: NaN of an empty cell, ∞ of one that holds no time."""
    moment = moment_of(cell)
    try:
        return float(cell or "nan") if moment is None else moment[0] / 1e6
    except ValueError:
        return inf
