"""Private rows drawn from the public ones: a table to forecast on before any data moves."""

from typing import TYPE_CHECKING

from asyncdp_sim.errors import DataError, Fault
from asyncdp_sim.streams import Scope, Streams

if TYPE_CHECKING:
    import pandas as pd


def resampled(
    frame: "pd.DataFrame", public: int, kept: str | None, streams: Streams | Scope
) -> "pd.DataFrame":
    """Return a table whose private rows are drawn from its public ones, with replacement.

    Parameters
    ----------
    frame : DataFrame
        Public rows last.
    public : int
        How many they are, ≥ 1.
    kept : str, optional
        The column that says whose a row is, which is public and stays as it is.
    streams : Streams or Scope

    Raises
    ------
    DataError
        On ``data.public_records``, where there are fewer rows.
    """
    import pandas as pd

    private = len(frame) - public
    if private < 0:
        allowed = f"allowed is at most {len(frame)}, the number of rows of the table"
        raise DataError([Fault("data.public_records", str(public), allowed)])
    known = frame.iloc[private:]
    places = streams.generator("data", "resampled").integers(public, size=private)
    drawn = known.iloc[places].reset_index(drop=True)
    if kept is not None:
        drawn[kept] = frame[kept].iloc[:private].to_numpy()
    return pd.concat([drawn, known], ignore_index=True)
