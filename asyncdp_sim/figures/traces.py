"""Updates of a network: whose and when, times between them, staleness, and shares of owners."""

from typing import Any

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Columns, Ints
from asyncdp_sim.core.units import in_unit, to_units, unit_of
from asyncdp_sim.core.words import agreed, number
from asyncdp_sim.figures.drawer import Layer, Panel, Side
from asyncdp_sim.figures.networks import Drawn, NetworkFigure, no_updates, untimed
from asyncdp_sim.figures.style import (
    BAND,
    BLUE,
    DARK_BLUE,
    FEW_OWNERS,
    LIGHT_BLUE,
    THEORY,
    VERMILION,
    per_cent,
    time_axis,
)
from asyncdp_sim.figures.sweep_figure import owner_table
from asyncdp_sim.measures.summary import SHARE, Ratio
from asyncdp_sim.results import Result, not_a_result
from asyncdp_sim.theory.formulas import binomial_quantile
from asyncdp_sim.theory.predict import update_order
from asyncdp_sim.theory.prediction import Unknown, plain

SHOWN = 100  # updates
HALF = 0.32  # of a stroke, in owners
TOGETHER = 3  # answers of an update, beyond which dots of many owners would make one block
LEVEL = 0.99
"""Of the bands around laws: the chance that a count lies within."""
DASHED: dict[str, Any] = {"color": THEORY, "linestyle": "--", "linewidth": 1.2, "zorder": 3}
DOTTED: dict[str, Any] = {"color": THEORY, "linestyle": ":", "linewidth": 1.2, "zorder": 3}
GRAY_BAND: dict[str, Any] = {"color": BAND, "alpha": 0.35}


def the_same_always(result: Result) -> bool:
    """Return whether all updates have answers of the same owners, so that none differ."""
    replicate, k, owner = result.columns("updates", "replicate", "k", "owner")
    first = (replicate == replicate[:1]) & (k == k[:1])  # slices, for there may be no rows
    if len(np.unique(owner[first])) < len(np.unique(owner)):
        return False  # in most networks the first update is enough, and nothing is sorted
    rows = np.unique(np.stack([replicate, k, owner]), axis=1)
    updates = len(np.unique(rows[:2], axis=1).T)
    return result.n_owners > 1 and len(rows.T) == updates * len(np.unique(owner))


def _by_update(result: Result) -> Drawn:
    """Return the table, panel and caption (`Drawn`) of i_k against k.

    Dots, and no lines between them, as owners have no order.
    """
    rows, at, text = _window(result)
    few = result.n_owners <= FEW_OWNERS
    dots = {"marker": "o", "linestyle": "none", "color": BLUE, "markersize": 3.5, "clip_on": False}
    across = Side("update $k$", False, (rows["k"][0] - 1, rows["k"][-1] + 1), manner="whole")
    top = result.n_owners + 0.5 if few else 1.04 * result.n_owners
    people = Side("owner $i_k$", limits=(0.5, top), owners=result.participants, grid=True)
    marks, title = [Layer("line", rows["k"], at, look=dots)], title_by_update(rows, result)
    return rows, Panel(marks, across, people, title), text


def title_by_update(rows: Columns, result: Result) -> str:
    """Return how many owners made the updates of a window, and which of them most.

    ``rows`` has a row per answer: an owner made as many updates as it has answers in them.
    """
    owner, count = np.unique(rows["owner"], return_counts=True)
    most, n_updates = int(count.max()), len(np.unique(rows["k"]))
    leaders = owner[count == most]
    text = agreed(f"{len(owner)} of {result.n_owners:,} owners made the first {n_updates} updates")
    if len(leaders) > 1:
        return f"{text}, none more than {most}"
    name = result.participants.labels[result.participants.places(leaders)[0] - 1]
    return f"{text}; owner {name} made most, {most}" if most > 1 else text


def _by_time(result: Result) -> Drawn:
    """Return the table, panel and caption (`Drawn`) of the updates' instants, owner by owner."""
    rows, at, text = _window(result)
    few = result.n_owners <= FEW_OWNERS
    if few or len(at) > TOGETHER * len(np.unique(rows["k"])):
        half, width = (HALF, 1.2) if few else (0.5, 0.6)
        look: dict[str, Any] = {"color": BLUE, "linewidth": width}
        mark = Layer("strokes", rows["time"], None, at - half, at + half, look=look)
    else:  # a stroke would be as low as a dot, and thinner
        look = {"marker": "o", "linestyle": "none", "color": BLUE, "markersize": 3.5}
        mark = Layer("line", rows["time"], at, look=look | {"clip_on": False})
    end = float(rows["time"][-1])
    unit = unit_of([result.manifest["scenario"]])
    pause = float(np.diff(np.unique(rows["time"]), prepend=0.0).max())
    title = agreed(f"The first {len(np.unique(rows['k']))} updates took {number(end)} units, ")
    title += f"with pauses of at most {number(pause)}"
    across = Side(time_axis(unit), limits=(0, end * 1.01 if end > 0 else 1.0))
    limits = (0.7 - HALF, result.n_owners + 0.3 + HALF)
    people = Side("owner $i$", limits=limits, owners=result.participants, grid=True)
    return rows, Panel([mark], across, people, in_unit(title, unit)), f"updates {text}"


