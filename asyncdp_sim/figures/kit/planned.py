"""A picture that a directory has, before it is drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from asyncdp_sim.figures.kit.picture import Picture
from asyncdp_sim.figures.kit.source import Result

Shown = tuple[Picture, Sequence[Result]]


@dataclass(frozen=True, eq=False)
class Planned:
    """A picture that is drawn when it is asked for.

    Attributes
    ----------
    make : callable
        Draws it.
    results : sequence of Result
        Those that it shows.
    """

    make: Callable[[], Picture]
    results: Sequence[Result]

    def of(self, scenario: str, fixed: str = "") -> "Planned":
        """Return it with what :meth:`Picture.of` writes on it."""
        return replace(self, make=lambda: self.make().of(scenario, fixed))

    def shown(self) -> Shown:
        """Draw it; return it with the results that it shows."""
        return self.make(), self.results
