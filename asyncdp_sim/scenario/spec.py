"""The union of all specifications: all that decides a run's result."""

import copy
import itertools
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, TypeVar

from pydantic import ValidationInfo, model_validator

from asyncdp_sim.core.errors import DataError, Fault, SpecError
from asyncdp_sim.core.specification import Spec, parse, picked
from asyncdp_sim.core.validation import faults_of, show
from asyncdp_sim.core.words import html_table
from asyncdp_sim.data import SYNTHETIC, Dataset
from asyncdp_sim.data.kind import DataKind
from asyncdp_sim.network import Network
from asyncdp_sim.scenario.conflicts import conflicts_within
from asyncdp_sim.scenario.derived import ScenarioFacts
from asyncdp_sim.scenario.owners import Participants, count_owners, may_change
from asyncdp_sim.scenario.paths import (
    EITHER,
    VARIANT,
    Raw,
    keys,
    leaves,
    listed,
    set_path,
    variant_settings,
)

_S = TypeVar("_S", bound=Spec)
_KNOWN_TO_FIT = object()
"""Context for the validator: the parts are known to be consistent."""


class Scenario(ScenarioFacts):
    """Everything that determines the result of a run, except the software.

    Raises
    ------
    SpecError
        At construction, with all faults.

    Examples
    --------
    >>> scenario = ad.load("lending-sound")
    >>> other = scenario.replace(privacy={"epsilon": 3}, availability={"kind": "always"})
    >>> other.privacy.epsilon, other.owners.count == scenario.owners.count
    (3.0, True)
    """

    @model_validator(mode="after")
    def _names_its_source(self) -> "Scenario":
        """Say where the records come from, where nobody did, or who said synthetic reads a file."""
        if self.source is None or (self.source == SYNTHETIC and not self.data.synthetic):
            object.__setattr__(self, "source", self.data.origin)
        return self

    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo) -> "Scenario":
        result = conflicts_within(self) if info.context is not _KNOWN_TO_FIT else []
        if result:
            raise faults_of(result)
        return self

    def part(self, everybody: Dataset) -> Dataset:
        """Return the records of those who take part, out of those of all owners."""
        numbers = self.owners.numbers
        if numbers is None:
            return everybody
        judging = (i - 1 for i in self.owners.judging)
        return everybody.of_owners([i - 1 for i in numbers], judging)

    def participants(self, names: tuple[str, ...]) -> Participants:
        """Return who takes part, a table's column having these names where they have others."""
        own = names if self.owners.names is None else self.owners.names
        return Participants(self.owners.participants, own)

    def names_read(self) -> tuple[str, ...]:
        """Return what those who take part are called, reading the table where its column says it.

        Raises
        ------
        DataError
            If it cannot be read, or has other owners.
        """
        if self.owners.names is not None:
            return self.owners.names
        names = self.data.owner_names()
        if len(names) not in (0, self.owners.whole):
            remedy = f"allowed is {len(names)}, the number of distinct values of the column"
            raise DataError([Fault("owners.count", str(self.owners.whole), remedy)])
        return tuple(names[i - 1] for i in self.owners.participants) if len(names) > 0 else ()

    def plain(self) -> Raw:
        """Return the scenario as TOML-ready tables, with every default filled in."""
        raw: Raw = listed(self.model_dump(by_alias=True, exclude_none=True))
        return raw if raw["sweep"] else {k: v for k, v in raw.items() if k != "sweep"}

    def replace(self, **parts: Any) -> "Scenario":
        """Return a copy of the scenario with other parts, which is validated.

        Parameters
        ----------
        parts : object or mapping
            New parts by field: an object, possibly of a custom class, or a table. A table with a
            ``kind`` replaces the part; a table without changes single fields of it.

        Raises
        ------
        SpecError
            If a part is wrong, or parts do not fit together.
        """
        return replaced(self, parts)

    def _repr_html_(self) -> str:
        """Return what was set, not left at its default, as a notebook shows it."""
        content = self.model_dump(
            by_alias=True, exclude_unset=True, exclude={"title", "description"}
        )
        rows = [(key, show(value)) for key, value in leaves(content)]
        return html_table(rows, title=self.title or self.id, said=[self.description])

    def base(self) -> "Scenario":
        """Return the scenario without its sweep, for the participants alone.

        Raises
        ------
        SpecError
            If an owner that is named is none.
        DataError
            If owners' names are in a table that cannot be read.
        """
        return self._unswept()._taking_part()

    def _unswept(self) -> "Scenario":
        if len(self.sweep) == 0 and self.owners.counted is None:
            return self
        return self._one_cell

    @cached_property
    def _one_cell(self) -> "Scenario":
        """The same without a sweep, whose parts all cells share."""
        owners = self.owners.model_copy(update={"counted": None})
        return self.model_copy(update={"sweep": {}, "owners": owners})

    def counting_in_cells(self) -> "Scenario":
        """Return the scenario whose cells count their owners, where others may be theirs."""
        set_in_cells = (
            path
            for swept, values in self.sweep.items()
            for value in values
            for path, _ in variant_settings(swept, value)
        )
        if not may_change(set_in_cells):
            return self
        owners = self.owners.model_copy(update={"counted": "in-each-cell"})
        return self.model_copy(update={"owners": owners})

    @cached_property
    def _names_known(self) -> dict[str, tuple[str, ...]]:
        """The owners' names by the data of cells: a column is read once, not in each of them."""
        return {}

    def _names_of(self, data: DataKind) -> tuple[str, ...]:
        content = data.model_dump_json()
        if content not in self._names_known:
            self._names_known[content] = data.owner_names()
        return self._names_known[content]

    def _taking_part(self) -> "Scenario":
        """Return the scenario of those who take part alone: its lists are theirs."""
        owners = self.owners
        if not owners.unresolved:
            return self
        names = self.names_read()
        chosen = owners.chosen(names)
        return picked(self, chosen).replace(owners=owners.taking_part(chosen, names))

    def require_sweep(self) -> None:
        """Refuse a scenario without a sweep.

        Raises
        ------
        SpecError
            With an example of one.
        """
        if len(self.sweep) == 0:
            rule = "allowed is a table of dotted paths and lists, as in --set"
            example = """'sweep={ "privacy.epsilon" = [1, 10] }'"""
            raise SpecError([Fault("sweep", "nothing", f"{rule} {example}")])

    def grid(self) -> Iterator[dict[str, Any]]:
        """Yield the swept values of each cell, the last path varying fastest."""
        if len(self.sweep) > 0:
            for values in itertools.product(*self.sweep.values()):
                yield dict(zip(self.sweep, values, strict=True))

    @property
    def reads_a_file(self) -> bool:
        """Whether records are read from a file, in the base or in a cell of the sweep."""
        if self.data.file is not None:
            return True
        asked = any(path.split(".")[0] in ("data", VARIANT) for path in self.sweep)
        return asked and any(self.cell(item).data.file is not None for item in self.grid())

    def cell(self, chosen: Mapping[str, Any], *, known_to_fit: bool = False) -> "Scenario":
        """Return the scenario of one cell.

        Parameters
        ----------
        chosen : mapping
            The swept paths and their values.
        known_to_fit : bool
            Whether it was made before, so that its parts are known to fit together.

        Raises
        ------
        SpecError
            If the values do not fit together.
        DataError
            If the owners are in a table that cannot be read.
        """
        settings = [
            setting
            for swept in sorted(chosen, key=VARIANT.__ne__)  # a variant first, the rest upon it
            for setting in variant_settings(swept, chosen[swept])
        ]
        swept_paths = [keys(path) for path, _ in settings]
        if all(path in swept_paths for path in EITHER):
            remedy = "allowed is one of algorithm.step and algorithm.rho"
            raise SpecError([Fault("algorithm.step", "both in a cell", remedy)])
        raw = self._open_at({path[0] for path in swept_paths})
        if self.source == self.data.origin:
            del raw["source"]  # that of other data, where these are swept
        for path, value in settings:
            set_path(Scenario, raw, path, copy.deepcopy(value))
        if self.owners.counted is not None:
            count_owners(raw, self._names_of, otherwise=self.owners.count)
        cell: Scenario = parse(Scenario, raw, _KNOWN_TO_FIT if known_to_fit else None)
        return cell._taking_part()

    def _open_at(self, sections: set[str]) -> Raw:
        """Return the scenario without its sweep, some sections as tables, the others as they are.

        Cells share the others: they are not read again, nor what they have read of files. Where
        cells count their owners, data and owners are tables too, and the count is left open.
        """
        unswept, counted = self._unswept(), self.owners.counted is not None
        opened = sections | ({"data", "owners"} if counted else set())
        raw = {
            field.alias or name: getattr(unswept, name)
            for name, field in type(self).model_fields.items()
            if name not in opened
        }
        raw |= listed(unswept.model_dump(by_alias=True, exclude_none=True, include=opened))
        if counted:
            del raw["owners"]["count"]
        return {key: value for key, value in raw.items() if value is not None and key != "sweep"}

    def over(self, network: Network) -> "Scenario":
        """Return the same scenario with this network, which is equal to its own.

        What has been worked out of that is not worked out again.
        """
        twin = self.model_copy()
        twin.__dict__["network"] = network
        return twin