def _window(result: Result) -> tuple[Columns, npt.NDArray[Any], str]:
    """Return the first updates of a replicate, their owners' places, and both in words.

    The words give the number of owners where these are too many to be counted by eye.
    """
    chosen, n_owners = first_with_updates(result), result.n_owners
    rows = window(result, chosen, 1, SHOWN)
    text = f"k = {rows['k'][0]} to {rows['k'][-1]} of replicate {chosen}"
    if n_owners > FEW_OWNERS:
        text += f", made by {len(np.unique(rows['owner']))} of {n_owners} owners"
    return rows, result.participants.places(rows["owner"]), text


def window(result: Result, replicate: int, first: int, last: int) -> Columns:
    """Return k, time and owner of one replicate's updates in a window of k.

    Raises
    ------
    ResultError
        If there are none.
    """
    replicates, k, time, owner = result.columns("updates", "replicate", "k", "time", "owner")
    rows = (replicates == replicate) & (k >= first) & (k <= last)
    if not rows.any():
        reason = f"no updates k = {first} to {last} of replicate {replicate}"
        raise not_a_result(result.directory, reason)
    return {"k": k[rows], "time": time[rows], "owner": owner[rows]}


def first_with_updates(result: Result) -> int:
    """Return the first replicate in which something was updated; else the first of all."""
    (numbers,) = result.columns("updates", "replicate")
    return int(numbers[0]) if len(numbers) > 0 else result.replicates[0]


def _height(n_owners: int) -> float:
    """Return the height in inches: rows of owners are legible, up to one page."""
    return 2.6 if n_owners <= FEW_OWNERS else float(np.clip(0.032 * n_owners, 3.6, 6.5))


def _why_not_by_update(result: Result) -> str | None:
    """Return why there is no such picture, or None; so do the others of this name."""
    same = "every update has answers of the same owners"
    return no_updates(result) or (same if the_same_always(result) else None)


BY_UPDATE = NetworkFigure(
    "timing-by-update", "Owner i_k that update k came from", _by_update, _why_not_by_update,
    height=_height,
)  # fmt: skip
BY_TIME = NetworkFigure(
    "timing-by-time", "Instants at which answers were applied, owner by owner", _by_time, untimed,
    height=_height,
)  # fmt: skip


POINTS = 400
TOP = 1.5  # of the axis of shares; its bottom is half a gap


def _survival(result: Result) -> Drawn:
    """Return the table, panel and caption (`Drawn`) of the share of gaps longer than t.

    The scale is a log one. Beside it stands the law exp(−rate·t), or where theory has none an
    exponential law of the same mean. The band is pointwise: at each t, ``LEVEL`` of the counts
    Bin(number of gaps, exp(−rate·t)).
    """
    law = result.theory(update_order.gap_law)
    observed = gaps(result, law.n_gaps if isinstance(law, update_order.GapLaw) else None)
    if len(observed) == 0:
        raise not_a_result(result.directory, "updates.parquet without rows")
    t = np.linspace(0.0, observed.max(), POINTS)
    longer = np.searchsorted(np.sort(observed), t, side="right")
    table: Columns = {"t": t, "survival": 1 - longer / len(observed)}
    text, marks = f"{len(observed):,} times", list[Layer]()
    if isinstance(law, update_order.GapLaw):
        table |= expected(law, t, len(observed))
        floor = table["law"].min() * 1e-3  # a count of zero has no place on a log axis
        low = np.maximum(table["law_low"], floor)
        counts = f"{per_cent(LEVEL)} of counts under the law, at each $t$"
        marks.append(Layer("band", t, None, low, table["law_high"], counts, look=GRAY_BAND))
        name = "law of merged Poisson clocks"
        marks.append(Layer("line", t, table["law"], name=name, look=DASHED))
        text += _verdict(observed, law, result)
    else:
        table["memoryless"] = np.exp(-t / observed.mean())
        name = "exponential law of the same mean"
        marks.append(Layer("line", t, table["memoryless"], name=name, look=DOTTED))
        text += f"; no formula applies, because {plain(str(law))}"
    positive = table["survival"] > 0
    marks.append(Layer("steps", t[positive], table["survival"][positive], name="measured",
                      look={"color": BLUE}))  # fmt: skip
    axis_name = time_axis(unit_of([result.manifest["scenario"]]))
    across = Side(axis_name.replace("simulated time", "time between updates"), limits=(0, t[-1]))
    side = Side("share longer than $t$", True, (0.5 / len(observed), TOP))
    return table, Panel(marks, across, side, title_gaps(table)), text


