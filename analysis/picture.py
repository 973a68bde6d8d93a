"""A picture with its numbers and its caption, and how it comes to disk: whole or not at all."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt
from matplotlib.figure import Figure

from analysis.style import style
from asyncdp_sim.errors import Fault, ResultError


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawn figure.

    Attributes
    ----------
    name : str
        File name without its ending.
    figure : Figure
        Labelled already.
    table : mapping of arrays
        The plotted numbers, columns of one length.
    caption : str
        What is shown; the run's settings follow in :mod:`analysis.captions`.
    """

    name: str
    figure: Figure
    table: Mapping[str, npt.NDArray[Any]]
    caption: str


def save(picture: Picture, folder: Path) -> Path:
    """Write ``<name>.png`` and ``<name>.csv``; return the path of the first.

    Raises
    ------
    ResultError
        If they cannot be written.
    """
    drawn = io.BytesIO()
    with style():
        picture.figure.savefig(drawn, format="png", metadata={"Software": None})
    write(folder / f"{picture.name}.csv", as_csv(picture.table).encode())
    path = folder / f"{picture.name}.png"
    write(path, drawn.getvalue())
    return path


def as_csv(table: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return columns as CSV; numbers with all their digits, NaN as nothing."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(table)
    columns = [column.tolist() for column in table.values()]
    for row in zip(*columns, strict=True):
        rows.writerow(["" if value != value else value for value in row])
    return text.getvalue()


def write(path: Path, content: bytes) -> None:
    """Write a file so that it appears whole.

    Raises
    ------
    ResultError
        If it cannot be written.
    """
    unfinished = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError as error:
        allowed = "allowed is a place that can be written to"
        raise ResultError([Fault("", str(error.strerror), allowed)], str(path)) from None
