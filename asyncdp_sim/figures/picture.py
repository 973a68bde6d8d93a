"""A picture with its numbers, caption and label, as files, whole or not at all, and in a page."""

import csv
import io
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from errno import EISDIR
from functools import cached_property
from importlib.resources import files
from os import strerror
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.core.words import agreed, numbers
from asyncdp_sim.data import SYNTHETIC
from asyncdp_sim.figures.drawer import Declaration, draw
from asyncdp_sim.figures.style import DPI, VERMILION, laid_out, leaves_frame, style
from asyncdp_sim.results import Result
from asyncdp_sim.sentences import label as labels
from asyncdp_sim.sentences.label import COLUMNS, Label

MOST_LISTED = 4
CAPTIONS = tomllib.loads(files(__package__).joinpath("captions.toml").read_text("utf-8"))
"""Captions of pictures that say the same whatever is drawn."""


def label(results: Sequence[Result]) -> Label:
    """Return the label of a figure that shows these results (at least one)."""
    return labels.label([result.manifest for result in results])


def row_labels(shown: Sequence[Sequence[Result]], rows: int | Sequence[int] = 1) -> Columns:
    """Return the label's columns of a table: of so many ``rows`` each the label of some results.

    Nothing where a row shows none.
    """
    of_rows = [label(results) if len(results) > 0 else None for results in shown]
    values = {name: [getattr(of_row, name, None) for of_row in of_rows] for name in COLUMNS}
    return {name: np.repeat(np.array(own, dtype=object), rows) for name, own in values.items()}


def listed(texts: Sequence[str], between: str = ", ") -> str:
    """Return distinct texts side by side; of many the first and the last, and how many."""
    distinct = list(dict.fromkeys(texts))
    if len(distinct) <= MOST_LISTED:
        return between.join(distinct)
    return f"{distinct[0]} … {distinct[-1]} ({len(distinct)} in all)"


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
    """A table and what is drawn of it, with its privacy label below it and in its table.

    Attributes
    ----------
    name : str
        File name without its ending.
    said : Declaration
        What is drawn; its title is the answer, built from the table.
    table : mapping of arrays
        The plotted numbers, columns of one length.
    caption : str
        What is shown; the run's settings follow in :func:`caption`.
    label : Label
        Of the runs shown.
    exact : bool
        Whether the numbers are computed from the owners' records without noise, as ψ and losses
        are, so that no ε covers them whatever the runs' models are.
    subject : str
        The scenario, which stands before the label.
    width : float, optional
        Inches at which it is printed, if not as declared.
    """

    name: str
    said: Declaration
    table: Mapping[str, npt.NDArray[Any]]
    caption: str
    label: Label
    exact: bool = True
    subject: str = ""
    width: float | None = None

    @cached_property
    def figure(self) -> Figure:
        """The drawing."""
        text = f"{self.subject}. {self.label.text}" if self.subject else self.label.text
        mild = self.label.private is True and self.label.timing_accounted
        return draw(self.said, self.width, text, "#444444" if mild else VERMILION)

    @property
    def text(self) -> str:
        """The answer, and what is shown."""
        return f"{self.said.title}. {self.caption}" if self.said.title else self.caption

    def of(self, scenario: str, fixed: str = "") -> "Picture":
        """Return the picture with which scenario is shown in its lower left corner, too.

        Parameters
        ----------
        scenario : str
        fixed : str
            What all that is shown has of it, where other cells have other values: the caption
            says so as well.
        """
        if not fixed:
            return replace(self, subject=scenario)
        caption = f"{self.caption} In all: {fixed}."
        return replace(self, caption=caption, subject=f"{scenario}, where {fixed}")

    def labelled(self) -> Columns:
        """Return the table with the label's columns, but for those that it has row by row.

        What differs among the runs shown is left out where the table has no column of it.
        ``private`` is of this table, ``models_private`` and the rest of the models behind it.
        """
        rows = len(next(iter(self.table.values()), ()))
        values = self.label.values() | dict.fromkeys(self.label.mixed)
        label = {name: np.full(rows, value) for name, value in values.items()}
        own = {name: self.table[name] for name in label if name in self.table}
        table = {name: column for name, column in self.table.items() if name not in label}
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
    picture = picture if paper.width is None else replace(picture, width=paper.width)
    options = UNDATED[paper.format]
    named = options["metadata"] | {"Title": picture.said.title or picture.name}
    with style(), mpl.rc_context({"svg.hashsalt": picture.name}), laid_out(picture.figure, DPI):
        picture.figure.savefig(drawn, format=paper.format, **(options | {"metadata": named}))
    write(folder / f"{picture.name}.csv", as_csv(picture.labelled()).encode())
    path = folder / f"{picture.name}.{paper.format}"
    write(path, drawn.getvalue())
    return path