def title_gaps(table: Columns) -> str:
    """Return how far the measured shares of longer gaps are from the law beside them."""
    measured, name = table["survival"], "law" if "law" in table else "memoryless"
    off = float(np.abs(measured - table[name]).max())
    text = f"The distribution of times between updates is up to {100 * off:.2g} % off "
    if name == "memoryless":
        return f"{text}an exponential law of the same mean"
    outside = (measured < table["law_low"]) | (measured > table["law_high"])
    text += f"the law of merged Poisson clocks, outside its {per_cent(LEVEL)} band"
    return f"{text} at {100 * outside.mean():.2g} % of times"


def gaps(result: Result, first: int | None = None) -> Array:
    """Return times between consecutive updates (the first from time 0) of all replicates.

    Parameters
    ----------
    result : Result
    first : int, optional
        Only so many first gaps of every replicate.
    """
    replicate, k, tick = result.columns("updates", "replicate", "k", "tick")
    last = (np.diff(replicate, append=-1) != 0) | (np.diff(k, append=-1) != 0)
    replicate, k, tick = replicate[last], k[last], tick[last]  # an update has a row per answer
    new = np.diff(replicate, prepend=-1) != 0
    before = np.where(new, 0, np.concatenate([[0], tick[:-1]]))
    kept = slice(None) if first is None else k <= first
    return to_units((tick - before)[kept])


def expected(law: update_order.GapLaw, t: Array, n_gaps: int) -> dict[str, Array]:
    """Return the law's survival function on a grid, and its pointwise 99 % binomial band."""
    share = np.exp(-law.rate * t)
    low, high = _band(n_gaps, share)
    return {"law": share, "law_low": low, "law_high": high}


def distance(observed: Array, law: update_order.GapLaw) -> float:
    """Return the largest distance between measured and expected distribution (Kolmogorov's D)."""
    below = -np.expm1(-law.rate * np.sort(observed))
    steps = np.arange(len(observed) + 1) / len(observed)
    return float(max((steps[1:] - below).max(), (below - steps[:-1]).max()))


def _verdict(observed: Array, law: update_order.GapLaw, result: Result) -> str:
    is_partial = law.n_gaps < result.updates  # of T, in one replicate; `observed` is of all
    which = f" (the first {law.n_gaps:,} of every replicate)" if is_partial else ""
    # Dvoretzky, Kiefer and Wolfowitz: P(D > limit) ≤ 2 exp(−2n limit²)
    limit, level = np.sqrt(np.log(2 / (1 - LEVEL)) / (2 * len(observed))), per_cent(LEVEL)
    return (
        f"{which}, with the law exp(−{number(law.rate)} t) of merged Poisson clocks and its "
        f"pointwise {level} binomial band; largest distance between the distributions "
        f"{distance(observed, law):.2g} ({level} DKW limit {limit:.2g})"
    )


def _why_not_gaps(result: Result) -> str | None:
    reason = untimed(result)
    if reason is None and len(observed := gaps(result)) > 1 and np.ptp(observed) == 0:
        return "all times between updates are equal"
    return reason


GAPS = NetworkFigure(
    "gaps", "Share of the times between consecutive updates that exceed t",
    _survival, _why_not_gaps, one_scale="xy",
)  # fmt: skip


TAIL = 1e-4  # a law is drawn up to where less than this is left
LEAST = 3  # at least the values up to this are shown
FEW = 30  # so many values have a stroke each
RARE = 5e-3  # the axis ends where at most this share of the updates is left


