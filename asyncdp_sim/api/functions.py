"""Functions of the Python door: those that read, draw and compare, and those that simulate."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from sys import float_info
from typing import Any

from asyncdp_sim import results as on_disk
from asyncdp_sim.api import as_count, as_names, as_number, as_path, wrong_type
from asyncdp_sim.api.results import Comparison, KeptDirectory, Result, Sweep
from asyncdp_sim.api.traces import Forecast, Trace
from asyncdp_sim.audits import Audit
from asyncdp_sim.audits.check import Finding
from asyncdp_sim.audits.per_answer import attack_answers
from asyncdp_sim.core.errors import DataError, Fault, ResultError, SpecError, warn
from asyncdp_sim.core.progress import Progress, told
from asyncdp_sim.core.starting import one_thread
from asyncdp_sim.decision import Judging
from asyncdp_sim.scenario import Scenario, files, from_tables
from asyncdp_sim.scenario.catalogue import scenario_file

SCENARIO = "a Scenario, a name in the catalogue, the path of a TOML file, or a dict of its tables"
RESULT = "a Result, a Sweep, or the path of a directory"
FOLDER = "the path of a directory"

AnyScenario = Scenario | Path | str | Mapping[str, Any]
"""What every function takes as a scenario: itself, or what :func:`load` takes."""


def load(
    scenario: Path | str | Mapping[str, Any],
    settings: Sequence[str] = (),
    *,
    allow_code: bool = False,
) -> Scenario:
    """Load a scenario of the catalogue by its name, or from a file.

    Parameters
    ----------
    scenario : path, str or mapping
        Name in the catalogue, such as "lending-sound", path of a TOML file, or its tables as a
        dict, in which relative paths are of the working directory.
    settings : sequence of str
        Settings ``path=value``, as for ``--set``. ``scenario.replace`` accepts objects.
    allow_code : bool
        Whether code from outside may be executed where the scenario names a class of it.

    Raises
    ------
    SpecError
        If the scenario is wrong: one line per fault.

    Examples
    --------
    >>> scenario = ad.load("lending-sound")
    >>> scenario.replace(privacy={"epsilon": 3}).privacy.epsilon
    3.0
    >>> ad.load("lending-sound", ["run.updates=50"]).run.updates
    50
    """
    if not isinstance(settings, list | tuple) or not all(isinstance(s, str) for s in settings):
        raise wrong_type("settings", settings, "a list of texts, each path=value")
    if isinstance(scenario, Mapping):
        scenario_read, notes = from_tables(scenario, settings, allow_code=allow_code)
    else:
        file = scenario_file(as_path(scenario, "scenario", SCENARIO))
        scenario_read, notes = files.load(file, settings, allow_code=allow_code)
    warn(notes)
    return scenario_read


def as_scenario(given: AnyScenario) -> Scenario:
    """Return a scenario as it is, or load it by its name or path, or from its tables."""
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
    folder = as_path(directory, "directory", FOLDER)
    result, kept = on_disk.open_directory(folder), KeptDirectory(folder)
    return Sweep(result, kept) if isinstance(result, on_disk.Sweep) else Result(result, kept)


def as_directory(given: Result | Sweep | Path | str) -> Path:
    """Return where a result lies."""
    if isinstance(given, Result | Sweep):
        return given.directory
    return as_path(given, "result", RESULT)


def plot(result: Result | Sweep | Path | str, *, out: Path | str | None = None) -> tuple[Path, ...]:
    """Draw every figure that a result or a sweep has; return the paths of the pictures.

    Parameters
    ----------
    result : Result, Sweep or path
    out : path, optional
        Folder of the pictures. Absent: ``figures`` in the directory of the result.

    Raises
    ------
    ResultError
        If there is no result, or its directory is temporary and ``out`` is absent.

    Examples
    --------
    >>> scenario = ad.load("vary-availability").replace(run={"updates": 20, "replicates": 2})
    >>> pictures = ad.plot(ad.run(scenario), out="pictures")
    >>> "convergence-by-update.png" in {picture.name for picture in pictures}
    True
    """
    from asyncdp_sim.figures.draw import draw_all

    if out is None and isinstance(result, Result | Sweep) and not result.kept:
        raise ResultError([Fault("out", "nothing, and a result that is not kept", "name a folder")])
    folder = None if out is None else as_path(out, "out", FOLDER)
    return draw_all(as_directory(result), folder=folder).pictures


def compare(*results: Result | Path | str, names: Sequence[str] | None = None) -> Comparison:
    """Compare results with the first of them, paired by replicate if their seeds are equal.

    Parameters
    ----------
    *results : Result or path
        Two or more; the cells of a sweep are results.
    names : sequence of str, optional
        Different names of the results, one each. Absent: their directories; of results in temporary
        directories, their scenarios with their numbers among the arguments.

    Raises
    ------
    SpecError
        If ``names`` are not so many different texts.
    ResultError
        If there are fewer than two results, or one is a sweep, no result, or given twice.

    Examples
    --------
    >>> scenario = ad.load("vary-availability").replace(run={"updates": 20, "replicates": 4})
    >>> strict, loose = (scenario.replace(privacy={"epsilon": e}) for e in (0.5, 5.0))
    >>> found = ad.compare(ad.run(strict), ad.run(loose), names=["strict", "loose"])
    >>> found.lines()[0].startswith("loose against strict, paired by replicate")
    True
    """
    from asyncdp_sim.comparisons.comparison import compare as compared
    from asyncdp_sim.comparisons.comparison import directory_names

    directories = [as_directory(result) for result in results]
    opened = tuple(result for result in results if isinstance(result, Result))
    if names is None:
        # a temporary directory's own name says nothing, and must not lengthen the others' names
        temporary = [result.directory for result in opened if not result.kept]
        called = directory_names([path for path in directories if path not in temporary])
        for place, result in enumerate(results):
            if isinstance(result, Result) and not result.kept:
                called.insert(place, f"{result.manifest['scenario']['id']} ({place + 1})")
    else:
        called = as_names(names, "names", len(results))
    return Comparison(compared(directories, called), opened)


def run(
    scenario: AnyScenario,
    *,
    out: Path | str | None = None,
    events: bool = False,
    workers: int = 1,
    progress: Progress | bool | None = None,
) -> Result:
    """Simulate a scenario and learn.

    Parameters
    ----------
    scenario : Scenario, str, path or mapping
        A scenario, or what :func:`load` takes. If it has a sweep, the base cell runs.
    out : path, optional
        Directory for the result: a new one, or one with this result, which is then opened. Absent:
        a temporary directory, which is removed with the result.
    events : bool
        Whether to keep every event.
    workers : int
        Number of processes, ≥ 1. Results do not depend on it.
    progress : Progress, bool or None
        Callable that receives the activity, the amount done and the total (None if unknown), for
        example ``print``. True: a line with the amount done, the rate and the time left, on a
        terminal or in a notebook. None: that line in notebooks only.

    Raises
    ------
    InputError
        If scenario, data or directory are wrong: one line per fault.

    Examples
    --------
    >>> scenario = ad.load("lending-sound").replace(run={"updates": 20, "replicates": 2})
    >>> result = ad.run(scenario)
    >>> bool(result.summary.loc["private", "value"])
    True
    >>> result.curve["k"].max().item()
    20
    """
    from asyncdp_sim.runs.run import finished_or_free, write
    from asyncdp_sim.runs.run import run as run_scenario
    from asyncdp_sim.theory.predict.all import size_notes

    base = as_scenario(scenario).base()
    count = as_count(workers, "workers")
    directory = KeptDirectory(None if out is None else as_path(out, "out", FOLDER))
    finished = directory.kept and finished_or_free(base, directory.path, events=events)
    if not finished:
        warn(size_notes(base, events=events))
        with told(progress) as receiver:
            outcome = run_scenario(
                base,
                workers=count,
                events=events,
                progress=receiver,
                gains=Judging(),  # by the default options: absent, no gains are judged
            )
            write(outcome, directory.path)
    result = Result(on_disk.Result.read(directory.path), directory)
    warn(result.warnings)
    return result


def sweep(
    scenario: AnyScenario,
    *,
    out: Path | str | None = None,
    workers: int = 1,
    progress: Progress | bool | None = None,
) -> Sweep:
    """Run every cell of a scenario's sweep.

    Parameters
    ----------
    scenario, workers, progress
        As for :func:`run`.
    out : path, optional
        Directory for the results. If it holds this sweep unfinished, the sweep continues.

    Raises
    ------
    InputError
        If the input is wrong, or no cell could be run.

    Examples
    --------
    >>> scenario = ad.load("vary-availability").replace(
    ...     run={"updates": 20, "replicates": 2}, sweep={"privacy.epsilon": [1.0, 3.0]}
    ... )
    >>> frame = ad.sweep(scenario).to_frame()
    >>> frame["status"].tolist(), frame.attrs["units"]["simulated_time"]
    (['done', 'done'], 'time units')
    """
    from asyncdp_sim.sweeps.sweep import sweep as run_sweep

    directory = KeptDirectory(None if out is None else as_path(out, "out", FOLDER))
    swept, count = as_scenario(scenario), as_count(workers, "workers")
    with told(progress) as receiver:
        status = run_sweep(swept, directory.path, workers=count, progress=receiver)
    if status.done == 0:
        raise DataError([Fault("", why, "no cell could be run") for why in status.errors()])
    finished = Sweep(on_disk.Sweep.read(directory.path), directory)
    warn(finished.warnings)
    return finished


def forecast(
    scenario: AnyScenario,
    *,
    private: bool = False,
    target: float | None = None,
    whose: str | int | None = None,
    alternatives: bool = False,
    workers: int = 1,
    progress: Progress | bool | None = None,
) -> Forecast:
    """Forecast a scenario by simulated runs, without training on private records.

    Parameters
    ----------
    scenario, workers, progress
        As for :func:`run`.
    private : bool
        Whether private records of a real table may be read; the forecast is then not for release.
    target : float, optional
        ψ > 0 to reach.
    whose : str or int, optional
        The owner on whose machine it is, by name or number: its rows judge.
    alternatives : bool
        Whether to judge other protocols at the same ε, too: second moments that are released once,
        and sums of answers. That takes several times as long.

    Raises
    ------
    InputError
        If a real table may not be read and has no twin, or the input is wrong.

    Examples
    --------
    >>> found = ad.forecast(ad.load("vary-availability").replace(run={"updates": 50}), target=10.0)
    >>> list(found.summary.index)[-2:]
    ['target_time', 'target_probability']
    """
    from asyncdp_sim.forecasts.alternatives import alternatives as judge_alternatives
    from asyncdp_sim.forecasts.forecast import forecast as forecast_scenario
    from asyncdp_sim.forecasts.gains import Asked
    from asyncdp_sim.forecasts.population import population

    base, count = as_scenario(scenario).base(), as_count(workers, "workers")
    whose = None if whose is None else str(whose)
    if target is not None:
        target = as_number(target, "target", "a number > 0", lambda psi: 0 < psi <= float_info.max)
    with one_thread(), told(progress) as receiver:
        known = population(base, private=private)
        found = forecast_scenario(
            base, target=target, known=known, whose=whose, workers=count, progress=receiver
        )
        others = None
        if alternatives and found.gains is not None:
            asked = Asked(workers=count, progress=receiver)
            others = judge_alternatives(known, asked, whose, found.gains)
    return Forecast(found, others)


def simulate(scenario: AnyScenario, *, replicate: int = 1, events: bool = True) -> Trace:
    """Simulate the network of one replicate, without learning.

    Parameters
    ----------
    scenario
        As for :func:`run`; its data are not read.
    replicate : int
        Number of the replicate, ≥ 1, as in a run.
    events : bool
        Whether to keep every event.

    Raises
    ------
    SpecError
        If the network depends on the model, the machine has too little memory, or the number of
        the replicate is wrong.

    Examples
    --------
    >>> trace = ad.simulate("vary-availability")
    >>> bool(trace.summary.loc["throughput", "value"] > 0)
    True
    """
    from asyncdp_sim.core.streams import Streams
    from asyncdp_sim.network import simulate as of_network
    from asyncdp_sim.theory.predict.all import require_room

    base = as_scenario(scenario).base()
    if base.timing_unaccounted is not None:
        remedy = "allowed is a scenario whose timing does not depend on the model: ad.run"
        raise SpecError([Fault("run.learning", base.timing_unaccounted, remedy)])
    replicate = as_count(replicate, "replicate")
    require_room(base.replace(run={"replicates": 1}), events=events)
    streams = Streams(base.run.seed).within("replicate", replicate)
    return Trace(of_network(base.network, streams, events=events), base, replicate)


def audit(
    scenario: AnyScenario,
    *,
    answers: int | None = None,
    canaries: int | None = None,
    thorough: bool = False,
    runs: int = 1000,
    confidence: float = 0.999,
    workers: int = 1,
    progress: Progress | bool | None = None,
) -> Audit:
    """Attack a scenario's privacy and return lower bounds on ε.

    Parameters
    ----------
    scenario, workers, progress
        As for :func:`run`.
    answers : int, optional
        Number of single answers on each side, ≥ 100. Absent: 10⁶, or fewer if an answer has many
        numbers.
    canaries : int, optional
        Number of records that coin flips include in one run, and that are guessed from its answers.
        Absent: as many as fit, up to 1000.
    thorough : bool
        Whether to attack whole runs instead of canaries, which takes minutes to hours.
    runs : int
        Number of whole runs on each of two neighbouring datasets, ≥ 100, with ``thorough``.
    confidence : float
        Joint confidence of all bounds, in (0, 1).

    Raises
    ------
    InputError
        If the scenario states no finite ε, or the input is wrong.

    Examples
    --------
    >>> scenario = ad.load("vary-availability").replace(run={"updates": 3}, owners={"records": 9})
    >>> ad.audit(scenario, answers=1000, canaries=10).guessed.canaries
    10
    >>> ad.audit(scenario, answers=1000, thorough=True, runs=100).exceeded
    False
    """
    from asyncdp_sim import audits

    for name, count in (("answers", answers), ("runs", runs)):
        if count is not None:
            as_count(count, name, least=100)
    workers, confidence = as_count(workers, "workers"), _as_confidence(confidence)
    if canaries is not None and thorough:
        raise SpecError([Fault("canaries", str(canaries), "leave it out, or set thorough=False")])
    audited = as_scenario(scenario)
    with told(progress) as receiver:
        options: Any = {"confidence": confidence, "progress": receiver}
        if not thorough:
            return audits.first_audit(audited, answers=answers, canaries=canaries, **options)
        answers = 1_000_000 if answers is None else answers
        return audits.audit(audited, answers=answers, runs=runs, workers=workers, **options)


def _as_confidence(given: object) -> float:
    """Return a confidence, or raise a SpecError."""
    return as_number(given, "confidence", "a number in (0, 1)", lambda share: 0 < share < 1)


def audit_answers(
    frame: Any, *, dataset: str = "dataset", delta: float = 0.0, confidence: float = 0.999
) -> Finding:
    """Attack noisy answers of any mechanism and return a lower bound on its ε.

    The attack classifies answers by each of their numbers, and by a weighted sum of all, with
    weights mean difference / variance. Half of the answers select the best classifier, and the
    other half measures it.

    Parameters
    ----------
    frame : DataFrame
        One row per independent answer. The column ``dataset`` has two values, one for each of two
        neighbouring data sets; the other columns hold the answer's numbers: integers of any
        type, floats or exact numbers. Noise may be far smaller than the answers.
    dataset : str
        The name of that column.
    delta : float
        δ at which ε is bounded, in [0, 1).
    confidence : float
        Confidence of the bound, in (0, 1).

    Returns
    -------
    Finding
        Its ``epsilon`` is at most the mechanism's ε with that confidence; 0 shows nothing.

    Raises
    ------
    InputError
        If the table does not have two data sets of at least 100 numeric answers each.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> noise = np.random.default_rng(1).laplace(scale=1.0, size=20_000)
    >>> side = np.repeat([0, 1], 10_000)
    >>> found = ad.audit_answers(pd.DataFrame({"dataset": side, "answer": side + noise}))
    >>> 0.7 < found.epsilon < 1.0
    True
    """
    delta = as_number(delta, "delta", "a number in [0, 1)", lambda share: 0 <= share < 1)
    return attack_answers(frame, dataset, delta, 1 - _as_confidence(confidence))


def replay(
    result: Result | Sweep | Path | str,
    *,
    workers: int = 1,
    allow_code: bool = False,
    progress: Progress | bool | None = None,
) -> int:
    """Compute a result or a sweep again from its manifest, and compare everything.

    Parameters
    ----------
    result : Result, Sweep or path
    workers : int
        Processes, ≥ 1.
    allow_code : bool
        Whether code from outside may be executed where the scenario names it.
    progress : Progress, bool or None
        As for :func:`run`.

    Returns
    -------
    int
        Number of results that agree: 1, or the number of cells.

    Raises
    ------
    ReplayError
        If anything differs; the message names it.
    InputError
        If it is not a result, or a data file is missing.

    Examples
    --------
    >>> scenario = ad.load("vary-availability").replace(run={"updates": 20, "replicates": 2})
    >>> ad.replay(ad.run(scenario))
    1
    """
    from asyncdp_sim.sweeps.sweep import reproduce_all

    directory, count = as_directory(result), as_count(workers, "workers")
    with told(progress) as receiver:
        return reproduce_all(directory, workers=count, allow_code=allow_code, progress=receiver)
