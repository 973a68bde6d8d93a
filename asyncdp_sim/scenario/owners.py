"""The owners of a scenario: how many, their records, their names, and who takes part."""

import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Discriminator, Field, Tag

from asyncdp_sim.core.arrays import Ints
from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.specification import (
    Count,
    Several,
    Spec,
    one_or_several,
    parse,
    per_owner,
    wrong_length,
)
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.core.validation import TAGS, show
from asyncdp_sim.core.words import shorten
from asyncdp_sim.data import DataSpec
from asyncdp_sim.data.dataset import DataKind
from asyncdp_sim.network.laws import Lognormal
from asyncdp_sim.scenario.paths import Raw

NamesOf = Callable[[DataKind], tuple[str, ...]]
"""From data to the names of its owners."""


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
        with suppress(SpecError):
            names = names_of(parse(DataSpec, raw.get("data")))
    count = otherwise
    if isinstance(names, list | tuple) and len(names) > 0:
        count = len(names)
    if count is not None:
        raw["owners"] = owners | {"count": count}
    return count is not None


LONGEST = 20
"""Characters of a name on screens and in figures; tables hold it whole."""
_WHOLE = 60
"""Characters of a name that somebody may have meant."""
_NEAR = 3
"""Most names that a message lists beside an unknown one."""
_NUMBER, _LIST, _TEXT, _TABLE = TAGS


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

    def places(self, numbers: npt.NDArray[np.integer]) -> Ints:
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
    marks = [f" #{i}" for i in range(1, len(clean) + 1)]
    marked = [shorten(name, LONGEST - len(m)) + m for name, m in zip(clean, marks, strict=True)]
    short = [shorten(name, LONGEST) for name in clean]
    seen = Counter(short)
    mixed = [m if seen[cut] > 1 else cut for cut, m in zip(short, marked, strict=True)]
    # a mark may be what another is really called
    return tuple(mixed if len(set(mixed)) == len(mixed) else marked)


def places_of(
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
    for entry in given:
        named = [place for place, name in enumerate(names) if name == entry]
        number = _number_of(entry, names)
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


def _number_of(entry: int | str, names: Sequence[str]) -> int:
    """Return the owner's number that an entry is, or 0: no owner has that number."""
    if isinstance(entry, int):
        return entry
    if not _is_number(entry) or any(map(_is_number, names)):
        return 0
    return int(entry)


def _nearest(given: str, names: Sequence[str], numbers: Sequence[int]) -> str:
    """Return in words the owners that an unknown entry may have meant."""
    if len(names) == 0:
        gaps = numbers[-1] - numbers[0] >= len(numbers)
        value = ", ".join(map(str, numbers)) if gaps else f"{numbers[0]} to {numbers[-1]}"
        return f"allowed are owner numbers {value}: these owners have no names"
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(given.casefold(), folded, n=_NEAR, cutoff=0.5)
    near += [name for name in folded if given.casefold() in name and name not in near]
    part = [folded[name] for name in near[:_NEAR]] or names[:_NEAR]
    text = ", ".join(shorten(_printable(name), _WHOLE) for name in part)
    return f"{'nearest' if near else 'some of the'} names: {text}"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _printable(name: str) -> str:
    """Return a name without control characters, turns of direction, and breaks of lines."""
    spaced = " ".join(name.split()) or "(blank)"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in spaced)


class LognormalCounts(Spec):
    """Numbers of records that are drawn once, from the stream ``("owners", "records")``.

    They are the scenario's, of its seed, and nothing is read for them: n_i is lognormal, rounded to
    the nearest whole number, and at least 1. More owners leave those of the others as they are.
    """

    mean: Annotated[float, Field(ge=1, le=1e8)]
    cv: Annotated[float, Field(gt=0, le=100)]

    def drawn(self, n_owners: int, seed: int) -> tuple[int, ...]:
        """Return n_i of each owner."""
        generator = Streams(seed).generator("owners", "records")
        law = Lognormal(mean=self.mean, cv=self.cv)
        counts = np.rint(law.draw(generator, n_owners)).clip(1, 2**31 - 1)
        return tuple(int(count) for count in counts)


def _how_given(value: object) -> str:
    """Return the tag of a number, a list or a table."""
    if isinstance(value, list | tuple):
        return _LIST
    return _TABLE if isinstance(value, Mapping | LognormalCounts) else _NUMBER


Records = Annotated[
    Annotated[Count, Tag(_NUMBER)]
    | Annotated[Several[Count], Tag(_LIST)]
    | Annotated[LognormalCounts, Tag(_TABLE)],
    Discriminator(_how_given),
]
"""n_i: one number for all owners, a list, or a law from which they are drawn."""
Names = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]
Called = Annotated[
    tuple[int | Annotated[str, Field(min_length=1)], ...], Field(strict=False, min_length=1)
]
"""Owners by name or number."""
Judging = Annotated[
    Annotated[Literal["everybody"], Tag(_NUMBER)] | Annotated[Called, Tag(_LIST)],
    Discriminator(one_or_several),
]
"""Owners whose records judge models: all of them, or these beside the participants."""


