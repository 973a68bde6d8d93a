"""The family of substitutes for private rows, and their interface."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.dataset import Array, Rows
from asyncdp_sim.spec.base import Variant, about


@dataclass(frozen=True, eq=False)
class PublicKnowledge:
    """Public facts of a table: its public rows, and how many rows each owner has.

    Attributes
    ----------
    features, targets : array
        Of the public rows, (M, p) and (M,), as models take them; targets NaN where there is none.
    like : array of int (M,)
        The owner, from 0, whose rows each public row is like; −1 where it is nobody's more than
        others'.
    sizes : tuple of int
        Rows that each owner has.
    names : tuple of str
        Of the owners; without members where they have none.
    others : int
        Rows of no owner that is known.
    last : bool
        Whether the public rows are the last of the table that the owners' rows are in.
    """

    features: Array
    targets: Array
    like: Rows
    sizes: tuple[int, ...]
    names: tuple[str, ...]
    others: int
    last: bool


@dataclass(frozen=True, eq=False)
class StandInRows:
    """Rows in place of private ones.

    Attributes
    ----------
    owners : list of (array, array)
        Features (n_i, p) and targets (n_i,) of each owner.
    others : (array, array)
        Of the rows of no owner that is known.
    doubts : tuple of str
        What they leave out, so that a forecast may be further off than its ± says.
    """

    owners: list[tuple[Array, Array]]
    others: tuple[Array, Array]
    doubts: tuple[str, ...]


class StandInKind(Variant):
    """A way to draw rows in place of private ones."""

    words: ClassVar[str]
    """What is drawn."""
    uncertain: ClassVar[str]
    """What is drawn again for the ± of a forecast."""
    needs_public_rows: ClassVar[bool]
    """Nothing is drawn without public rows."""

    redrawn: Annotated[
        int,
        Field(ge=0),
        about("Number of the redraw of the substitute rows; 0 is the first draw", "none"),
    ] = 0

    def of_owner(self, owner: int, streams: Streams | Scope) -> np.random.Generator:
        """Return the generator of an owner's rows (from 1); each redraw has its own."""
        return streams.generator("data", "owner", owner, "stand-in", *self._again)

    def of_others(self, streams: Streams | Scope) -> np.random.Generator:
        """Return what draws the rows of no owner that is known."""
        return streams.generator("data", "stand-in", "others", *self._again)

    @property
    def _again(self) -> tuple[int, ...]:
        return () if self.redrawn == 0 else (self.redrawn,)

    @abstractmethod
    def drawn(self, known: PublicKnowledge, streams: Streams | Scope) -> StandInRows:
        """Return rows in place of private ones.

        Raises
        ------
        DataError
            On ``data.stand_in``, where a file does not say what is needed.
        """
