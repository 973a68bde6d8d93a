"""Everything that applies to a result, a sweep or a forecast, drawn into a folder of its own."""

from dataclasses import dataclass
from pathlib import Path

from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.core.files import is_dir
from asyncdp_sim.figures import forecast
from asyncdp_sim.figures.break_even import decisions
from asyncdp_sim.figures.picture import (
    SCREEN,
    FileFormat,
    Paper,
    Shown,
    captions_page,
    save,
    write,
)
from asyncdp_sim.figures.plan import Studies, plan
from asyncdp_sim.figures.style import style_sheet
from asyncdp_sim.results import Result, Sweep, open_directory


@dataclass(frozen=True)
class Drawing:
    """Files that were drawn, and notes on what was not.

    Attributes
    ----------
    pictures : tuple of Path
        Files of one format; each has a CSV beside it, and ``captions.md`` lists them.
    notes : tuple of str
        What was not drawn, and why.
    decisions : tuple of str
        Whether to join, where a picture answers it.
    """

    pictures: tuple[Path, ...]
    notes: tuple[str, ...]
    decisions: tuple[str, ...] = ()


def draw_all(
    directory: Path,
    *,
    folder: Path | None = None,
    paper: Paper = SCREEN,
    studies: Studies | None = None,
) -> Drawing:
    """Draw all figures of a result or sweep directory.

    Parameters
    ----------
    directory : Path
    folder : Path, optional
        Where to; ``<directory>/figures`` by default.
    paper : Paper
        Format of the files, and the width at which they are printed.
    studies : mapping, optional
        Pictures of entries of the catalogue beyond those of this package.

    Raises
    ------
    ResultError
        If the directory is neither, or cannot be written to.
    """
    opened = open_directory(directory)
    planned, notes = plan(opened, studies)
    drawn = [entry.shown() for entry in planned]
    folder = _figures(directory) if folder is None else folder
    paths = [save(picture, folder, paper) for picture, _ in drawn]
    write(folder / "captions.md", captions_page(drawn, notes, paper.format).encode())
    return Drawing(tuple(paths), tuple(notes), decisions(opened))


def decided_by(directory: Path) -> tuple[str, ...]:
    """Return whether to join, where a figure of the directory answers it, without drawing."""
    return decisions(open_directory(directory))


def _figures(directory: Path) -> Path:
    """Return the folder of a directory's figures; a link is none, as it leads elsewhere."""
    folder = directory / "figures"
    if folder.is_symlink():
        link = f"a link to {folder.readlink()} in the place of figures"
        raise ResultError([Fault("", link, "allowed is a folder, or none yet")], str(directory))
    return folder


def pictures(opened: Result | Sweep) -> tuple[list[Shown], list[str]]:
    """Return all pictures of a result or a sweep, drawn, and notes on those that it lacks.

    Raises
    ------
    ResultError
        If a table is damaged.
    """
    planned, notes = plan(opened)
    return [entry.shown() for entry in planned], notes


def draw_named(
    path: Path,
    file_format: FileFormat = "png",
    width: float | None = None,
    sheet: Path | None = None,
) -> Drawing:
    """Draw a result's or a sweep's directory, or a file that ends in ``.json`` as a forecast.

    Parameters
    ----------
    path : Path
    file_format, width
        As of :class:`~asyncdp_sim.figures.picture.Paper`.
    sheet : Path, optional
        A matplotlib style sheet, applied over the style of all figures.

    Raises
    ------
    ResultError
        If it is none of them, the sheet cannot be read, or nothing can be written.
    """
    paper = Paper(file_format, width)
    with style_sheet(sheet):
        if path.suffix == ".json" and not is_dir(path):
            return Drawing(tuple(draw_forecast(path, paper)), ())
        return draw_all(path, paper=paper)


def draw_forecast(file: Path, paper: Paper = SCREEN) -> list[Path]:
    """Draw what ``asyncdp forecast --json`` printed into a folder of that name beside the file.

    Raises
    ------
    ResultError
        If the file is no forecast, or nothing can be written.
    """
    drawn = forecast.pictures(forecast.read(file))
    return [save(picture.of(file.stem), file.with_suffix(""), paper) for picture in drawn]
