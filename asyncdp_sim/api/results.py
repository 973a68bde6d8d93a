"""Results and sweeps as Python sees them: frames, pictures, and what a notebook shows."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, overload

from asyncdp_sim import results as opened
from asyncdp_sim.api.frames import summary_frame, with_units
from asyncdp_sim.api.place import KeptDirectory
from asyncdp_sim.api.plots import RunPlots, SweepPlots
from asyncdp_sim.errors import Fault, ResultError
from asyncdp_sim.privacy.label import label
from asyncdp_sim.results import read_table
from asyncdp_sim.results.summary import figures, notes
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.words import html_table


class Result:
    """A finished run: its tables as pandas frames, its figures as matplotlib axes.

    Frames are read anew each time, so that changing one changes no result.
    ``frame.attrs["units"]`` has the unit of each column, ``["meanings"]`` what it is.

    Attributes
    ----------
    directory : Path
        Where its tables lie. Of a run without ``out`` that is a temporary directory, which is
        removed when the result is forgotten.
    manifest : dict
        What made it and what it says in short, as ``manifest.json`` has it.

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

    def __init__(self, found: opened.Result, place: KeptDirectory) -> None:
        self._found = found
        self._place = place
        self.directory: Path = found.directory
        self.manifest: dict[str, Any] = found.manifest

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario as resolved, from ``scenario.toml``.

        Raises
        ------
        SpecError
            If it names code from outside, which ``load`` executes where that is allowed.
        """
        return load(self.directory / "scenario.toml")[0]

    @property
    def kept(self) -> bool:
        """Whether its directory stays."""
        return self._place.kept

    @property
    def curve(self) -> Any:
        """ψ and fitness of the central model at every recorded update, a pandas frame."""
        return self._frame("curve")

    @property
    def updates(self) -> Any:
        """One row per answer used: when, whose, how stale, a pandas frame."""
        return self._frame("updates")

    @property
    def owners(self) -> Any:
        """One row per replicate and owner: ε spent, answers, updates, a pandas frame."""
        return self._frame("owners")

    @property
    def models(self) -> Any:
        """The final central models, a pandas frame."""
        return self._frame("models")

    @property
    def optimum(self) -> Any:
        """θ*, a pandas frame."""
        return self._frame("optimum")

    @property
    def events(self) -> Any:
        """Every event, a pandas frame.

        Raises
        ------
        ResultError
            If they were not kept: ``ad.run(scenario, events=True)`` keeps them.
        """
        if not self._found.has("events"):
            fault = Fault("events", "a result without events", "ad.run(…, events=True) keeps them")
            raise ResultError([fault], str(self.directory))
        return self._frame("events")

    @property
    def summary(self) -> Any:
        """The figures of the run with their 95 % intervals and units, a pandas frame."""
        return summary_frame(self._found.summary)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the result must know."""
        return tuple(self._found.warnings)

    @property
    def label(self) -> str:
        """What is said of its privacy, wherever it goes."""
        return label([self.manifest]).text

    @property
    def plot(self) -> RunPlots:
        """Its figures, each as matplotlib axes."""
        return RunPlots(self)

    @property
    def opened(self) -> opened.Result:
        """What figures and comparisons read."""
        return self._found

    def _frame(self, name: str) -> Any:
        return with_units(self._found.frame(name), name)

    def __repr__(self) -> str:
        scenario, count = self.manifest["scenario"], len(self._found.replicates)
        said = f"{count} replicates, {len(self.warnings)} warnings"
        return f"<Result of {scenario['id']}, {said}, {self.directory}>"

    def _repr_html_(self) -> str:
        said = [f"note: {warning}" for warning in self.warnings]
        title = str(self.manifest["scenario"]["id"])
        return html_table(figures(self.manifest), title=title, said=[self.label, *said])


class Sweep:
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

    def __init__(self, found: opened.Sweep, place: KeptDirectory) -> None:
        self._found = found
        self._place = place
        self.directory: Path = found.directory
        self._cells = tuple(Result(cell.result, place) for cell in found.cells)

    @property
    def paths(self) -> tuple[str, ...]:
        """The dotted paths that are swept."""
        return self._found.paths

    @property
    def plot(self) -> SweepPlots:
        """Its figures, each as matplotlib axes."""
        return SweepPlots(self)

    @property
    def opened(self) -> opened.Sweep:
        """What figures read."""
        return self._found

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the results must know."""
        return tuple(notes(self.directory))

    @property
    def kept(self) -> bool:
        """Whether its directory stays."""
        return self._place.kept

    def to_frame(self) -> Any:
        """Return a row per cell: what is swept, and the figures of its summary, as pandas."""
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
        said = f"{len(self)} cells, {len(self.warnings)} warnings"
        return f"<Sweep over {', '.join(self.paths)}, {said}, {self.directory}>"

    def _repr_html_(self) -> str:
        shown = [*self.paths, "throughput", "simulated_time", "psi_final.median", "private"]
        rows = self.to_frame()[["cell", *shown]]
        manifests = [cell.manifest for cell in self]
        cells = [list(rows.columns), *rows.itertuples(index=False)]
        return html_table(cells, title=repr(self), said=[label(manifests).text])
