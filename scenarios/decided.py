"""Tables for the page of the benchmark of decisions, and its picture."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from asyncdp_sim.core.progress import counted, drawn
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
MARKS = {"gains": "^", "does worse": "v", "no material difference": "s", "undecided": "o"}
REACH = 60
"""Largest gain of the picture, as a percentage of the own error; what is beyond is at the edge."""


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
        told = [each for each in answers if each.way == way and each.owner != ""]
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
    """Draw the interval of each owner's gain against its truth, a panel for each way."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.8), layout="constrained")
    panels = figure.subplots(1, len(WAYS) - 1, sharex=True, sharey=True)
    for way, axes in zip(WAYS[1:], panels, strict=True):
        told = [each for each in answers if each.way == way and each.owner != ""]
        for verdict in reversed(COLOURS):
            some = [_in_percent(x) for x in told if x.verdict == verdict]
            if len(some) == 0:
                continue
            truth, gain, low, high = np.clip(
                [(x.truth, x.gain, x.low, x.high) for x in some], -REACH, REACH
            ).T
            axes.vlines(truth, low, high, color=COLOURS[verdict], linewidth=0.7, alpha=0.5)
            axes.plot(
                truth, gain, MARKS[verdict], color=COLOURS[verdict], markersize=4, label=verdict
            )
        axes.plot([-REACH, REACH], [-REACH, REACH], color="black", linewidth=0.8)
        axes.axhline(0, color="black", linewidth=0.4)
        axes.set(title=COMMANDS[way].replace("`", ""), xlabel="true gain, % of own error")
    panels[0].set(ylabel="gain and 95 % interval, % of own error")
    figure.suptitle(title(answers), fontsize="medium")
    panels[-1].legend(loc="upper left", fontsize="small", frameon=False)
    figure.savefig(file, dpi=130)


def title(answers: Sequence[Answer]) -> str:
    """Return what the picture shows: how many intervals hold the truth, and verdicts are wrong."""
    told = [each for each in answers if each.way in WAYS[1:] and each.owner != ""]
    clear = [x for x in told if x.verdict != "undecided"]
    return (
        f"{_percent([x.covered for x in told])} of {len(told)} intervals hold the true gain; "
        f"{_wrong(clear)} verdicts are wrong, {len(told) - len(clear)} are undecided"
    )


def _in_percent(x: Answer) -> Answer:
    share = 100 / x.own
    return replace(
        x, gain=x.gain * share, low=x.low * share, high=x.high * share, truth=x.truth * share
    )
