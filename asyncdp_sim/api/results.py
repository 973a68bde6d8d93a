"""Results, sweeps and comparisons as Python sees them: pandas frames with their units."""

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

from asyncdp_sim import results as on_disk
from asyncdp_sim.api import Named, as_count
from asyncdp_sim.api.pictures import ComparisonPlots, RunPlots, SweepPlots
from asyncdp_sim.comparisons import comparison as side_by_side
from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.core.validation import show
from asyncdp_sim.core.words import agreed, html_table
from asyncdp_sim.results import read_table
from asyncdp_sim.results.columns import arrow_table, column, flat
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sentences.label import label
from asyncdp_sim.sentences.result import figures, notes


class KeptDirectory:
    """A directory that is kept, or removed when this object is garbage-collected.

    Parameters
    ----------
    path : Path, optional
        Where it is to stay; absent, it is a temporary one, which does not exist yet.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.kept = path is not None
        if path is None:
            folder = tempfile.mkdtemp(prefix="asyncdp-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            path = Path(folder) / "result"
        self.path = path


def with_units(frame: Any, table: str) -> Any:
    """Return a frame whose ``attrs`` hold the unit and the meaning of each column that is known.

    Parameters
    ----------
    frame : pandas.DataFrame
    table : str
        Its name in the dictionary of columns.
    """
    columns = {str(name): column(table, str(name)) for name in frame.columns}
    entries = {name: entry for name, entry in columns.items() if entry is not None}
    frame.attrs["units"] = {name: entry.unit for name, entry in entries.items()}
    frame.attrs["meanings"] = {name: entry.meaning for name, entry in entries.items()}
    return frame


def from_columns(columns: Mapping[str, Any], table: str) -> Any:
    """Return NumPy and Arrow columns as a frame, as one that is read from disk would be."""
    return with_units(arrow_table(table, columns).to_pandas(), table)


def summary_frame(summary: Mapping[str, Any]) -> Any:
    """Return a summary as a frame: a row per figure, with its interval, unit and meaning."""
    import pandas as pd

    intervals = summary.get("intervals", {})
    figures = flat({name: value for name, value in summary.items() if name != "intervals"})
    rows = []
    for name, value in figures.items():
        low, high = intervals.get(name) or (None, None)
        entry = column("summary", name)
        unit, meaning = ("", "") if entry is None else (entry.unit, entry.meaning)
        infinite = value in ("inf", "-inf")  # a manifest holds it as a text
        rows.append([float(value) if infinite else value, low, high, unit, meaning])
    heads = ["value", "low", "high", "unit", "meaning"]
    frame = pd.DataFrame(rows, columns=heads, index=pd.Index(list(figures), name="figure"))
    frame[["low", "high"]] = frame[["low", "high"]].astype(float)
    frame.attrs["units"] = dict(frame["unit"])
    frame.attrs["meanings"] = dict(frame["meaning"])
    return frame


def _table(name: str, meaning: str) -> Any:
    """Return a property that reads a table of a result as a pandas frame."""

    def read(result: "Result") -> Any:
        return with_units(result.opened.frame(name), name)

    return property(read, doc=f"{meaning}, a pandas frame.")


_O = TypeVar("_O", bound=on_disk.Result | on_disk.Sweep)


class _Kept(Named, Generic[_O]):
    """A result or a sweep, with its directory for as long as it is there."""

    def __init__(self, opened: _O, place: KeptDirectory) -> None:
        self._opened: _O = opened
        self._place = place
        self.directory: Path = opened.directory

    @property
    def kept(self) -> bool:
        """Whether its directory is permanent."""
        return self._place.kept

    @property
    def opened(self) -> _O:
        """The result or the sweep as figures and comparisons read it."""
        return self._opened


class Result(_Kept[on_disk.Result]):
    """A finished run: its tables as pandas frames, its figures as matplotlib axes.

    Frames are read again at each access, so changing one does not change the result.
    ``frame.attrs["units"]`` has the unit of each column, ``["meanings"]`` what it is.

    Attributes
    ----------
    directory : Path
        Directory of its tables. Without ``out`` it is temporary and removed with the result.
    manifest : dict
        Content of ``manifest.json``: scenario, versions, summary, label.

    Examples
    --------
    >>> scenario = ad.load("vary-availability").replace(run={"updates": 20, "replicates": 2})
    >>> result = ad.run(scenario)
    >>> result.curve.attrs["units"]["time"]
    'time units'
    >>> sorted(result.curve["replicate"].unique().tolist())
    [1, 2]
    >>> result.plot.convergence().get_xlabel()
    'update $k$'
    """

    def __init__(self, opened: on_disk.Result, place: KeptDirectory) -> None:
        super().__init__(opened, place)
        self.manifest: dict[str, Any] = opened.manifest

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario as resolved, from ``scenario.toml``.

        Raises
        ------
        SpecError
            If it names code from outside, which ``load`` executes where that is allowed.
        """
        return load(self.directory / "scenario.toml")[0]

    curve = _table("curve", "ψ and fitness of the central model at every recorded update")
    updates = _table("updates", "One row per answer used: time, owner and staleness")
    owners = _table("owners", "One row per replicate and owner: ε spent, answers, updates")
    models = _table("models", "The final central models")

    @property
    def gains(self) -> Any:
        """What each owner gains, with intervals and verdicts, a pandas frame.

        Raises
        ------
        ResultError
            If it was not judged: ``data.held_out`` keeps rows apart for it.
        """
        return self._optional("gains", "data.held_out keeps rows apart, on which gains are judged")

    optimum = _table("optimum", "θ*")

    @property
    def events(self) -> Any:
        """Every event, a pandas frame.

        Raises
        ------
        ResultError
            If they were not kept: ``ad.run(scenario, events=True)`` keeps them.
        """
        return self._optional("events", "ad.run(…, events=True) keeps them")

    @property
    def summary(self) -> Any:
        """The figures of the run with their 95 % intervals and units, a pandas frame."""
        return summary_frame(self._opened.summary)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for readers of the result."""
        return tuple(self._opened.warnings)

    @property
    def label(self) -> str:
        """The privacy label of the result."""
        return label([self.manifest]).text

    @property
    def plot(self) -> RunPlots:
        """Its pictures as matplotlib axes."""
        return RunPlots(self)

    def to_sklearn(self, replicate: int = 1) -> Any:
        """Return the private model of a replicate as a fitted scikit-learn pipeline.

        ``predict`` takes a frame of raw rows with the table's columns, as a CSV has them, and
        predicts as the run does on held-out rows. The steps are the table's encoder and a
        ``Ridge``, ``LogisticRegression`` or ``LinearSVC`` whose ``coef_`` is θ after the last
        update; an intercept is the coefficient of a last column of ones.

        One replicate may be published where ``label`` says that the result is private: its
        coefficients have noise, and the encoder holds public rows alone. Each further replicate
        spends each owner's ε again. Scores of predictions for private rows are not covered.

        Parameters
        ----------
        replicate : int
            Which, from 1.

        Raises
        ------
        InputError
            If scikit-learn has no such model, if the data are no table, or if the table's file is
            nowhere.
        """
        from asyncdp_sim.api.estimators import pipeline
        from asyncdp_sim.runs.replay import made_again

        theta = self._model(replicate)
        with made_again(self.directory, ()) as (scenario, _):
            return pipeline(scenario, theta)

    def adapted(self, owner: int, rows: Any, replicate: int = 1) -> Any:
        """Return the private model of a replicate adapted to an owner's own rows, for that owner.

        It is the owner's own linear model in the encoded columns, pulled towards the joint model by
        a strength that folds of the rows choose, from 0 (own model) to ∞ (joint model, here without
        a bounded domain). ``predict`` takes raw rows, as of :meth:`to_sklearn`. The model, its
        predictions and its scores hold the owner's rows without noise: they stay with the owner.

        Parameters
        ----------
        owner : int
            Number of the owner, from 1, which decides the folds.
        rows : pandas.DataFrame
            The owner's rows with the table's columns and the target.
        replicate : int
            Which, from 1.

        Raises
        ------
        InputError
            If the owner is none, if rows lack a column, or as :meth:`to_sklearn`.
        """
        from asyncdp_sim.api.estimators import adapted
        from asyncdp_sim.runs.replay import made_again

        theta, numbers = self._model(replicate), self.scenario.owners.participants
        if as_count(owner, "owner") not in numbers:
            rule = f"allowed is a number from {numbers[0]} to {numbers[-1]} of an owner"
            raise ResultError([Fault("owner", show(owner), rule)], str(self.directory))
        with made_again(self.directory, ()) as (scenario, _):
            return adapted(scenario, theta, owner, rows)

    def _model(self, replicate: int) -> Any:
        """Return the final model (p,) of a replicate."""
        models, replicate = self.models, as_count(replicate, "replicate")
        theta = models.loc[models["replicate"] == replicate, "theta_L"].to_numpy()
        if len(theta) == 0:
            rule = f"allowed is one of {', '.join(map(str, self._opened.replicates))}"
            raise ResultError([Fault("replicate", show(replicate), rule)], str(self.directory))
        return theta

    def _optional(self, name: str, rule: str) -> Any:
        """Return a table that not every result has; a rule says how to have it."""
        if not self._opened.has(name):
            fault = Fault(name, f"a result without {name}", rule)
            raise ResultError([fault], str(self.directory))
        return with_units(self._opened.frame(name), name)

    def __repr__(self) -> str:
        scenario, count = self.manifest["scenario"], len(self._opened.replicates)
        text = f"{count} replicates, {len(self.warnings)} warnings"
        return agreed(f"<Result of {scenario['id']}, {text}, {self.directory}>")

    def _repr_html_(self) -> str:
        notes = [f"note: {warning}" for warning in self.warnings]
        title = str(self.manifest["scenario"]["id"])
        return html_table(figures(self.manifest), title=title, said=[self.label, *notes])


class Sweep(_Kept[on_disk.Sweep]):
    """A finished sweep: a sequence of results, and the table of its cells.

    Attributes
    ----------
    directory : Path
        As of a :class:`Result`.

    Examples
    --------
    >>> scenario = ad.load("vary-availability").replace(
    ...     run={"updates": 20, "replicates": 2}, sweep={"privacy.epsilon": [1.0, 3.0]}
    ... )
    >>> sweep = ad.sweep(scenario)
    >>> len(sweep), sweep.paths
    (2, ('privacy.epsilon',))
    >>> sweep.to_frame()["privacy.epsilon"].tolist()
    [1.0, 3.0]
    >>> sweep[1].scenario.privacy.epsilon
    3.0
    """

    def __init__(self, opened: on_disk.Sweep, place: KeptDirectory) -> None:
        super().__init__(opened, place)
        self._cells = tuple(Result(cell.result, place) for cell in opened.cells)

    @property
    def paths(self) -> tuple[str, ...]:
        """The dotted paths that are swept."""
        return self._opened.paths

    @property
    def plot(self) -> SweepPlots:
        """Its pictures as matplotlib axes."""
        return SweepPlots(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for readers of the result."""
        return tuple(notes(self.directory))

    def to_frame(self) -> Any:
        """Return one row per cell, with swept values and summary figures, as a pandas frame."""
        return with_units(read_table(self.directory, "cells"), "cells")

    def __len__(self) -> int:
        return len(self._cells)

    @overload
    def __getitem__(self, place: int) -> Result: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, place: int | slice) -> Result | tuple[Result, ...]:
        return self._cells[place]

    def __iter__(self) -> Iterator[Result]:
        return iter(self._cells)

    def __repr__(self) -> str:
        text = f"{len(self)} cells, {len(self.warnings)} warnings"
        return agreed(f"<Sweep over {', '.join(self.paths)}, {text}, {self.directory}>")

    def _repr_html_(self) -> str:
        shown = [*self.paths, "throughput", "simulated_time", "psi_final.median", "private"]
        rows = self.to_frame()[["cell", *shown]]
        cells = [list(rows.columns), *rows.itertuples(index=False)]
        return html_table(cells, title=repr(self), said=[label([c.manifest for c in self]).text])


