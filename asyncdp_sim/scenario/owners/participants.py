"""Owners counted, by names or the table's column, and those of them who take part in a run."""

import difflib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.data import DataSpec
from asyncdp_sim.data.kind import DataKind
from asyncdp_sim.scenario.paths import Raw
from asyncdp_sim.spec.base import parse
from asyncdp_sim.spec.validation import show

NamesOf = Callable[[DataKind], tuple[str, ...]]


def count_owners(
    raw: Raw,
    names_of: NamesOf = lambda data: data.owner_names(),
    otherwise: int | None = None,
) -> bool:
    """Fill in ``owners.count`` where it is absent, from the names or the table's column.

    Only then is the table read, and of it that column; what is wrong with the data otherwise is
    said with all other faults.

    Parameters
    ----------
    raw : dict
        A scenario's tables.
    names_of : callable
        From data to the owners' names.
    otherwise : int, optional
        The count where nothing says it.

    Returns
    -------
    bool
        Whether it was filled in.

    Raises
    ------
    DataError
        If the table cannot be read.
    """
    owners = raw.get("owners", {})
    if not isinstance(owners, dict) or "count" in owners:
        return False
    names = owners.get("names")
    if names is None:
        try:
            names = names_of(parse(DataSpec, raw.get("data")))
        except SpecError:
            names = ()
    reported = isinstance(names, list | tuple) and len(names) > 0
    count = len(names) if reported else otherwise
    if count is not None:
        raw["owners"] = owners | {"count": count}
    return count is not None


def may_change(paths: Iterable[str]) -> bool:
    """Tell whether setting any of these paths may change who the owners are."""
    spelled = [path.split(".") for path in paths]
    return any(
        keys[0] == "data" or keys[:2] in (["owners"], ["owners", "names"]) for keys in spelled
    )


LONGEST = 20
"""Characters of a name on screens and in figures; tables hold it whole."""
_WHOLE = 60
"""Characters of a name that somebody may have meant."""
_NEAR = 3
"""Names that a message lists beside an unknown one."""


@dataclass(frozen=True)
class Participants:
    """The owners of a run, in the order of its tables.

    Attributes
    ----------
    numbers : tuple of int
        Ascending, from 1; with gaps where only some take part.
    names : tuple of str
        One each; without members where owners have numbers alone.
    """

    numbers: tuple[int, ...]
    names: tuple[str, ...] = ()

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The names as they are shown: printable, of at most 20 characters, each once."""
        return shown(self.names)

    @property
    def labels(self) -> tuple[str, ...]:
        """The number of each, with its name behind it where it has one."""
        if len(self.names) == 0:
            return tuple(map(str, self.numbers))
        return tuple(f"{i} ({name})" for i, name in zip(self.numbers, self.shown, strict=True))

    def places(self, numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """Return the places, from 1, of owners that tables call by number."""
        return np.searchsorted(np.array(self.numbers), numbers) + 1

    def numbered(self, columns: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a table's columns with the owners' numbers in the place of 1…N; 0 is nobody."""
        value = np.array([0, *self.numbers], dtype=np.int32)
        return {**columns, "owner": value[columns["owner"]]}

    def said(self, place: int) -> str:
        """Return what the owner at a place (from 0) is called, such as ``owner 7 (St. Mary's)``."""
        return f"owner {self.labels[place]}"


def shown(names: Sequence[str]) -> tuple[str, ...]:
    """Return names for a screen: what cannot be printed is escaped, what is long is cut.

    Two that would look alike have their place (from 1) behind them.
    """
    clean = [_printable(name) for name in names]
    short = [_cut(name, LONGEST) for name in clean]
    seen = Counter(short)
    marked = [
        _marked(name, i) if seen[cut] > 1 else cut
        for i, (name, cut) in enumerate(zip(clean, short, strict=True), 1)
    ]
    if len(set(marked)) < len(marked):  # a mark that another is really called
        marked = [_marked(name, i) for i, name in enumerate(clean, 1)]
    return tuple(marked)


def places(
    key: str, given: Sequence[int | str], names: Sequence[str], numbers: Sequence[int]
) -> list[int]:
    """Return the places, from 0, of owners that are called by name or number.

    A text is a name first, else a number, unless names themselves look like numbers: facility 13,
    which is not there, is not owner 13.

    Parameters
    ----------
    key : str
        The field, for the faults.
    given : sequence of int or str
    names : sequence of str
        Of all owners; without members where they have none.
    numbers : sequence of int
        Of all owners, ascending.

    Raises
    ------
    SpecError
        With one fault for each that there is not, with the nearest names.
    """
    matches, wrong, by_number = [], [], {number: place for place, number in enumerate(numbers)}
    words = not any(map(_is_number, names))
    for entry in given:
        named = [place for place, name in enumerate(names) if name == entry]
        number = (
            entry if isinstance(entry, int) else int(entry) if words and _is_number(entry) else 0
        )
        if len(named) > 1:
            whose = ", ".join(str(numbers[place]) for place in named[:_NEAR])
            remedy = f"several owners are called so: allowed are their numbers, {whose}"
            wrong.append(Fault(key, show(entry), remedy))
        elif len(named) == 1:
            matches.append(named[0])
        elif number in by_number:
            matches.append(by_number[number])
        else:
            wrong.append(Fault(key, show(entry), _nearest(str(entry), names, numbers)))
    twice = [place for place, times in Counter(matches).items() if times > 1]
    if len(twice) > 0:
        wrong.append(Fault(key, f"owner {numbers[twice[0]]} twice", "allowed is every owner once"))
    if len(wrong) > 0:
        raise SpecError(wrong)
    return sorted(matches)


def _nearest(given: str, names: Sequence[str], numbers: Sequence[int]) -> str:
    if len(names) == 0:
        gaps = numbers[-1] - numbers[0] >= len(numbers)
        value = ", ".join(map(str, numbers)) if gaps else f"{numbers[0]} to {numbers[-1]}"
        return f"allowed are owner numbers {value}: these owners have no names"
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(given.casefold(), folded, n=_NEAR, cutoff=0.5)
    near += [name for name in folded if given.casefold() in name and name not in near]
    part = [folded[name] for name in near[:_NEAR]] or names[:_NEAR]
    text = ", ".join(_cut(_printable(name), _WHOLE) for name in part)
    return f"{'nearest' if near else 'some of the'} names: {text}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _printable(name: str) -> str:
    """Return a name without control characters, turns of direction, and breaks of lines."""
    spaced = " ".join(name.split()) or "(blank)"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in spaced)


def _cut(name: str, longest: int) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def _marked(name: str, number: int) -> str:
    mark = f" #{number}"
    return f"{_cut(name, LONGEST - len(mark))}{mark}"
