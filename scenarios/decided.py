"""Tables for the page of the benchmark of decisions, and its picture."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis.one_panel import DOTS, TRUTH, one_panel, written
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import counted, drawn
from asyncdp_sim.decision import MATERIAL, Estimate
from asyncdp_sim.decision.gain import verdict_of
from asyncdp_sim.figures.drawer import Layer, Side
from asyncdp_sim.figures.picture import Picture, save
from asyncdp_sim.figures.style import VERMILION
from scenarios.decisions import BUDGETS, WAYS, Answer, Table, answered, tables, write

COMMANDS = {
    "public": "`forecast` (public rows)",
    "owner": "`forecast --as` (one owner)",
    "all": "`forecast --private` (all rows)",
    "run": "`run` (held-out rows)",
}
VERDICTS = {
    "gains": "gains",
    "no material difference": "no material\ndifference",
    "does worse": "does\nworse",
}
"""In the order of the picture, each as it is written there."""
DECIDED = "gains", "does worse"
ANSWERS = "answers.csv"
"""Beside the picture, whose table is called as it is."""
STATED: dict[str, Any] = DOTS | {"markersize": 3.5, "elinewidth": 1.0, "capsize": 0}
TRUE: dict[str, Any] = STATED | {"marker": "D", "color": "black", "elinewidth": 0.7}
MISSED: dict[str, Any] = TRUE | {"color": VERMILION}
REACH = -90, 65
"""Least and largest gain and true gain of the picture, % of the own error."""
TICKS = -80, -20, -5, 0, 5, 20, 60
STEPS = {True: 2.6, False: 1.3}
"""Heights of a row: of a gain or loss, and of no material difference."""
APART = 1.5
"""Between verdicts of one kind and of the next."""
WIDTHS = 1.0, 0.8, 0.6, 0.5
"""Shares of the intervals' width with which all verdicts are given once more."""
Z, MANY = 1.959964, 1e9
"""Half of a 95 % interval in standard errors, and the degrees of freedom of such an interval."""


def decided(asked: argparse.Namespace, say: Callable[..., object]) -> int:
    """Ask about every table, unless an earlier run has; write answers, tables and the picture."""
    out = Path("results/decisions") if asked.out is None else asked.out
    out.mkdir(parents=True, exist_ok=True)
    listed, answers = tables(), list[Answer]()
    with drawn() as progress:
        advance = counted(progress, "tables", len(listed))
        for table in listed:
            answers += answered(table, out)
            advance(1)
    write(answers, out / ANSWERS)
    save(picture(answers), out)
    say(*page(answers, listed), f"{ANSWERS} and picture in {out}")
    return 0


def page(answers: Sequence[Answer], listed: Sequence[Table]) -> list[str]:
    """Return the tables of the page as Markdown.

    Of single owners, of them with narrower intervals, of the mean owner, and by table.
    """
    parts = (
        _owners(answers),
        _narrower(answers),
        _means(answers, listed),
        _by_table(answers, listed),
    )
    return [line for part in parts for line in (*part, "")][:-1]


