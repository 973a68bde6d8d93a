"""Pictures of results, sweeps, comparisons, forecasts and networks, as matplotlib axes."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from asyncdp_sim import results as on_disk
from asyncdp_sim.api import Named
from asyncdp_sim.core.errors import Fault, ResultError
from asyncdp_sim.sentences.label import Label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from asyncdp_sim.api.results import Comparison, Result, Sweep

By = Literal["update", "time"]
_NOTHING_LEARNED = "Order and times alone: nothing is learned, and no record is read."
OF_A_NETWORK = Label(_NOTHING_LEARNED, True, 0.0, 0.0, timing_accounted=True, release=True)
"""Label of figures of a network without learning, whose timing depends on no model."""


class TracePlots(Named):
    """Figures of a network alone, of one replicate.

    Parameters
    ----------
    shown : Result
        Result of a network without learning.
    """

    _label: Label | None = OF_A_NETWORK

    def __init__(self, shown: on_disk.Result) -> None:
        self._shown = shown

    def timing(self, by: By = "update") -> "Axes":
        """Draw the owner of each update; ``by`` is "update" or "time"."""
        return self._drawn("BY_UPDATE" if _by_update(by) else "BY_TIME")

    def gaps(self) -> "Axes":
        """Draw the times between updates, and the theory."""
        return self._drawn("GAPS")

    def staleness(self) -> "Axes":
        """Draw the staleness of answers, and the theory."""
        return self._drawn("STALENESS")

    def shares(self) -> "Axes":
        """Draw each owner's share of the updates."""
        return self._drawn("SHARES")

    def _drawn(self, figure: str) -> "Axes":
        """Draw a figure of networks, by its name in :mod:`asyncdp_sim.figures.traces`."""
        from asyncdp_sim.figures import traces

        return self._axes(getattr(traces, figure).of(self._shown))[0]

    def spacetime(self) -> tuple["Axes", ...]:
        """Draw messages over time, with senders and receivers; needs events (``events=True``)."""
        from asyncdp_sim.figures import spacetime

        return self._axes(spacetime.diagram(self._shown))

    def _axes(self, picture: Any) -> tuple["Axes", ...]:
        """Return the axes of a picture; those of a network alone are labelled as that."""
        return _axes(picture if self._label is None else replace(picture, label=self._label))


class RunPlots(TracePlots):
    """Figures of one result; ``axes.figure.savefig("….png")`` saves one.

    Parameters
    ----------
    result : Result
    """

    _label = None

    def __init__(self, result: "Result") -> None:
        super().__init__(result.opened)
        self._result = result  # whose directory may be temporary

    def convergence(self, by: By = "update") -> "Axes":
        """Draw median and quartiles of ψ; ``by`` is "update" or "time"."""
        return _convergence({"": self._shown}, by)


class SweepPlots(Named):
    """Figures of a sweep.

    Parameters
    ----------
    sweep : Sweep
    """

    def __init__(self, sweep: "Sweep") -> None:
        self._sweep = sweep

    def convergence(self, by: By = "update") -> "Axes":
        """Draw ψ of every cell; ``by`` is "update" or "time"."""
        sweep = self._sweep.opened
        return _convergence({cell.label(sweep.paths): cell.result for cell in sweep.cells}, by)

    def overview(self) -> tuple["Axes", ...]:
        """Draw the figures that change with a swept number.

        Raises
        ------
        ResultError
            If no swept number has such a figure.
        """
        from asyncdp_sim.figures import changes

        return _axes(changes.AGAINST.picture(self._sweep.opened))


class ComparisonPlots(Named):
    """Figures of a comparison of results; the others are compared with the first.

    Parameters
    ----------
    comparison : Comparison
    """

    def __init__(self, comparison: "Comparison") -> None:
        self._comparison = comparison  # whose results' directories may be temporary

    def convergence(self, by: By = "update") -> "Axes":
        """Draw ψ of the central models in one picture; ``by`` is "update" or "time"."""
        return _convergence(self._comparison.found.results, by)

    def ratio(self) -> "Axes | None":
        """Draw ψ divided by that of the first result, per replicate; None without pairs."""
        from asyncdp_sim.figures.convergence import named, psi_ratio

        picture = psi_ratio(named(self._comparison.found.results))
        return None if picture is None else _axes(picture)[0]


class ForecastPlots(Named):
    """Figures of a forecast.

    Parameters
    ----------
    content : mapping
        The forecast as ``asyncdp forecast --json`` prints it.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = dict(content)

    def convergence(self) -> "Axes":
        """Draw the expected ψ against time."""
        from asyncdp_sim.figures import gains

        return _axes(gains.over_time(self._content))[0]

    def owners(self) -> "Axes":
        """Draw the gain of each owner from joining.

        Raises
        ------
        ResultError
            If no owner was judged: public rows alone judge none.
        """
        from asyncdp_sim.figures import gains

        if len(self._content["owners"]) == 0:
            remedy = "ad.forecast(…, private=True) judges each owner"
            raise ResultError([Fault("owners", "a forecast that judged no owner", remedy)])
        return _axes(gains.owners(self._content))[0]


def _by_update(by: By) -> bool:
    if by not in get_args(By):
        raise ResultError([Fault("by", f"{by!r}", f"allowed: {', '.join(get_args(By))}")], "plot")
    return by == "update"


def _convergence(results: Mapping[str, on_disk.Result], by: By) -> "Axes":
    from asyncdp_sim.figures import convergence
    from asyncdp_sim.figures.convergence import CurveLine

    drawn = convergence.by_update if _by_update(by) else convergence.by_time
    return _axes(drawn([CurveLine(result, name) for name, result in results.items()]))[0]


def _axes(picture: Any) -> tuple["Axes", ...]:
    """Return the axes of a picture, in the order in which they were made."""
    drawn: Sequence[Axes] = picture.figure.axes
    return tuple(drawn)
