"""The catalogue: scenarios that come with the package, found by name."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from os.path import lexists
from pathlib import Path

from asyncdp_sim.core.errors import Fault, SpecError
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
        scenario.data.features,
        timing=scenario.timing_unaccounted,
        unsound=scenario.unsound,
        outside=scenario.outside_parts,
    )
    return {True: _PRIVATE, None: _ON_TRUST, False: _BROKEN}[kept]


def catalogue() -> list[Entry]:
    """Return all entries, sorted by id."""
    return list(_entries())


@cache
def _entries() -> tuple[Entry, ...]:
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
    if name not in entries:
        near = difflib.get_close_matches(name.casefold(), entries, n=_NEAR, cutoff=0.5)
        nearest = f"nearest are {', '.join(near)}" if len(near) > 0 else "nothing is near it"
        problem = "no file, and no name in the catalogue"
        raise SpecError([Fault("", problem, f"{nearest}; asyncdp list shows all")], name)
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