def _histogram(result: Result) -> Drawn:
    """Return the table, panel and caption (`Drawn`) of the share of updates by staleness.

    All replicates are pooled; the law stands beside the bars where theory has one.
    """
    replicate, stale = result.columns("updates", "replicate", "staleness")
    if len(stale) == 0:
        raise not_a_result(result.directory, "updates.parquet without rows")
    law = result.theory(update_order.staleness_law)
    reach = max(_reach(law, int(stale.max())), LEAST)
    values = np.arange(reach + 1)
    share = np.bincount(stale, minlength=reach + 1) / len(stale)
    low, high = between_replicates(replicate, stale, reach)
    table: Columns = {"staleness": values, "share": share, "low": low, "high": high}
    last = max(int(np.searchsorted(np.cumsum(share), 1 - RARE)), LEAST)
    many = last > FEW
    bar = {"width": 1.0 if many else 0.8, "color": LIGHT_BLUE}
    marks = [Layer("bars", values, share, name="measured", look=bar)]
    if np.isfinite(low).all():
        thin = {"color": DARK_BLUE, "linestyle": "none", "marker": "|", "markersize": 0}
        thin |= {"elinewidth": 0.5 if many else 1.2, "capsize": 0 if many else 2}
        marks.append(Layer("line", values, share, low, high, look=thin))
        # thin error bars have no mark of their own: a layer without points gives the key a stroke
        stroke = {"color": DARK_BLUE, "linestyle": "none", "marker": "|"}
        marks.append(Layer("line", name="95 % interval", look=stroke))
    if isinstance(law, update_order.StalenessLaw):
        table["law"] = law.chance(reach)
        sign: dict[str, Any] = {"drawstyle": "steps-mid", "linewidth": 1.2}
        if not many:
            sign = {"marker": "D", "markersize": 4, "linestyle": "none"}
        look = sign | {"color": THEORY}
        marks.append(Layer("line", values, table["law"], name=f"law: {law.name}", look=look))
    top = min(1.0, 1.05 * float(np.nanmax([share, high])))
    name = "staleness: other updates\nbetween read and use"
    across = Side(name, limits=(-0.6, last + 0.6), manner="whole")
    side = Side("updates", limits=(0, top), manner="share", grid=True)
    text = f"{len(stale):,} updates, mean staleness {number(float(stale.mean()))}"
    if isinstance(law, Unknown):
        text += f"; no formula applies, since {law}"
    else:
        text += f"; the long-run law is {law.name} (a run begins at staleness 0)"
    beyond = int(np.count_nonzero(stale > last))
    if beyond > 0:
        staler = f"{beyond:,} updates of staleness {last + 1} to {stale.max()}"
        text += f"; {staler} are in the CSV alone"
    return table, Panel(marks, across, side, title_staleness(table)), text


def title_staleness(table: Columns) -> str:
    """Return the mean staleness and how far nearly all updates go, and what theory expects."""
    stale, share = table["staleness"], table["share"]
    most = int(stale[np.searchsorted(np.cumsum(share), 0.95)])
    text = agreed(f"An answer is {number(float(stale @ share))} updates old on average")
    if "law" in table:
        text += f" (theory: {number(float(stale @ table['law'] / table['law'].sum()))})"
    return f"{text}, and 95 % are at most {most}"


def between_replicates(replicate: Ints, stale: Ints, reach: int) -> tuple[Array, Array]:
    """Return 95 % intervals of the shares of 0 … ``reach``, from their spread over replicates.

    Updates of one replicate depend on each other; replicates do not. NaN with a single one.
    """
    _, index = np.unique(replicate, return_inverse=True)
    n_replicates = int(index.max()) + 1
    if n_replicates < 2:
        none = np.full(reach + 1, np.nan)
        return none, none
    flat = np.bincount(index * (reach + 1) + stale, minlength=n_replicates * (reach + 1))
    counts = flat.reshape(n_replicates, reach + 1).astype(float)
    total = counts.sum(axis=1)
    ends = [Ratio(part, total).interval(SHARE) or (np.nan, np.nan) for part in counts.T]
    low, high = np.array(ends).T
    return low, high


def _reach(law: update_order.StalenessLaw | Unknown, largest: int) -> int:
    """Return the largest staleness to draw: all that was met, and all that is likely."""
    if isinstance(law, Unknown):
        return largest
    left = 1 - np.cumsum(law.chance(4 * largest + 20))
    return max(largest, int(np.argmax(left < TAIL)))  # the first one; 0 if there is none


def _why_not_staleness(result: Result) -> str | None:
    reason = no_updates(result)
    if reason is None and not result.columns("updates", "staleness")[0].any():
        return "no answer was stale"
    return reason


STALENESS = NetworkFigure(
    "staleness",
    "Share of the updates of all replicates by staleness, the number of other updates applied "
    "between read and use (error bars: 95 % intervals from the spread over several replicates)",
    _histogram, _why_not_staleness, height=lambda _: 3.0, one_scale="y",
)  # fmt: skip


