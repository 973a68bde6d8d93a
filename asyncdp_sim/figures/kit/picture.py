"""A picture with its numbers, caption and label, and how it comes to disk: whole or not at all."""

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from asyncdp_sim.errors import Fault, ResultError
from asyncdp_sim.figures.kit.printed import fit
from asyncdp_sim.figures.kit.privacy_label import Label, put
from asyncdp_sim.figures.kit.style import DPI, laid_out, style

Table = dict[str, npt.NDArray[Any]]
FileFormat = Literal["png", "pdf", "svg"]
UNDATED: dict[FileFormat, dict[str, Any]] = {
    # A file larger by a fortieth than at Pillow's own level 6, in a third less of the time.
    "png": {"metadata": {"Software": None}, "pil_kwargs": {"compress_level": 3}},
    "pdf": {"metadata": {"CreationDate": None}},
    "svg": {"metadata": {"Date": None}},
}
"""What each format is written with, so that files of one picture are alike."""


@dataclass(frozen=True)
class Paper:
    """The format of files, and the width at which they are printed.

    Attributes
    ----------
    format : str
        ``png``, ``pdf`` or ``svg``.
    width : float, optional
        Inches at which they are printed; as they are drawn by default.
    """

    format: FileFormat = "png"
    width: float | None = None


SCREEN = Paper()


@dataclass(frozen=True, eq=False)
class Picture:
    """A drawn figure; none is without its label, which stands on it and in its table.

    Attributes
    ----------
    name : str
        File name without its ending.
    figure : Figure
        Gets the label.
    table : mapping of arrays
        The plotted numbers, columns of one length.
    caption : str
        What is shown; the run's settings follow in :mod:`asyncdp_sim.figures.kit.captions`.
    label : Label
        Of the runs shown.
    exact : bool
        Whether the numbers are computed from the owners' records without noise, as ψ and losses
        are, so that no ε covers them whatever the runs' models are.
    """

    name: str
    figure: Figure
    table: Mapping[str, npt.NDArray[Any]]
    caption: str
    label: Label
    exact: bool = True

    def __post_init__(self) -> None:
        """Write the label on the figure."""
        with style():
            put(self.figure, self.label)

    def of(self, scenario: str, fixed: str = "") -> "Picture":
        """Return the picture with which scenario is shown in its lower left corner, too.

        Parameters
        ----------
        scenario : str
        fixed : str
            What all that is shown has of it, where other cells have other values: the caption
            says so as well.
        """
        said = replace(self, caption=f"{self.caption} In all: {fixed}.") if fixed else self
        with style():
            put(self.figure, self.label, f"{scenario}, where {fixed}" if fixed else scenario)
        return said

    def labelled(self) -> dict[str, npt.NDArray[Any]]:
        """Return the table with the label's columns, but for those that it has row by row.

        What differs among the runs shown is left out where the table has no column of it.
        ``private`` is of this table, ``models_private`` and the rest of the models behind it.
        """
        rows = len(next(iter(self.table.values()), ()))
        values = self.label.values() | dict.fromkeys(self.label.mixed)
        label = {name: np.full(rows, value) for name, value in values.items()}
        own = {name: self.table[name] for name in label if name in self.table}
        table = {name: each for name, each in self.table.items() if name not in label}
        if not self.exact:
            return table | label | own
        models = {"models_private": (label | own)["private"]}
        return table | label | own | models | {"private": np.full(rows, False)}


def save(picture: Picture, folder: Path, paper: Paper = SCREEN) -> Path:
    """Write ``<name>.png``, or of another format, and ``<name>.csv``; return the path of the first.

    Raises
    ------
    ResultError
        If they cannot be written.
    """
    drawn = io.BytesIO()
    with style(), mpl.rc_context({"svg.hashsalt": picture.name}):
        if paper.width is not None:
            fit(picture.figure, paper.width)
        with laid_out(picture.figure, DPI):
            picture.figure.savefig(drawn, format=paper.format, **UNDATED[paper.format])
    write(folder / f"{picture.name}.csv", as_csv(picture.labelled()).encode())
    path = folder / f"{picture.name}.{paper.format}"
    write(path, drawn.getvalue())
    return path


def as_csv(table: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return columns as CSV; numbers with all their digits, NaN as nothing."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(table)
    columns = [column.tolist() for column in table.values()]
    for row in zip(*columns, strict=True):
        rows.writerow(["" if value is None or value != value else value for value in row])
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
