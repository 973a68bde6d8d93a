"""A table with substitute rows in place of the private ones."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.core.streams import Scope, Streams
from asyncdp_sim.data.dataset import Encoded
from asyncdp_sim.data.splits import OwnerSplit, SplitKind, TableToSplit
from asyncdp_sim.data.surrogates.public_rows import PublicKnowledge, PublicRows
from asyncdp_sim.data.tables.preprocessing import Projection

if TYPE_CHECKING:
    import pandas as pd


def private_rows(total: int, public: int) -> int:
    """Return how many rows come before the public ones.

    Raises
    ------
    DataError
        On ``data.public_records``, where there are fewer rows.
    """
    if public > total:
        rule = f"allowed is at most {total}, the number of rows of the table"
        raise DataError([Fault("data.public_records", str(public), rule)])
    return total - public


@dataclass(frozen=True, eq=False)
class Ground:
    """The public data from which substitutes for a table's private rows are drawn.

    Attributes
    ----------
    frame : DataFrame
        All rows, public ones last; of the private ones only the column that says whose they are
        is looked at.
    first : int
        The first public row, from 0: so many are private.
    public : Encoded
        The public rows.
    projection : Projection
        What makes features of them.
    apart : bool
        Whether public rows are in a file of their own.
    """

    frame: "pd.DataFrame"
    first: int
    public: Encoded
    projection: Projection
    apart: bool

    def repeated(self, times: int, column: str | None) -> "Ground":
        """Return the same with each private row there so many times, with this column alone."""
        import pandas as pd

        seen = self.frame[[] if column is None else [column]]
        parts = [*[seen.iloc[: self.first]] * times, seen.iloc[self.first :]]
        return replace(self, frame=pd.concat(parts, ignore_index=True), first=times * self.first)


def replaced(
    stand_in: PublicRows,
    split: SplitKind,
    ground: Ground,
    asked: TableToSplit,
    streams: Streams | Scope,
) -> tuple[Encoded, tuple[str, ...]]:
    """Return a table of features, public rows last, and what the stand-in leaves out.

    Parameters
    ----------
    stand_in : PublicRows
    split : SplitKind
        Tells whose rows public ones are like.
    ground : Ground
    asked : TableToSplit
        How rows are given to owners; not used where a row's target has a say in that.
    streams : Streams or Scope
    """
    public, projection, first = ground.public, ground.projection, ground.first
    features, targets = projection.features(public.matrix), projection.targets(public.target)
    count = len(targets)
    whose = OwnerSplit([]) if split.by_target else split.owned(asked)
    rows = [owner_rows[owner_rows < first] for owner_rows in whose.rows]
    like = split.likened(whose, asked.values_of, first, count, ground.apart)
    sizes = tuple(map(len, rows))
    knowledge = PublicKnowledge(
        features,
        targets,
        like,
        sizes,
        whose.names,
        first - sum(sizes),
        last=not ground.apart and count > 0,
    )
    drawn = stand_in.drawn(knowledge, streams)
    x, y = np.empty((first + count, features.shape[1]), order="F"), np.empty(first + count)
    left = np.ones(first, dtype=bool)
    for places, (each_x, each_y) in zip(rows, drawn.owners, strict=True):
        x[places], y[places], left[places] = each_x, each_y, False
    x[:first][left], y[:first][left] = drawn.others
    x[first:], y[first:] = features, targets
    return replace(public, matrix=x, target=y), drawn.doubts
