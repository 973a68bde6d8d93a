"""Functions that read: scenarios by name or path, results that lie on disk, pictures of them."""

from collections.abc import Sequence
from pathlib import Path

from asyncdp_sim import results as opened
from asyncdp_sim.api.comparisons import Comparison
from asyncdp_sim.api.place import KeptDirectory
from asyncdp_sim.api.results import Result, Sweep
from asyncdp_sim.errors import Fault, ResultError, SpecError, warn
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.scenario import load as from_file
from asyncdp_sim.scenario.catalogue import scenario_file


def load(
    scenario: Path | str, settings: Sequence[str] = (), *, allow_code: bool = False
) -> Scenario:
    """Load a scenario of the catalogue by its name, or from a file.

    Parameters
    ----------
    scenario : path or str
        A name, such as "lending-sound", or the path of a TOML file.
    settings : sequence of str
        ``path=value``, as ``--set`` takes them; ``scenario.replace`` takes objects.
    allow_code : bool
        Whether code from outside may be executed where the scenario names a class of it.

    Raises
    ------
    SpecError
        With a line for each fault.

    Examples
    --------
    >>> scenario = ad.load("lending-sound")
    >>> scenario.replace(privacy={"epsilon": 3}).privacy.epsilon
    3.0
    >>> ad.load("lending-sound", ["run.updates=50"]).run.updates
    50
    """
    found, notes = from_file(scenario_file(Path(scenario)), settings, allow_code=allow_code)
    warn(notes)
    return found


def as_scenario(given: Scenario | Path | str) -> Scenario:
    """Return a scenario as it is, or by its name or path."""
    return given if isinstance(given, Scenario) else load(given)


def open(directory: Path | str) -> Result | Sweep:
    """Open the directory of a result or of a sweep.

    Parameters
    ----------
    directory : path

    Raises
    ------
    ResultError
        If it is neither.

    Examples
    --------
    >>> scenario = ad.load("vary-availability").replace(run={"updates": 20, "replicates": 2})
    >>> made = ad.run(scenario, out="here")
    >>> ad.open("here").curve.equals(made.curve)
    True
    """
    found, place = opened.open_directory(Path(directory)), KeptDirectory(Path(directory))
    return Sweep(found, place) if isinstance(found, opened.Sweep) else Result(found, place)


def as_directory(given: Result | Sweep | Path | str) -> Path:
    """Return where a result lies."""
    return given.directory if isinstance(given, Result | Sweep) else Path(given)


def plot(result: Result | Sweep | Path | str, *, out: Path | str | None = None) -> tuple[Path, ...]:
    """Draw every figure that a result or a sweep has; return the paths of the pictures.

    Parameters
    ----------
    result : Result, Sweep or path
    out : path, optional
        A folder; ``figures`` in the directory of the result by default.

    Raises
    ------
    ResultError
        If there is no result, or its directory is a temporary one and no folder is named.

    Examples
    --------
    >>> scenario = ad.load("vary-availability").replace(run={"updates": 20, "replicates": 2})
    >>> pictures = ad.plot(ad.run(scenario), out="pictures")
    >>> "convergence-by-update.png" in {picture.name for picture in pictures}
    True
    """
    from asyncdp_sim.figures.draw import draw_all

    if out is None and isinstance(result, Result | Sweep) and not result.kept:
        given, allowed = "nothing, and a result that is not kept", "name a folder"
        raise ResultError([Fault("out", given, allowed)])
    folder = None if out is None else Path(out)
    return draw_all(as_directory(result), folder=folder).pictures


def compare(*results: Result | Path | str, names: Sequence[str] | None = None) -> Comparison:
    """Compare results with the first of them: paired by replicate where they have one seed.

    Parameters
    ----------
    *results : Result or path
        Two or more; the cells of a sweep are results.
    names : sequence of str, optional
        What they are called, one each; their directories, or scenarios, by default.

    Raises
    ------
    ResultError
        If there are fewer than two, or one is a sweep, no result, or there twice.

    Examples
    --------
    >>> scenario = ad.load("vary-availability").replace(run={"updates": 20, "replicates": 4})
    >>> strict, loose = (scenario.replace(privacy={"epsilon": e}) for e in (0.5, 5.0))
    >>> found = ad.compare(ad.run(strict), ad.run(loose), names=["strict", "loose"])
    >>> found.lines()[0].startswith("loose against strict, paired by replicate")
    True
    """
    from asyncdp_sim import comparisons

    opened_ones = tuple(each for each in results if isinstance(each, Result))
    if names is None and any(not each.kept for each in opened_ones):
        names = [_name(each, place) for place, each in enumerate(results, 1)]
    if names is not None and not len(set(names)) == len(names) == len(results):
        given, allowed = f"{list(names)}", f"allowed are {len(results)} different ones"
        raise SpecError([Fault("names", given, allowed)])
    places = [as_directory(each) for each in results]
    return Comparison(comparisons.compare(places, names), opened_ones)


def _name(result: Result | Path | str, place: int) -> str:
    """Return what a result is called beside one that has no directory of its own."""
    if isinstance(result, Result) and not result.kept:
        return f"{result.manifest['scenario']['id']} ({place})"
    return as_directory(result).name