class Comparison(Named):
    """Differences between the figures of results, and between their scenarios.

    Attributes
    ----------
    found : object
        The comparison itself, with ``others``, ``labels`` and ``content()``.

    Examples
    --------
    >>> scenario = ad.load("vary-availability").replace(run={"updates": 20, "replicates": 4})
    >>> found = ad.compare(ad.run(scenario), ad.run(scenario.replace(privacy={"epsilon": 3.0})))
    >>> found.settings["field"].tolist()
    ['privacy.epsilon']
    >>> frame = found.to_frame().set_index("figure")
    >>> float(frame.loc["time_to_end", "difference"])  # the same clocks have ticked
    0.0
    """

    def __init__(self, found: side_by_side.Comparison, results: tuple[Result, ...]) -> None:
        self.found = found
        self._results = results  # whose directories may be temporary

    def to_frame(self) -> Any:
        """Return one row per figure and comparison, with its interval, as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.found.rows())

    @property
    def settings(self) -> Any:
        """The fields in which scenarios differ from the first, a pandas frame."""
        import pandas as pd

        rows = [
            (against.name, setting.field, setting.first, setting.second)
            for against in self.found.others
            for setting in against.settings
        ]
        return pd.DataFrame(rows, columns=["result", "field", "first", "second"])

    @property
    def plot(self) -> ComparisonPlots:
        """Its pictures as matplotlib axes."""
        return ComparisonPlots(self)

    def lines(self) -> list[str]:
        """Return it in words, as lines."""
        return self.found.lines()

    def __repr__(self) -> str:
        names = ", ".join(against.name for against in self.found.others)
        return f"<Comparison of {names} with {self.found.name}>"

    def _repr_html_(self) -> str:
        text = ""
        for against in self.found.others:
            captions = [against.pairing, against.together]
            text += html_table(self.found.figures(against), title=against.name, said=captions)
        return text + html_table(self.found.labels.items(), title="Privacy")
