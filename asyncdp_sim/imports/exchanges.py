"""Measured exchanges: owner and times of request, read, answer and arrival, a row per request."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from asyncdp_sim.core.arrays import Bools, Ints
from asyncdp_sim.core.errors import Fault
from asyncdp_sim.imports.around import require_sound
from asyncdp_sim.imports.fitted import Floats
from asyncdp_sim.network.table_file import columns_of, time_of

COLUMNS = ("owner", "request", "read", "release", "end")


@dataclass(frozen=True)
class MeasuredTrace:
    """Exchanges in the order of their requests; NaN from where one did not come to its end.

    Attributes
    ----------
    names : tuple of str
        What owner 0, 1, … is called.
    owner : array of int
    request, read, release, end : array
        Time units: when an owner asked, when the model was read for it, when its answer left, and
        when that was heard.
    """

    names: tuple[str, ...]
    owner: Ints
    request: Floats
    read: Floats
    release: Floats
    end: Floats

    @property
    def heard(self) -> Bools:
        """Which exchanges ended with a received answer."""
        return ~np.isnan(self.end)

    @property
    def refuses(self) -> bool:
        """Whether some requests were never served, and others asked after them."""
        return bool(np.isnan(self.read[: len(self.read) - len(self.names)]).any())

    def only(self, which: Bools) -> "MeasuredTrace":
        """Return some of the exchanges."""
        columns = (getattr(self, name)[which] for name in COLUMNS)
        return MeasuredTrace(self.names, *columns)

    @property
    def locked(self) -> bool:
        """Whether the learner had one exchange at a time."""
        mine = self.only(self.heard)
        order = np.argsort(mine.read, kind="stable")
        return bool((mine.read[order][1:] >= mine.end[order][:-1] - 1e-9).all())

    def rounds(self) -> tuple[Ints, Floats]:
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
        mine = self.only(self.heard)
        number, ended = mine.rounds()
        sizes = np.bincount(number)
        if len(np.unique(np.stack([number, mine.owner]), axis=1).T) < len(number):
            return False
        several = sizes >= 2
        if sizes[several].sum() < 10:
            return False
        first, last, longest = (np.zeros(len(ended)) for _ in range(3))
        first[:] = np.inf
        np.minimum.at(first, number, mine.read)
        np.maximum.at(last, number, mine.read)
        np.maximum.at(longest, number, mine.end - mine.read)
        return bool(np.median(((last - first) / np.maximum(longest, 1e-9))[several]) < 0.1)

    @property
    def staleness(self) -> Floats:
        """Other answers received between an answer's read and its end."""
        mine = self.only(self.heard)
        ends = np.sort(mine.end)
        since = np.searchsorted(ends, mine.read, side="right")
        return (np.searchsorted(ends, mine.end, side="left") - since).clip(0).astype(float)

    @property
    def found_free(self) -> Bools:
        """Which received requests found the learner without an open exchange."""
        mine = self.only(self.heard)
        begun = np.searchsorted(np.sort(mine.read), mine.request, side="left")
        ended = np.searchsorted(np.sort(mine.end), mine.request, side="right")
        return np.asarray(begun <= ended)

    @property
    def queues(self) -> bool:
        """Whether requests were served that had found the learner locked."""
        return self.locked and not bool(self.found_free.all())

    def durations(self) -> dict[str, tuple[Floats, Ints]]:
        """Return durations and owners by stage.

        A request's travel is seen where the learner was free when it was sent. In rounds, a query's
        time counts from the end of the round before.
        """
        mine = self.only(self.heard)
        if self.in_rounds:
            number, ended = mine.rounds()
            later = number > 0
            first = {"query": ((mine.read - ended[number])[later], mine.owner[later])}
        else:
            free = self.found_free if self.locked else np.ones(len(mine.owner), bool)
            first = {"request": ((mine.read - mine.request)[free], mine.owner[free])}
        return {
            **first,
            "compute": (mine.release - mine.read, mine.owner),
            "answer": (mine.end - mine.release, mine.owner),
        }

    @property
    def unseen(self) -> bool:
        """Whether requests that a locked learner refused are not in the table."""
        return self.locked and not self.queues and not self.refuses

    def gaps(self) -> tuple[list[Floats], list[Floats]]:
        """Return each owner's times from when it was free to its next request, and busy before.

        Of requests that are unseen while the learner is locked the gaps count what is left: a
        Poisson clock is one in the time that the learner is free, too.
        """
        mine = self.only(self.heard)
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
            if self.unseen:
                gap = gap - np.interp(asked[1:], edges, passed) + np.interp(free, edges, passed)
            gaps.append(np.maximum(gap[good], 0.0))
            busy.append((free - asked[:-1])[good])
        return gaps, busy

    @property
    def free_share(self) -> float:
        """Share of the time that gaps count."""
        if not self.unseen:
            return 1.0
        mine = self.only(self.heard)
        return 1 - float((mine.end - mine.read).sum() / (mine.end.max() - self.request.min()))


KIND = f"allowed is a CSV or .parquet with the columns {','.join(COLUMNS)}"


def read_trace(file: Path) -> MeasuredTrace:
    """Read a measured table.

    Raises
    ------
    DataError
        With the rows that are wrong.
    """
    columns = columns_of(str(file), COLUMNS, "", KIND)
    wrong = list(columns.wrong)
    times = {name: _times(columns.cells[name]) for name in COLUMNS[1:]}
    for place, line in enumerate(columns.lines):
        row = [times[name][place] for name in COLUMNS[1:]]
        values = [value for value in row if not np.isnan(value)]
        stood = ",".join(columns.cells[name][place] for name in COLUMNS)
        gap = np.isnan(row).tolist() != sorted(np.isnan(row).tolist())
        if len(values) == 0 or gap or -1.0 in values or values != sorted(values):
            remedy = "allowed are times ≥ 0 in this order, empty after the last step reached"
            where = f"{file.name}, {columns.place} {line}"
            wrong.append((line, Fault("", f"{stood} ({where})", remedy)))
    require_sound([fault for _, fault in sorted(wrong, key=lambda pair: pair[0])], file)
    names, owner = numbered(columns.cells["owner"])
    order = np.argsort(times["request"], kind="stable")
    return MeasuredTrace(names, owner[order], *(times[name][order] for name in COLUMNS[1:]))


def numbered(texts: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """Return the names of owners 0, 1, …, and each row's owner."""
    names = tuple(sorted(set(texts), key=lambda text: (len(text), text)))
    numbers = {name: place for place, name in enumerate(names)}
    return names, np.array([numbers[text] for text in texts], np.int64)


def _times(cells: Sequence[str]) -> Floats:
    """Return times; NaN of an empty cell, −1 of one that holds no time."""
    reported = (np.nan if cell in ("", "nan") else time_of(cell) for cell in cells)
    return np.array([-1.0 if item is None else item for item in reported], np.float64)