def _counts(result: Result) -> Array:
    """Return how many updates each owner has in all replicates, shape (N,)."""
    owner, updates = result.columns("owners", "owner", "updates")
    places = result.participants.places(owner)
    count = np.bincount(places, weights=updates, minlength=result.n_owners + 1)[1:]
    return np.asarray(count, dtype=float)


def _shares(result: Result) -> Drawn:
    """Return the table, panel and caption (`Drawn`) of owners' shares of all replicates' updates.

    Beside them stand 1/N and the law's band, which holds ``LEVEL`` of the counts
    Bin(number of updates, share), where theory knows the shares: 1/N where clocks are alike, on
    which Theorem 2 of Async rests. Elsewhere, as where budgets cap every owner's answers, chance
    has another law, and no band is drawn.
    """
    count, n_owners = _counts(result), result.n_owners
    total = int(count.sum())
    if total == 0:
        raise not_a_result(result.directory, "no updates")
    share, even, owners = count / total, np.full(n_owners, 1 / n_owners), np.arange(1, n_owners + 1)
    low, high = _band(total, even)
    theory = result.theory(update_order.selection)
    law = np.full(n_owners, np.nan) if isinstance(theory, Unknown) else np.array(theory)
    law_low, law_high = _band(total, law)
    table: Columns = {
        **owner_table(result.participants), "updates": count.astype(np.int64), "share": share,
        "uniform": even, "uniform_low": low, "uniform_high": high,
        "law": law, "law_low": law_low, "law_high": law_high,
    }  # fmt: skip
    marks = [Layer("level", y=1 / n_owners, name="equal shares, $1/N$", look=DASHED)]
    counts = f"{per_cent(LEVEL)} of counts under the law"
    if isinstance(theory, Unknown):
        standing = f"equal shares are only a reference here, since {theory}"
    elif np.allclose(law, even):
        standing = "equal shares are the law of this network"
        marks.append(Layer("span", low=low[0], high=high[0], name=counts, look=GRAY_BAND))
    else:
        standing = "clock rates differ, so the law is λ_i/Σλ"
        dash = {"marker": "_", "color": VERMILION, "markersize": 12, "elinewidth": 4, "capsize": 0}
        marks.append(Layer("line", owners, law, law_low, law_high,
                           rf"$\lambda_i / \Sigma\lambda$, {counts}",
                           look=dash | {"linestyle": "none", "alpha": 0.5}))  # fmt: skip
    size = float(np.clip(250 / n_owners, 0.8, 5))
    dots = {"marker": "o", "linestyle": "none", "color": BLUE, "markersize": size}
    marks.append(Layer("line", owners, share, name="measured", look=dots))
    half_axis = 1.4 * max(float((high - even)[0]), float(np.abs(share - even).max()))
    limits = (max(0.0, 1 / n_owners - half_axis), 1 / n_owners + half_axis)
    across = Side("owner $i$", limits=(0.5, n_owners + 0.5), owners=result.participants)
    side = Side("share of\nthe updates", limits=limits, grid=True)
    text = f"{total:,} updates; {standing}"
    return table, Panel(marks, across, side, title_shares(table)), text


def _band(total: int, share: Array) -> tuple[Array, Array]:
    """Return the ends of the shares that ``LEVEL`` of counts Bin(total, share) have, (N,)."""
    if np.isnan(share).any():
        return share, share
    tail = (1 - LEVEL) / 2
    low, high = (np.asarray(binomial_quantile(q, total, share)) / total for q in (tail, 1 - tail))
    return low, high


def title_shares(table: Columns) -> str:
    """Return how many owners' shares lie off the law; without one, the least and the largest."""
    share, n_owners = table["share"], len(table["share"])
    if np.isnan(table["law"]).any():
        low, high = (per_cent(float(end)) for end in (share.min(), share.max()))
        return f"Each owner made {low} to {high} of the updates; {per_cent(1 / n_owners)} is equal"
    outside = np.count_nonzero((share < table["law_low"]) | (share > table["law_high"]))
    expected = f"{(1 - LEVEL) * n_owners:.2g} expected"
    band = f"the law's {per_cent(LEVEL)} band"
    return f"{outside} of {n_owners:,} owners are outside {band} ({expected})"


SHARES = NetworkFigure(
    "shares",
    "Share of the updates of each owner, all replicates; dashed: equal shares, 1/N",
    _shares,
    lambda result: "all owners have equally many updates" if np.ptp(_counts(result)) == 0 else None,
    height=lambda _: 3.0, one_scale="y",
)  # fmt: skip
ALL = (BY_UPDATE, BY_TIME, GAPS, STALENESS, SHARES)
"""Pictures of a run's network, alone or in a sweep; a new one joins by its line here."""
