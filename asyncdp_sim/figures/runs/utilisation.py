"""Utilisation of the learner and owners online, over simulated time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from asyncdp_sim.core.units import TICKS_PER_UNIT, to_units, unit_of
from asyncdp_sim.figures.kit.axes import key, legend
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import (
    BAND,
    BLUE,
    GREEN,
    THEORY,
    panels,
    style,
    time_axis,
)
from asyncdp_sim.figures.spacetime.marks import Events, tables
from asyncdp_sim.results import Result
from asyncdp_sim.theory.predict.all import predicted
from asyncdp_sim.theory.prediction import Unknown
from asyncdp_sim.trace import Detail, EventKind
from asyncdp_sim.trace.spans import EXCHANGE, OFFLINE, Span, spans, union

Array = npt.NDArray[np.float64]
BINS = 30
FEW = 3  # of so many replicates the range is drawn
DRAWN = ("bernoulli", "diurnal")
"""Availability that is drawn again at each tick or query."""
LONG_RUN = {"utilisation": "the utilisation", "mean_online": "being online"}
MEAN_KEY, BAND_KEY = "mean", "band"
TICKS = (EventKind.clock_tick, EventKind.clock_dropped)
DEAF = (EventKind.clock_dropped, EventKind.query_lost)


@dataclass(frozen=True)
class Binned:
    """A mean over replicates in every bin, and its interval (NaN with one replicate).

    That is the 95 % interval; of few replicates, where that is next to everything, their range.
    """

    mean: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class OverTime:
    """Both shares in each bin of time, as the events of a result have them.

    Attributes
    ----------
    edges : array
        Of the bins, in ticks.
    utilisation, online : Binned
    replicates : int
    """

    edges: Array
    utilisation: Binned
    online: Binned
    replicates: int

    @property
    def is_constant(self) -> bool:
        """Whether nothing changes from one bin to another."""
        shares = [course.mean for course in (self.utilisation, self.online)]
        return all(np.array_equal(share, np.full_like(share, share[0])) for share in shares)


def over_time(result: Result) -> Picture:
    """Draw the share of the time that an exchange is under way, and the owners online.

    Raises
    ------
    ResultError
        If the result kept no events.
    """
    return drawn(result, measure(result))


def measure(result: Result) -> OverTime:
    """Return what :func:`over_time` draws.

    Raises
    ------
    ResultError
        If the result kept no events.
    """
    events = tables(result)
    ends = {number: int(table["tick"][-1]) for number, table in events.items()}
    edges = np.linspace(0.0, max(1.0, float(np.median(list(ends.values())))), BINS + 1)
    busy, online = [], []
    for number, table in events.items():
        lasting = spans(table, ends[number])
        ran = covered([(0, ends[number])], edges)
        under_way = union([span for span in lasting if span.name == EXCHANGE])
        busy.append((covered(under_way, edges), ran))
        online.append(_online(result, table, lasting, edges, ran))
    return OverTime(edges, _binned(busy), _binned(online), len(events))


def drawn(result: Result, found: OverTime) -> Picture:
    """Draw what was measured in a result."""
    by_chance = _by_chance(result)
    laws = {name: result.theory(partial(predicted, quantity=name)) for name in LONG_RUN}
    scale = 1 if by_chance else result.n_owners
    ticks = "queries" if _broadcasts(result) else "ticks"
    with style():
        figure, (upper, lower) = panels((2, 1), height=4.0)
        middle = (found.edges[1:] + found.edges[:-1]) / 2 / TICKS_PER_UNIT
        _draw(upper, middle, found.utilisation, BLUE, laws["utilisation"])
        _draw(lower, middle, found.online, GREEN, laws["mean_online"], scale)
        upper.set_ylim(0, 1.02)
        lower.set_ylim(0, 1.06 * scale)
        upper.set_ylabel("utilisation")
        lower.set_ylabel(f"share of\n{ticks} heard" if by_chance else "owners online")
        lower.set_xlabel(time_axis(unit_of([result.manifest["scenario"]])))
        lower.set_xlim(0, found.edges[-1] / TICKS_PER_UNIT)
        legend(figure, _key(found.replicates, upper, lower), 3, right=True)
    caption = _caption(found.replicates, ticks if by_chance else None, laws)
    return Picture("utilisation", figure, _table(found), caption, label([result]), exact=False)


def covered(intervals: Sequence[tuple[int, int]], edges: Array) -> Array:
    """Return for how long, in each bin, intervals cover time; overlapping ones count each."""
    starts, ends = (np.sort(np.array(side, dtype=float)) for side in _sides(intervals))
    return np.asarray(np.diff(_past(starts, edges) - _past(ends, edges)))


def _sides(intervals: Sequence[tuple[int, int]]) -> tuple[Sequence[int], Sequence[int]]:
    return [start for start, _ in intervals], [end for _, end in intervals]


def _past(instants: Array, at: Array) -> Array:
    """Return Σ max(0, at − instant) over ascending instants."""
    count = np.searchsorted(instants, at)
    return np.asarray(at * count - np.concatenate([[0.0], np.cumsum(instants)])[count])


def _online(
    result: Result, table: Events, lasting: Sequence[Span], edges: Array, ran: Array
) -> tuple[Array, Array]:
    """Return owners' time online in each bin, and the most there could be.

    Where it is drawn anew whether an owner listens, count the ticks (or queries) heard, and all.
    """
    most = ran * result.n_owners
    if not _by_chance(result):
        away = [(span.start, span.end) for span in lasting if span.name == OFFLINE]
        return most - covered(away, edges), most
    deaf = (table["detail"] == Detail.offline) & np.isin(table["kind"], DEAF)
    missed, sent, ticks = (
        np.histogram(table["tick"][rows], edges)[0].astype(float)
        for rows in (deaf, table["kind"] == EventKind.broadcast_sent, np.isin(table["kind"], TICKS))
    )
    chances = sent * result.n_owners if _broadcasts(result) else ticks
    return chances - missed, chances


def _by_chance(result: Result) -> bool:
    return result.scenario["availability"]["kind"] in DRAWN


def _broadcasts(result: Result) -> bool:
    return bool(result.scenario["protocol"]["kind"] == "broadcast")


def _binned(parts: Sequence[tuple[Array, Array]]) -> Binned:
    """Return part over whole in each bin, and the interval from the spread over replicates."""
    from scipy.special import stdtrit

    part, total = (np.stack(rows) for rows in zip(*parts, strict=True))
    with np.errstate(invalid="ignore", divide="ignore"):
        if 1 < len(parts) <= FEW:
            share = part / total
            mean = part.sum(axis=0) / total.sum(axis=0)
            return Binned(mean, np.fmin.reduce(share), np.fmax.reduce(share))
        mean = part.sum(axis=0) / total.sum(axis=0)
        count = np.count_nonzero(total > 0, axis=0)
        residual = (part - mean * total) / (total.sum(axis=0) / count)
        spread = np.sqrt((residual**2).sum(axis=0) / (count - 1) / count)
        half = np.where(count > 1, stdtrit(np.maximum(count - 1, 1), 0.975) * spread, np.nan)
    return Binned(mean, np.maximum(mean - half, 0.0), np.minimum(mean + half, 1.0))


def _draw(
    axes: Axes, at: Array, share: Binned, colour: str, law: float | Unknown, scale: float = 1.0
) -> None:
    if np.isfinite(share.low).any():
        low, high = scale * share.low, scale * share.high
        axes.fill_between(at, low, high, color=colour, alpha=0.25, linewidth=0, label=BAND_KEY)
    axes.plot(at, scale * share.mean, color=colour, label=MEAN_KEY)
    if isinstance(law, float):
        axes.axhline(scale * law, linestyle="--", color=THEORY, linewidth=1.2, label="long-run law")
    axes.grid(axis="y")


def _key(replicates: int, *panels: Axes) -> list[Artist]:
    """Return one legend for all panels, in gray, as each has a colour of its own."""
    interval = "95 % interval" if replicates > FEW else f"range of {replicates} replicates"
    measured = "one replicate" if replicates == 1 else "mean over replicates"
    gray = {
        BAND_KEY: Patch(color=BAND, alpha=0.4, linewidth=0, label=interval),
        MEAN_KEY: key(measured, color=BAND),
    }
    marks: dict[str, Artist] = {}
    for axes in panels:
        for mark, name in zip(*axes.get_legend_handles_labels(), strict=True):
            marks[name] = gray.get(name, mark)
    return list(marks.values())


def _table(found: OverTime) -> dict[str, Array]:
    ticks = found.edges.astype(np.int64)
    table = {"from": to_units(ticks[:-1]), "to": to_units(ticks[1:])}
    for name, share in (("utilisation", found.utilisation), ("online", found.online)):
        table |= {name: share.mean, f"{name}_low": share.low, f"{name}_high": share.high}
    return table


def _caption(count: int, drawn: str | None, laws: Mapping[str, float | Unknown]) -> str:
    lower = "mean number of owners online"
    if drawn is not None:
        lower = f"share of the {drawn} that found their owner listening"
    until, band = f"the time by which half of the {count} replicates have ended", ""
    if count == 1:
        until = "the end of the one replicate"
    elif count <= FEW:
        band = "; band: the lowest and the highest replicate"
    return (
        f"Share of the time in which an exchange is under way (top) and {lower} (bottom), in "
        f"{BINS} equal bins up to {until}{band}; {_standing(laws)}."
    )


def _standing(laws: Mapping[str, float | Unknown]) -> str:
    """Say where the dashed lines come from, and why there is none."""
    missing = [
        f"{LONG_RUN[name]}, since {law}" for name, law in laws.items() if isinstance(law, Unknown)
    ]
    long_run = "dashed: the long-run law"
    return ", ".join(
        [long_run] if not missing else [long_run, "none of " + "; none of ".join(missing)]
    )