_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A text that begins so is computed by a spreadsheet that opens the file."""
PREFIXED = "In its CSV file, names that begin with = + - @ stand behind an apostrophe."


def is_formula(value: object) -> bool:
    """Return whether a cell is a text that a spreadsheet would compute."""
    return isinstance(value, str) and value.startswith(_FORMULA)


def as_csv(table: Mapping[str, npt.NDArray[Any]]) -> str:
    """Return columns as CSV for spreadsheets; numbers with all their digits, NaN as nothing."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(f"'{name}" if is_formula(name) else name for name in table)
    columns = [column.tolist() for column in table.values()]
    for row in zip(*columns, strict=True):
        cells = ("" if value is None or value != value else value for value in row)
        rows.writerow(f"'{cell}" if is_formula(cell) else cell for cell in cells)
    return text.getvalue()


def write(path: Path, content: bytes) -> None:
    """Write a file so that it appears whole.

    Raises
    ------
    ResultError
        If it cannot be written.
    """
    try:
        if path.is_dir():  # before a file is left beside it
            raise IsADirectoryError(EISDIR, strerror(EISDIR))
        unfinished = path.with_name(path.name + ".tmp")
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError as error:
        place = "allowed is a place that can be written to"
        raise ResultError([Fault("", str(error.strerror), place)], str(path)) from None


Shown = tuple[Picture, Sequence[Result]]
"""A picture, and the results that it shows."""


BEYOND = "Curves that leave the frame, and arrows at its edge, exceed 10³⁰: these runs diverged."


def caption(number: int, picture: Picture, results: Sequence[Result]) -> str:
    """Return the caption of figure ``number``, which shows these results."""
    text = f"{picture.text} {BEYOND}" if leaves_frame(picture.figure) else picture.text
    cells = (cell for column in picture.table.values() for cell in (column.tolist()))
    text += f" {PREFIXED}" if any(map(is_formula, (*picture.table, *cells))) else ""
    return agreed(f"Figure {number}. {text} {run_settings(results)} {picture.label.text}")


def run_settings(results: Sequence[Result]) -> str:
    """Return the settings of the runs shown: N, n_i, T, R, ε, seed, data, source and digest."""
    scenarios = [result.scenario for result in results]
    records = [float(n) for result in results for n in result.columns("owners", "records")[0]]
    claimed = [epsilon for result in results for epsilon in labels.budgets(result.manifest)]
    repeated = numbers(float(len(result.replicates)) for result in results)
    parts = [
        f"N = {numbers(float(result.n_owners) for result in results)} owners",
        f"n_i = {numbers(records)} records",
        f"T = {numbers(float(result.updates) for result in results)} updates",
        f"R = {repeated} replicates",
        f"ε = {numbers(claimed)}" if claimed else "no ε",
        f"seed {numbers(float(s['run']['seed']) for s in scenarios)}",
        f"data: {listed([_data(s['data']) for s in scenarios])}",
    ]
    names = listed([str(s["id"]) for s in scenarios])
    origin = listed(list(map(_source, scenarios)))
    digests = listed([str(result.manifest["digest"])[:12] for result in results])
    return f"{', '.join(parts)}. Scenario {names} (source: {origin}), digest {digests}."


