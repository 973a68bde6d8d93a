"""Results side by side: what differs in their scenarios, and by how much in their figures."""

from collections.abc import Sequence
from pathlib import Path

from asyncdp_sim.comparisons.comparison import Comparison, against, contrast
from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.core.files import is_file
from asyncdp_sim.results import Result


def compare(directories: Sequence[Path], names: Sequence[str] | None = None) -> Comparison:
    """Compare results with the first of them.

    Results of one seed have their random numbers in common: replicate by replicate the same clocks
    tick and the same noise is drawn, as far as the scenarios let them. Their differences are taken
    within replicates, which leaves out of the interval all that both have in common.

    Parameters
    ----------
    directories : sequence of Path
        Of results, two or more; the cells of a sweep are results.
    names : sequence of str, optional
        What they are called, one each; as their directories by default.

    Raises
    ------
    ResultError
        If there are fewer than two, or one is named twice, is a sweep, or no result.
    """
    if len(directories) < 2:
        count = f"{len(directories)} result{'s' * (len(directories) != 1)}"
        raise ResultError([Fault("DIR", count, "allowed are two or more")])
    places = [directory.resolve() for directory in directories]
    for place, directory in zip(places, directories, strict=True):
        if places.count(place) > 1:
            count, remedy = "the same result twice", "allowed is each once"
            raise ResultError([Fault("DIR", count, remedy)], str(directory))
    first, *rest_opened = map(_opened, directories)
    named, *rest = _names(directories) if names is None else names
    compared = (against(first, other, name) for other, name in zip(rest_opened, rest, strict=True))
    return Comparison(first, named, tuple(compared))


def _opened(directory: Path) -> Result:
    """Open a result; a sweep is refused by name, for it is many."""
    if is_file(directory / "cells.parquet"):
        remedy = f"allowed is a result, such as a cell of it: {directory / 'cell-0000'}"
        raise ResultError([Fault("", "a sweep", remedy)], str(directory))
    return Result.read(directory)


def _names(directories: Sequence[Path]) -> list[str]:
    """Return the directories' own names where these tell them apart, else their paths."""
    short = [directory.resolve().name for directory in directories]
    return short if len(set(short)) == len(short) else list(map(str, directories))