def _owners(answers: Sequence[Answer]) -> Iterator[str]:
    yield (
        "| command | verdicts | covered | least of a table | truly material | decided | "
        "or no difference | wrong |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    for way in WAYS[1:]:
        told = _of_owners(answers, way)
        least = min(_share([x.covered for x in told if x.table == name])
                    for name in {x.table for x in told})  # fmt: skip
        clear = [x for x in told if x.verdict != "undecided"]
        told_something = _percent([x.verdict != "undecided" for x in told])
        yield (
            f"| {COMMANDS[way]} | {len(told)} | {_percent([x.covered for x in told])} | "
            f"{least:.0%} | {_percent([x.truly_material for x in told])} | "
            f"{_percent([x.decided for x in told])} | {told_something} | {_wrong(clear)} |"
        )
    yield "| *target of `--as` and `--private`* | | ≥ 93% | ≥ 85% | | ≥ 20% | ≥ 35% | ≤ 5% |"
    clear = _clear(answers)
    yield from ("", f"There are {too_large(clear)}:")
    yield (
        f"only large estimates are decided. Truly below {100 * MATERIAL:g} % are "
        f"{_small(clear, 'gains')} and {_small(clear, 'does worse')}. "
        f"{sum(map(holds, clear))} of the {len(clear)} intervals of clear verdicts hold the true "
        f"gain, {sum(x.covered for x in clear)} if its own uncertainty is added."
    )


def _narrower(answers: Sequence[Answer]) -> Iterator[str]:
    """Yield how much would be decided, and covered, by intervals of a share of their width."""
    ways = {"owner": "`--as`", "all": "`--private`"}
    heads = [f"{name}: covered | decided | or no difference" for name in ways.values()]
    yield f"| width | {' | '.join(heads)} |"
    yield "|--:|" + "--:|" * 6
    for share in WIDTHS:
        cells = list[str]()
        for way in ways:
            told = [scaled_to(x, share) for x in _of_owners(answers, way)]
            cells += (
                _percent([x.covered for x in told]),
                _percent([x.decided for x in told]),
                _percent([x.verdict != "undecided" for x in told]),
            )
        yield f"| {share:g} | {' | '.join(cells)} |"


def scaled_to(x: Answer, share: float) -> Answer:
    """Return an answer whose interval has a share of its width, with the verdict that it has then.

    Models that are no better than guessing are not known here, so that some more may be decided.
    """
    half = share * (x.high - x.gain)
    gain = Estimate(x.gain, (((half / Z) ** 2, MANY),))
    verdict = verdict_of(gain, x.material, better_than_guessing=True)
    return replace(x, low=x.gain - half, high=x.gain + half, verdict=str(verdict))


def _means(answers: Sequence[Answer], listed: Sequence[Table]) -> Iterator[str]:
    yield (
        "| command | owners | means | no verdict | covered | truly material | decided | wrong | "
        "CPU seconds |"
    )
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|"
    alike = {table.name: table.owner is None for table in listed}
    for way in WAYS:
        told = [each for each in answers if each.way == way]
        seconds = np.median(
            list({(x.table, x.epsilon, x.seconds): x.seconds for x in told}.values())
        )
        for kind, name in ((True, "drawn at random"), (False, "natural")):
            means = [x for x in told if x.owner == "" and alike[x.table] is kind]
            given = [x for x in means if x.verdict != "differ"]
            clear = [x for x in given if x.verdict != "undecided"]
            if len(means) == 0:
                continue
            yield (
                f"| {COMMANDS[way]} | {name} | {len(means)} | {len(means) - len(given)} | "
                f"{_percent([x.covered for x in given])} | "
                f"{_percent([x.truly_material for x in given])} | "
                f"{_percent([x.decided for x in given])} | {_wrong(clear)} | {seconds:.2g} |"
            )
        if way == "owner":
            yield f"| {COMMANDS[way]} | | | | | | | | {seconds:.2g} |"
    yield "| *target of `forecast`* | drawn at random | | | ≥ 93% | | ≥ 40% | | |"
    yield "| *target of `--private`* | | | | ≥ 90% | | ≥ 50% | none | |"


def _by_table(answers: Sequence[Answer], listed: Sequence[Table]) -> Iterator[str]:
    tried = "; ".join(f"ε = {epsilon:g}" for epsilon in BUDGETS)
    yield f"| table | target | owners | rows | true mean gain, {tried} | `--private` covers |"
    yield "|---|---|---|--:|--:|--:|"
    for table in listed:
        told = [x for x in answers if x.table == table.name and x.way == "all" and x.owner != ""]
        means = [x for x in answers if x.table == table.name and x.way == "all" and x.owner == ""]
        if len(means) == 0:
            continue
        sizes = sorted(x.rows for x in told if x.epsilon == BUDGETS[0])
        whose = "random" if table.owner is None else table.owner
        truth = "; ".join(f"{x.truth / x.own:+.1%} ± {1.96 * x.error / x.own:.1%}" for x in means)
        yield (
            f"| {table.name} ({table.domain}) | {table.target} | {len(sizes)} {whose} | "
            f"{sizes[0]}–{sizes[-1]} | {truth} | {_percent([x.covered for x in told])} |"
        )


def _share(values: Sequence[bool]) -> float:
    return float(np.mean(values)) if len(values) > 0 else float("nan")


def _percent(values: Sequence[bool]) -> str:
    return f"{_share(values):.0%}" if len(values) > 0 else "–"


def _wrong(clear: Sequence[Answer]) -> str:
    return f"{sum(x.wrong for x in clear)} of {len(clear)}"


def picture(answers: Sequence[Answer]) -> Picture:
    """Draw the gains of all verdicts that are clear beside their truths, a row for each."""
    order = list(VERDICTS)
    clear = sorted(
        map(_in_percent, _clear(answers)), key=lambda x: (order.index(x.verdict), -x.gain)
    )
    row = np.cumsum([STEPS[x.decided] for x in clear])
    row += [APART * order.index(x.verdict) for x in clear]
    columns = ("truth", "gain", "low", "high", "error", "verdict", "decided")
    truth, gain, low, high, error, verdict, decided = (
        np.array([getattr(x, name) for x in clear]) for name in columns
    )
    missed = ~np.array([holds(x) for x in clear])
    least, about = 100 * MATERIAL, np.where(decided | missed, 1.96 * error, 0.0)
    ends, middle = (-STEPS[True], row[-1] + 2 * STEPS[True]), row[~decided]
    shade = {"color": "0.9", "zorder": 0}
    edges = scaled([-least, least])
    marks = [
        Layer("band", edges, None, [ends[0]] * 2, [ends[1]] * 2, look=shade),
        Layer("upright", 0.0, look=TRUTH),
        replace(_in_rows(gain, row, low, high), name="stated gain", look=STATED),
    ]
    if len(middle) > 0:
        said = f"not material:\nbelow {least:g} %"
        marks.insert(1, written(edges[1], float(middle.mean()), said, "right"))
    for name, of, look in (("inside", ~missed, TRUE), ("outside", missed, MISSED)):
        places = (row + 0.4 * decided)[of]
        drawn = _in_rows(truth[of], places, (truth - about)[of], (truth + about)[of])
        marks.append(replace(drawn, name=f"true gain, {name} the interval", look=look))
    shown = [name for name in order if name in verdict]
    names = [f"{VERDICTS[name]} ({np.sum(verdict == name)})" for name in shown]
    sides = (
        Side(
            "gain, % of the own model's error",
            limits=tuple(scaled(REACH)),
            ticks=scaled(TICKS).tolist(),
            labels=[f"{each:+}".replace("-", "−") if each else "0" for each in TICKS],
        ),
        Side(
            limits=ends[::-1],
            ticks=[row[verdict == name].mean() for name in shown],
            labels=names,
        ),
    )
    note = (
        "A row is one clear verdict on one owner. Lines: 95 % intervals; true gains inside an "
        "interval of no material difference have none. The axis is stretched about 0."
    )
    kept = ("table", "way", "epsilon", "owner", "verdict", "gain", "low", "high", "truth", "error")
    table = {name: np.array([getattr(x, name) for x in clear]) for name in kept}
    return one_panel("decisions", title(answers), marks, sides, note, table, height=5.2, note=note)


def _in_rows(value: Array, row: Array, low: Array, high: Array) -> Layer:
    """Return rows on the axis."""
    return Layer("rows", scaled(value), row, scaled(low), scaled(high))


def scaled(per_cent: Any) -> Array:
    """Return places on the axis: the inverse hyperbolic sine, in units of what is material."""
    return np.arcsinh(np.asarray(per_cent, dtype=float) / (100 * MATERIAL))


def holds(x: Answer) -> bool:
    """Return whether the interval holds the true gain itself, whose own error is not added."""
    return x.low <= x.truth <= x.high


def _clear(answers: Sequence[Answer]) -> list[Answer]:
    """Return the verdicts on single owners that are not undecided."""
    return [x for way in WAYS[1:] for x in _of_owners(answers, way) if x.verdict != "undecided"]


def title(answers: Sequence[Answer]) -> str:
    """Return what the picture shows: how many verdicts are clear, and how true these are."""
    told, clear = [x for way in WAYS[1:] for x in _of_owners(answers, way)], _clear(answers)
    sides = [x for x in clear if x.decided]
    none = [x for x in clear if not x.decided]
    right = [x for x in sides if x.gain * x.truth > 0]
    return (
        f"{len(told) - len(clear)} of {len(told)} verdicts are undecided. Of {len(sides)} gains "
        f"and losses, {len(right)} have the right sign "
        f"({sum(abs(x.truth) > 1.96 * x.error for x in right)} certainly) and "
        f"{sum(x.truly_material for x in sides)} are truly {100 * MATERIAL:g} % or more; "
        f"{sum(not x.truly_material for x in none)} of {len(none)} verdicts of no material "
        f"difference are true; {sum(map(holds, clear))} of {len(clear)} intervals hold the true "
        "gain"
    )


def too_large(clear: Sequence[Answer]) -> str:
    """Return how many gains and losses there are, and how much larger than the true ones."""
    times = _times(clear)
    return (
        f"{len(times)} gains or losses, {sum(each > 1 for each in times)} of which are stated too "
        f"large ({min(times):.1f} to {max(times):.1f} times the true ones)"
    )


def _small(clear: Sequence[Answer], verdict: str) -> str:
    """Return of how many verdicts the truth is not material, and of how many certainly."""
    told = [x for x in clear if x.verdict == verdict]
    small = [x for x in told if not x.truly_material]
    certain = sum(abs(x.truth) + 1.96 * x.error < x.material for x in small)
    return f"{len(small)} of {len(told)} “{verdict}” ({certain} certainly)"


def _times(clear: Sequence[Answer]) -> list[float]:
    """Return how many times as large as the true ones gains and losses are stated."""
    return [abs(x.gain / x.truth) for x in clear if x.decided]


def _of_owners(answers: Sequence[Answer], way: str) -> list[Answer]:
    return [x for x in answers if x.way == way and x.owner != ""]


def _in_percent(x: Answer) -> Answer:
    share = 100 / x.own
    names = ("gain", "low", "high", "truth", "error")
    return replace(x, **{name: getattr(x, name) * share for name in names})
