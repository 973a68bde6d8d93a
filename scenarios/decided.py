"""Tables for the page of the benchmark of decisions, and its picture."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import counted, drawn
from asyncdp_sim.decision import MATERIAL
from asyncdp_sim.figures import drawer
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side
from asyncdp_sim.figures.style import DPI, THEORY, laid_out, style
from scenarios.decisions import BUDGETS, WAYS, Answer, Table, answered, tables, write

COMMANDS = {
    "public": "`forecast` (public rows)",
    "owner": "`forecast --as` (one owner)",
    "all": "`forecast --private` (all rows)",
    "run": "`run` (held-out rows)",
}
COLOURS = {
    "gains": "#1b7837",
    "does worse": "#b2182b",
    "no material difference": "#2166ac",
    "undecided": "#999999",
}
MARKS = {"gains": "P", "does worse": "X", "no material difference": "s", "undecided": "o"}
TRUE, REACH, EDGE = 20, 50, 1.05
"""Largest true gain and gain of the picture, % of the own error; beyond: a bit outside."""
LINE = {"color": THEORY, "linewidth": 0.8}


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
    write(answers, out / "decisions.csv")
    draw(answers, out / "decisions.png")
    say(*page(answers, listed), f"answers and picture in {out}")
    return 0


def page(answers: Sequence[Answer], listed: Sequence[Table]) -> list[str]:
    """Return the tables of the page as Markdown: single owners, the mean owner, and by table."""
    return [*_owners(answers), "", *_means(answers, listed), "", *_by_table(answers, listed)]


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


def draw(answers: Sequence[Answer], file: Path) -> None:
    """Draw the interval of each owner's gain against its truth, a row for each way."""
    panels = [
        _panel([_in_percent(x) for x in _of_owners(answers, way) if x.epsilon == epsilon],
               f"{COMMANDS[way].replace('`', '')}, ε = {epsilon:g}")
        for way in WAYS[1:] for epsilon in BUDGETS
    ]  # fmt: skip
    said = Declaration(panels, (6.5, 7.0), title(answers))
    figure = drawer.draw(said, foot=foot(answers), shade="#444444")
    with style(), laid_out(figure, DPI):
        figure.savefig(file, metadata={"Title": said.title, "Software": None})


def _panel(told: Sequence[Answer], name: str) -> Panel:
    """Return gains against truths; undecided ones are pale, and behind the others."""
    least = 100 * MATERIAL
    marks = [Layer("line", name=verdict, look=_dot(verdict)) for verdict in COLOURS]
    marks += [
        Layer("line", [-TRUE, TRUE], np.array([-TRUE, TRUE]), name="gain = true gain", look=LINE),
        Layer("span", low=-least, high=least, name=f"less than {least:g} %: not material",
              look={"color": "0.9", "zorder": 0}),
    ]  # fmt: skip
    for verdict in reversed(COLOURS):
        some = [x for x in told if x.verdict == verdict]
        if len(some) == 0:
            continue
        rows = np.array([(x.truth, x.gain, x.low, x.high, 1.96 * x.error) for x in some])
        truth, gain, low, high, error = rows.T
        x, y = _within(truth, TRUE), _within(gain, REACH)
        pale = verdict == "undecided"
        dot = _dot(verdict)
        strokes = {"color": dot["color"], "alpha": dot["alpha"], "linewidth": 0.5 if pale else 1.2}
        ends = np.clip([low, high], -2 * REACH, 2 * REACH)
        for at, style_of in ((np.isfinite(high - low), "-"), (np.isinf(high - low), ":")):
            look = strokes | {"linestyle": style_of}
            marks.append(Layer("strokes", x[at], None, ends[0, at], ends[1, at], look=look))
        if not pale:
            across = np.stack([truth - error, truth + error], axis=1), np.stack([y, y], axis=1)
            marks.append(Layer("segments", *across, look=strokes))
        inside = (np.abs(truth) <= TRUE) & (np.abs(gain) <= REACH)
        edges = {"<": truth < -TRUE, ">": truth > TRUE,
                 "v": ~inside & (gain < -REACH), "^": ~inside & (gain > REACH)}  # fmt: skip
        marks += [
            Layer(
                "line",
                x[at],
                y[at],
                look=dot | {"marker": sign, "alpha": 0.35 if sign == "o" else 1.0},
            )
            for sign, at in ({MARKS[verdict]: inside} | edges).items()
            if at.any()
        ]
    wide, tall = ((-1.1 * most, 1.1 * most) for most in (TRUE, REACH))
    side = Side("gain and 95 % interval,\n% of own error", limits=tall, grid=True)
    return Panel(marks, Side("true gain, % of own error", limits=wide), side, name)


def _within(values: Array, most: float) -> Array:
    """Return values; those above the most, or below its negative, a little beyond it."""
    return np.where(np.abs(values) > most, EDGE * most * np.sign(values), values)


def foot(answers: Sequence[Answer]) -> str:
    """Return what strokes are, how many leave the picture, and how many truths are uncertain."""
    told = [_in_percent(x) for way in WAYS[1:] for x in _of_owners(answers, way)]
    decided = [x for x in told if x.decided]
    return (
        "Vertical strokes: 95 % interval of the gain, dotted where it is infinite "
        f"({sum(np.isinf(x.high - x.low) for x in told)}); "
        f"{sum(x.low < -REACH or x.high > REACH for x in told)} reach beyond ±{REACH} %. "
        "Horizontal ones: 95 % interval of the true gain, left out where the verdict is "
        f"undecided; for {sum(abs(x.truth) <= 1.96 * x.error for x in decided)} of the "
        f"{len(decided)} gains and losses it contains 0. Triangles at an edge: beyond it."
    )


def _dot(verdict: str) -> dict[str, Any]:
    pale = verdict == "undecided"
    return {
        "color": COLOURS[verdict], "alpha": 0.35 if pale else 1.0, "marker": MARKS[verdict],
        "markersize": 3 if pale else 4, "linestyle": "none", "clip_on": False,
    }  # fmt: skip


def title(answers: Sequence[Answer]) -> str:
    """Return what the picture shows: the verdicts, how many are wrong, and what intervals hold."""
    told = [x for way in WAYS[1:] for x in _of_owners(answers, way)]
    clear = [x for x in told if x.verdict != "undecided"]
    decided = sum(x.decided for x in told)
    return (
        f"Of {len(told)} verdicts {decided} are gains or losses, {len(clear) - decided} “no "
        f"material difference” and {len(told) - len(clear)} undecided; certainly wrong: "
        f"{_wrong(clear)}; {_percent([abs(x.gain - x.truth) <= x.high - x.gain for x in told])} of "
        f"the intervals hold the true gain, "
        f"{_percent([x.covered for x in told])} with the error of the truth added"
    )


def _of_owners(answers: Sequence[Answer], way: str) -> list[Answer]:
    return [x for x in answers if x.way == way and x.owner != ""]


def _in_percent(x: Answer) -> Answer:
    share = 100 / x.own
    names = ("gain", "low", "high", "truth", "error")
    return replace(x, **{name: getattr(x, name) * share for name in names})