def replaced(spec: _S, parts: Mapping[str, Any]) -> _S:
    """Return a specification with other parts, validated like any.

    Parameters
    ----------
    spec : Spec
    parts : mapping
        From the names of fields to objects, or to tables: one with a ``kind`` is a part of its
        own, another changes fields of the part that is there.
    """
    names = {name: field.alias or name for name, field in type(spec).model_fields.items()}
    fields = {names[name]: value for name, value in spec if name in spec.model_fields_set}
    new: dict[str, Any] = {}
    faults: list[Fault] = []
    for name, part in parts.items():
        try:
            new[name] = _part(getattr(spec, name, None), name, part)
        except SpecError as error:
            faults += error.faults
    if len(faults) > 0:
        raise SpecError(faults)
    return type(spec)(**(fields | new))


def _part(before: object, name: str, given: Any) -> Any:
    """Return what comes in the place of a part."""
    if not isinstance(before, Spec) or not isinstance(given, Mapping) or "kind" in given:
        return given
    rest = {other for (part, field), other in EITHER.items() if part == name and field in given}
    gone = (rest - {*given}) & {*type(before).model_fields}
    try:
        return replaced(before, {**given, **dict.fromkeys(gone)})
    except SpecError as error:
        raise SpecError([fault.under(name) for fault in error.faults]) from None
