"""Owners that write a column differently: in other units, with other codes, or in another notation.

Rows that are no records, as sums or a header among them, are found here, too. Each owner's private
cells are compared with the public ones. What is found tells of private cells and is for the owners
alone.
"""

from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.arrays import Array, Bools
from asyncdp_sim.core.words import number, percent, some_of
from asyncdp_sim.data.tables.rows import FROM_PRIVATE, FileRows, Rows
from asyncdp_sim.data.tables.text_columns import SUMS, cell_or_nan, written

if TYPE_CHECKING:
    import pandas as pd

FACTORS = {
    10.0: "",
    18.02: ", as between mg/dL and mmol/L of glucose",
    38.67: ", as between mg/dL and mmol/L of cholesterol",
    88.4: ", as between mg/dL and µmol/L of creatinine",
    100.0: ", as between a share and per cent",
    1000.0: ", as between units with and without kilo, or 1,222 and 1.222",
}
"""Factors between units that are often mixed, and whose they are."""
NEAR = 0.15
"""Relative distance from such a factor."""
LEAST = 8
"""Cells of an owner, and public ones, that are compared."""
UNREAD = 0.2
"""Share of unread cells beyond the public one that is named."""
MOST_CODES = 4


class UnlikeOwners:
    """Findings on the columns of a table, gathered one column after another.

    Parameters
    ----------
    whose : Series, optional
        The owner of each row; absent, all private rows are of one.
    first_public : int
        The row at which public rows begin, which go on to the end.
    """

    def __init__(self, whose: "pd.Series | None", first_public: int) -> None:
        self._first = first_public
        self.lines: list[str] = []
        self._rows: list[tuple[str, Rows]] = [("the private rows", np.arange(first_public))]
        if whose is not None:
            codes, names = whose.iloc[:first_public].factorize()
            order = np.argsort(codes, kind="stable")
            ends = np.searchsorted(codes[order], np.arange(len(names) + 1))
            self._rows = [
                (str(name), order[ends[at] : ends[at + 1]]) for at, name in enumerate(names)
            ]

    def add(self, name: str, values: Array, misfits: Bools) -> None:
        """Compare a column: values (rows,), NaN where there is none, and which are unread."""
        public = values[self._first :]
        public = public[~np.isnan(public)]
        if len(public) < LEAST:
            return
        usual_misfits = float(misfits[self._first :].mean())
        codes, median = np.unique(public), float(np.median(public))
        differences: dict[str, list[str]] = {}
        for owner, rows in self._rows:
            unread = float(misfits[rows].mean()) if len(rows) >= LEAST else 0.0
            present = values[rows]
            present = present[~np.isnan(present)]
            if unread > usual_misfits + UNREAD:
                difference = f"{percent(unread)} of the cells cannot be read, of public ones "
                differences.setdefault(difference + percent(usual_misfits), []).append(owner)
            elif len(present) >= LEAST:
                difference = _other_codes(present, codes) or _other_unit(present, public, median)
                differences.setdefault(difference, []).append(owner)
        differences.pop("", None)
        self.lines += [
            f"{FROM_PRIVATE}{name}, as {some_of(owners, 5)} write{'s' * (len(owners) == 1)} it: "
            f"{difference}."
            for difference, owners in differences.items()
        ]

    def without_sums(self, frame: "pd.DataFrame", places: FileRows, decimal: str) -> Rows:
        """Name private rows that are no records, and return their numbers.

        A row of sums has a word for one that its column has in no public row, and else numbers or
        nothing; a header has the names of its columns. No other private row has a say.
        """
        private, public = frame.iloc[: self._first], frame.iloc[self._first :]
        suspects = np.zeros(self._first, dtype=np.bool_)
        for name in frame:
            words = {text for text in _texts(private[name]) if text == name or _of_sums(text)}
            if len(words) > 0:
                words -= _texts(public[name])
                suspects |= private[name].isin(words).to_numpy()
        rows = [
            row
            for row in np.flatnonzero(suspects).tolist()
            if _no_record(private.iloc[row], decimal)
        ]
        if len(rows) > 0:
            named = some_of(
                [f"{places.said(row)} ({_word(private.iloc[row])!r})" for row in rows], 3
            )
            self.lines.append(
                f"{FROM_PRIVATE}rows of sums or names of columns, read as missing: {named}."
            )
        return np.array(rows, dtype=np.int64)


def _texts(column: "pd.Series") -> set[str]:
    """Return the texts of a column that begin with no digit, as most cells of numbers do."""
    texts = (text for text in column.dropna() if isinstance(text, str))
    return {text for text in texts if not text[:1].isdigit()}


def _of_sums(text: str) -> bool:
    return SUMS.fullmatch(text.strip(" :*")) is not None


def _no_record(row: "pd.Series", decimal: str) -> bool:
    """Tell whether a row has a word for sums and else numbers, or names of columns alone."""
    texts = {str(name): written(value) for name, value in row.dropna().items()}
    if all(text == name for name, text in texts.items()):
        return True
    cells = [text for text in texts.values() if not _of_sums(text)]
    return len(cells) < len(texts) and not any(
        np.isnan(cell_or_nan(text, decimal)) for text in cells
    )


def _word(row: "pd.Series") -> str:
    """Return a text of a row that is no record: a word for sums, or the first name of a column."""
    texts = [written(value) for value in row.dropna()]
    return next(filter(_of_sums, texts), texts[0])


def _other_codes(known: Array, usual: Array) -> str:
    """Return in words that an owner has other codes than public rows; empty if it has not."""
    if len(usual) > MOST_CODES:
        return ""
    codes = np.unique(known)
    if len(codes) != len(usual) or np.array_equal(codes, usual) or (codes % 1 != 0).any():
        return ""
    own, public = (", ".join(map(number, code_list.tolist())) for code_list in (codes, usual))
    return f"the codes are {own}, in public rows {public}"


def _other_unit(known: Array, public: Array, median: float) -> str:
    """Return in words by which known factor an owner's values differ; empty for none."""
    own = float(np.median(known))
    if min(own, median) <= 0:
        return ""
    ratio = max(own / median, median / own)
    factor = min(FACTORS, key=lambda each: abs(ratio / each - 1))
    if abs(ratio / factor - 1) > NEAR:
        return ""
    low, high = np.quantile(public, [0.1, 0.9])
    apart = np.quantile(known, 0.1) > high or np.quantile(known, 0.9) < low
    if not apart:
        return ""
    return (
        f"the median is {number(own)}, of public rows {number(median)}: {factor:g} times "
        f"{'larger' if own > median else 'smaller'}{FACTORS[factor]}"
    )
