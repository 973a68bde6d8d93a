"""Every scenario file of the catalogue, by its id."""

from dataclasses import dataclass
from pathlib import Path

from asyncdp_sim.errors import Fault, SpecError
from asyncdp_sim.scenario import Scenario, load


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
        return load(self.file, settings)[0]


def catalogue() -> list[Entry]:
    """Return all entries, sorted by id."""
    return [Entry(file) for file in sorted(Path(__file__).parent.glob("*.toml"))]


def entry(name: str) -> Entry:
    """Return the entry of this id.

    Raises
    ------
    SpecError
        If there is none, naming those that there are.
    """
    entries = {found.name: found for found in catalogue()}
    if name not in entries:
        listed = ", ".join(entries)
        raise SpecError([Fault("NAME", repr(name), f"the catalogue holds {listed}")], "scenarios")
    return entries[name]
