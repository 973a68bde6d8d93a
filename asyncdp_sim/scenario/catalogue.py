"""The catalogue: scenarios that come with the package, found by name, and copied with comments."""

import re
import textwrap
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from os.path import lexists
from pathlib import Path
from typing import Any

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.gone import ENTRIES
from asyncdp_sim.core.specification import Spec
from asyncdp_sim.core.words import did_you_mean
from asyncdp_sim.privacy.guarantee import foreseen
from asyncdp_sim.scenario.files import load
from asyncdp_sim.scenario.spec import Scenario

_NEAR = 3
"""Names that are proposed for one that there is not."""


@dataclass(frozen=True)
class Entry:
    """A scenario of the catalogue.

    Attributes
    ----------
    file : Path
        Its TOML file; the name without the suffix is its id.
    """

    file: Path

    @property
    def name(self) -> str:
        """The entry's id."""
        return self.file.stem

    def scenario(self, settings: tuple[str, ...] = ()) -> Scenario:
        """Load the scenario, with ``path=value`` settings as on the command line.

        Raises
        ------
        SpecError
            If a setting does not fit.
        """
        return load(self.file, settings)[0] if len(settings) > 0 else self.as_it_is

    @cached_property
    def as_it_is(self) -> Scenario:
        """The scenario, with no setting changed."""
        return load(self.file)[0]

    @property
    def privacy(self) -> str:
        """Privacy of its settings, in words; empty where all cells are private."""
        text = {_promise(cell) for cell in _cells(self.as_it_is)}
        if text == {_PRIVATE}:
            return ""
        worst = min(text, key=_WORST_FIRST.index)
        return worst if len(text) == 1 else f"in part {worst}"


_NO_CLAIM = "claims no ε"
_BROKEN = "NOT private"
_ON_TRUST = "private if its declared bound holds"
_PRIVATE = "private"
_WORST_FIRST = (_BROKEN, _NO_CLAIM, _ON_TRUST, _PRIVATE)


def _cells(scenario: Scenario) -> Iterator[Scenario]:
    cells = [scenario.cell(chosen) for chosen in scenario.grid()]
    yield from cells or [scenario.base()]


def _promise(scenario: Scenario) -> str:
    """Return what settings promise, before anything is run."""
    if not scenario.privacy.hides:
        return _NO_CLAIM
    kept = foreseen(
        scenario.privacy,
        scenario.owners.count,
        timing=scenario.timing_unaccounted,
        unsound=scenario.unsound,
        outside=scenario.outside_parts,
    )
    return {True: _PRIVATE, None: _ON_TRUST, False: _BROKEN}[kept]


@cache
def catalogue() -> tuple[Entry, ...]:
    """Return all entries, sorted by id."""
    folder = Path(__file__).parents[1] / "catalogue"
    return tuple(Entry(file) for file in sorted(folder.glob("*.toml")))


def entry(name: str) -> Entry:
    """Return the entry of this id.

    Raises
    ------
    SpecError
        If there is none, naming the nearest that there are.
    """
    entries = {item.name: item for item in catalogue()}
    if name in ENTRIES:
        remedy = f"this scenario is gone: {ENTRIES[name]}"
        raise SpecError([Fault("", repr(name), remedy)])
    if name not in entries:
        hint = did_you_mean(name.casefold(), entries, _NEAR)
        problem = "neither a file nor a name of the catalogue"
        raise SpecError([Fault("", problem, f"{hint}asyncdp list prints all names")], name or "''")
    return entries[name]


def scenario_file(given: Path) -> Path:
    """Return the scenario file of that path, or else of the catalogue's entry of that name.

    What has a suffix or a folder is a path, and so is the name of a file that is there.

    Raises
    ------
    SpecError
        If it is neither.
    """
    is_path = given.suffix != "" or len(given.parts) != 1 or lexists(given)
    return given if is_path else entry(str(given)).file


_WIDTH = 100
_SETTING = re.compile(r"([\w-]+|\"[^\"]+\")\s*=")
_TABLE = re.compile(r"\[+([\w.-]+)\]+")


def starter() -> str:
    """Return a small scenario with every section that a first one needs, commented."""
    return files("asyncdp_sim.scenario").joinpath("starter.toml").read_text(encoding="utf-8")


def commented(name: str) -> str:
    """Return the file of a catalogue's entry, with the meaning of settings above them.

    Raises
    ------
    SpecError
        If there is no entry of that name.
    """
    result = entry(name)
    text = result.file.read_text(encoding="utf-8")
    return "".join(f"{line}\n" for line in _lines(text, result.as_it_is))


def _lines(text: str, scenario: Spec) -> Iterator[str]:
    part: Any = scenario
    open_statement = ""
    fold = textwrap.TextWrapper(
        _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    ).wrap
    for line in text.splitlines():
        if open_statement == "":
            table, setting = _TABLE.match(line), _SETTING.match(line)
            if table is not None:
                part = scenario
                for key in table[1].split("."):
                    part = _member(part, key)
            elif setting is not None and isinstance(part, Spec):
                yield from fold(meaning(type(part), setting[1]))
        yield line
        open_statement = f"{open_statement}{line}\n"
        with suppress(tomllib.TOMLDecodeError):  # a string, list or table of this line goes on
            tomllib.loads(open_statement)
            open_statement = ""


def _member(part: object, key: str) -> object:
    if not isinstance(part, Spec):
        return None
    fields = {field.alias or name: name for name, field in type(part).model_fields.items()}
    return getattr(part, fields[key]) if key in fields else None


def meaning(spec: type[Spec], key: str) -> str:
    """Return what a field means; of a ``kind``, what the class is; of no field, nothing."""
    field = spec.model_fields.get(key)
    if field is not None and field.description is not None:
        return field.description
    if key == "kind":
        return (spec.__doc__ or "").strip().partition("\n")[0]
    return ""