def captions_page(
    entries: Sequence[Shown], notes: Sequence[str], ending: FileFormat = "png"
) -> str:
    """Return ``captions.md``: every figure with its caption and numbers, and what is not drawn."""
    parts = ["# Figures"]
    for number, (picture, results) in enumerate(entries, start=1):
        text = caption(number, picture, results)
        parts.append(f"## {picture.name}.{ending}\n\n{text}\n\nNumbers: `{picture.name}.csv`.")
    if len(notes) > 0:
        parts.append("## Not drawn")
        parts.append("\n".join(f"- {note}" for note in notes))
    return "\n\n".join(parts) + "\n"


def _source(scenario: Mapping[str, Any]) -> str:
    """Return where a scenario comes from; where it does not say so truly, where its data do."""
    named, data = scenario.get("source"), scenario["data"]
    if named is None or (named == SYNTHETIC and "path" in data):
        return _data(data)
    return str(named)


def _data(data: dict[str, object]) -> str:
    where = f", file {data['path']}" if "path" in data else " (synthetic)"
    return f"{data['kind']}{where}"


RASTER_DPI = 150
_PROLOGUE = re.compile(r"\A.*?(?=<svg\b)", re.S)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.S)
_COMMENT = re.compile(r"\s*<!--.*?-->", re.S)
_STYLE = re.compile(r"\s*<style type=\"text/css\">.*?</style>", re.S)
_ID = re.compile(r"\sid=\"[^\"]*\"")
_ROOT = re.compile(r"<svg\b[^>]*?\bviewBox=\"([^\"]*)\"[^>]*>", re.S)


def inline(picture: Picture, prefix: str, largest: int) -> tuple[str, tuple[float, float]]:
    """Return a picture as an ``svg`` element's inner text, and its width and height in points.

    Parameters
    ----------
    picture : Picture
    prefix : str
        Begins every id, so that several pictures fit one page.
    largest : int
        Characters beyond which what is plotted becomes pixels; axes and words stay as they are.
    """
    text = _drawn(picture.figure, prefix)
    if len(text) > largest:
        for axes in picture.figure.axes:
            for artist in (*axes.lines, *axes.collections, *axes.patches, *axes.images):
                artist.set_rasterized(True)
        text = _drawn(picture.figure, prefix)
    for superfluous in (_PROLOGUE, _METADATA, _COMMENT, _STYLE):
        text = superfluous.sub("", text)
    root = _ROOT.match(text)
    if root is None:
        raise TypeError("matplotlib writes an svg element with a viewBox")
    width, height = map(float, root.group(1).split()[2:])
    inner = text[root.end() : text.rindex("</svg>")]
    times = Counter(_ID.findall(inner))  # the mark of several artists is no id of any
    inner = _ID.sub(lambda found: found[0] if times[found[0]] == 1 else "", inner)
    inner = re.sub(r'\bid="', f'id="{prefix}-', inner)
    inner = re.sub(r'\b(?:xlink:)?href="#', f'href="#{prefix}-', inner)
    inner = inner.replace("xlink:href=", "href=").replace("url(#", f"url(#{prefix}-")
    return inner.strip(), (width, height)


def _drawn(figure: Figure, salt: str) -> str:
    drawn = io.StringIO()
    FigureCanvasSVG(figure)  # whose letters the layout makes room for
    with (
        style(),
        mpl.rc_context({"svg.hashsalt": salt, "svg.fonttype": "path"}),
        laid_out(figure, RASTER_DPI),
    ):
        figure.savefig(drawn, format="svg", dpi=RASTER_DPI, metadata={"Date": None})
    return drawn.getvalue()
