"""Everything that a command line names, drawn: results, sweeps, and forecasts in JSON."""

from pathlib import Path

from asyncdp_sim.figures.draw import Drawing, draw_all
from asyncdp_sim.figures.kit.picture import SCREEN, FileFormat, Paper, save
from asyncdp_sim.figures.runs import forecast
from asyncdp_sim.on_disk import is_dir


def draw_named(path: Path, file_format: FileFormat = "png", width: float | None = None) -> Drawing:
    """Draw a result's or a sweep's directory, or a file that ends in ``.json`` as a forecast.

    Parameters
    ----------
    path : Path
    file_format, width
        As of :class:`~asyncdp_sim.figures.kit.picture.Paper`.

    Raises
    ------
    ResultError
        If it is none of them, or nothing can be written.
    """
    paper = Paper(file_format, width)
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
    return [save(each.of(file.stem), file.with_suffix(""), paper) for each in drawn]