class Owners(Spec):
    """The owners that take part.

    Where ``numbers`` is set, lists are for participants, except ``records``, which is for all
    owners.

    Attributes
    ----------
    count : int
        N: number of owners; where ``numbers`` is set, number of participants.
    records : int, tuple of int or LognormalCounts, optional
        n_i: number of records of each owner; None where the data decide.
    names : tuple of str, optional
        Names of the owners; None where they have numbers alone, or a column of the data names them.
    only : tuple of int or str, optional
        Names or numbers of the owners that take part; None once these are found, or if all do.
    without : tuple of int or str, optional
        Names or numbers of the owners that do not take part; None if ``only`` is set.
    score_on : "everybody" or tuple of int or str, optional
        Owners whose records count in f, θ* and ψ in addition to the participants'.
    numbers : tuple of int, optional
        Numbers of the participants, ascending, from 1; None where all take part.
    of : int, optional
        Total number of owners; set together with ``numbers``.
    counted : "in-each-cell", optional
        Written in sweeps whose ``count`` is for the base alone: cells with other data or names
        count their owners.
    """

    count: Count
    records: Records | None = None
    names: Names | None = None
    only: Called | None = None
    without: Called | None = None
    score_on: Judging | None = None
    numbers: Several[Count] | None = None
    of: Count | None = None
    counted: Literal["in-each-cell"] | None = None

    @property
    def whole(self) -> int:
        """How many owners there are in all."""
        return self.count if self.of is None else self.of

    def records_of(self, seed: int) -> tuple[int, ...] | None:
        """Return n_i per owner, taking part or not; None where the data decide."""
        if isinstance(self.records, LognormalCounts):
            return self.records.drawn(self.whole, seed)
        return None if self.records is None else per_owner(self.records, self.whole)

    @property
    def participants(self) -> tuple[int, ...]:
        """The numbers of those who take part."""
        return tuple(range(1, self.count + 1)) if self.numbers is None else self.numbers

    @property
    def _called_judges(self) -> tuple[int | str, ...]:
        """The entries of ``score_on``, where it is a list."""
        return self.score_on if isinstance(self.score_on, tuple) else ()

    @property
    def unresolved(self) -> bool:
        """Whether owners are still to be found by names or lists: only, without or score_on."""
        called = self.only is not None or self.without is not None
        return called or any(isinstance(judge, str) for judge in self._called_judges)

    def chosen(self, names: Sequence[str]) -> list[int]:
        """Return the places, from 0, of those who take part by ``only`` and ``without``.

        Raises
        ------
        SpecError
            On owners that there are not, and where nobody is left.
        """
        if self.without is None and self.only is None:
            return list(range(self.count))
        if self.without is None:
            return places_of("owners.only", self.only or (), names, self.participants)
        absent = places_of("owners.without", self.without, names, self.participants)
        rest = sorted({*range(self.count)} - {*absent})
        if len(rest) == 0:
            remedy = "allowed are fewer: one owner at least takes part"
            raise SpecError([Fault("owners.without", "every owner", remedy)])
        return rest

    @property
    def judging(self) -> tuple[int, ...]:
        """The numbers of the owners whose records judge models; not known while `unresolved`."""
        if self.score_on == "everybody":
            return tuple(range(1, self.whole + 1))
        return tuple(sorted({*self.participants, *self._judges(())}))

    def _judges(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the numbers that ``score_on`` lists, the participants being called by names."""
        absent = {*range(1, self.whole + 1)} - {*self.participants}
        called = [entry for entry in self._called_judges if entry not in absent]
        result = places_of("owners.score_on", called, names, self.participants)
        here = (self.participants[place] for place in result)
        return tuple(sorted({*here, *(absent & {*self._called_judges})}))

    def judging_beside(self, called: Sequence[int | str]) -> "Judging | None":
        """Return the specification of the judging owners, given participants' names."""
        if self.score_on == "everybody" or self.numbers is None:
            return "everybody"
        rest = (number for number in self.judging if number not in self.participants)
        return (*called, *rest)

    def taking_part(self, chosen: Sequence[int], called: Sequence[str]) -> "Owners":
        """Return the owners at these places, who keep their numbers; by now all are called so."""
        numbers = tuple(self.participants[place] for place in chosen)
        names = None if self.names is None else tuple(self.names[place] for place in chosen)
        absent = {"only": None, "without": None}
        change: dict[str, Any] = {"count": len(numbers), "names": names, **absent}
        if isinstance(self.score_on, tuple):
            change["score_on"] = self._judges(called)
        if len(numbers) < self.whole:
            change |= {"numbers": numbers, "of": self.whole}
        return self.model_copy(update=change)

    def number_faults(self) -> list[Fault]:
        """Return what is wrong with who takes part."""
        if self.only is not None and self.without is not None:
            return [Fault("owners.without", show(self.without), "allowed is it, or owners.only")]
        if (self.numbers is None) != (self.of is None):
            key, other = ("of", "numbers") if self.of is None else ("numbers", "of")
            return [Fault(f"owners.{key}", "nothing", f"this field goes with owners.{other}")]
        numbers = (judge for judge in self._called_judges if isinstance(judge, int))
        beyond = [number for number in numbers if not 1 <= number <= self.whole]
        if len(beyond) > 0:
            remedy = f"allowed are owner numbers 1 to {self.whole}, and names"
            return [Fault("owners.score_on", show(beyond[0]), remedy)]
        if self.numbers is None or self.of is None:
            return []
        listed = list(self.numbers)
        if listed != sorted({*listed}) or len(listed) != self.count or listed[-1] > self.of:
            remedy = f"allowed are {self.count} numbers from 1 to {self.of}, ascending"
            return [Fault("owners.numbers", show(listed), remedy)]
        return []

    def name_faults(self, column: str | None) -> Iterator[Fault]:
        """Yield what is wrong with the names, the data being split by a column or not."""
        if self.names is None:
            return
        key, problem = "owners.names", f"{len(self.names)} name{'s' * (len(self.names) != 1)}"
        if column is not None:
            remedy = f"not allowed where the values of {column!r} are the names"
            yield Fault(key, problem, remedy)
            return
        yield from wrong_length(key, self.names, self.count, "")
        twice = [name for name, times in Counter(self.names).items() if times > 1]
        if len(twice) > 0:
            yield Fault(key, f"{show(twice[0])} twice", "allowed is every name once")
