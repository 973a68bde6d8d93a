"""Everything that a command line names, drawn: results, sweeps, and forecasts in JSON."""

from pathlib import Path

from asyncdp_sim.figures.draw import Drawing, draw_all
from asyncdp_sim.figures.kit.picture import save
from asyncdp_sim.figures.runs import forecast
from asyncdp_sim.on_disk import is_dir


def draw_named(path: Path) -> Drawing:
    """Draw a result's or a sweep's directory, or a file that ends in ``.json`` as a forecast.

    Raises
    ------
    ResultError
        If it is none of them, or nothing can be written.
    """
    if path.suffix == ".json" and not is_dir(path):
        return Drawing(tuple(draw_forecast(path)), ())
    return draw_all(path)


def draw_forecast(file: Path) -> list[Path]:
    """Draw what ``asyncdp forecast --json`` printed into a folder of that name beside the file.

    Raises
    ------
    ResultError
        If the file is no forecast, or nothing can be written.
    """
    drawn = forecast.pictures(forecast.read(file))
    return [save(each.of(file.stem), file.with_suffix("")) for each in drawn]
