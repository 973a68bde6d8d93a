"""Results that lie on disk, opened for reading: a result directory, or a sweep of several."""

from pathlib import Path

from asyncdp_sim.on_disk import is_file
from asyncdp_sim.opened.result import Result
from asyncdp_sim.opened.sweep import Cell, Sweep
from asyncdp_sim.reading import not_a_result


def open_directory(directory: Path) -> Result | Sweep:
    """Open a result or a sweep directory.

    Raises
    ------
    ResultError
        If it is neither.
    """
    if is_file(directory / "cells.parquet"):
        return Sweep.read(directory)
    return Result.read(directory)


__all__ = ["Cell", "Result", "Sweep", "not_a_result", "open_directory"]
