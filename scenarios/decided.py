"""Tables for the page of the benchmark of decisions, and its picture."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.one_panel import DOTS, TRUTH, captioned, written
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.progress import counted, drawn
from asyncdp_sim.decision import MATERIAL, Estimate
from asyncdp_sim.decision.gain import verdict_of
from asyncdp_sim.figures.drawer import Layer
from asyncdp_sim.figures.picture import Picture, save
from asyncdp_sim.figures.style import VERMILION
from scenarios.decisions import BUDGETS, WAYS, Table, answered, judged, tables, write

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
PAGE = Path(__file__).with_suffix(".txt")
"""The page's tables, to be filled in."""
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
    listed, found = tables(), []
    with drawn() as progress:
        advance = counted(progress, "tables", len(listed))
        for table in listed:
            found.append(answered(table, out))
            advance(1)
    answers = pd.concat(found, ignore_index=True)
    write(answers, out / ANSWERS)
    save(picture(answers), out)
    say(*page(answers, listed), f"{ANSWERS} and picture in {out}")
    return 0


def page(answers: pd.DataFrame, listed: Sequence[Table]) -> list[str]:
    """Return the tables of the page as Markdown.

    Of single owners, of them with narrower intervals, of the mean owner, and by table.
    """
    clear = _clear(answers)
    tables = {
        "owners": _owners(answers),
        "narrower": _narrower(answers),
        "means": _means(answers, listed),
        "by_table": _by_table(answers, listed),
    }
    filled = PAGE.read_text("utf-8").format(
        **{name: "\n".join(map(_row, rows)) for name, rows in tables.items()},
        too_large=too_large(clear),
        material=100 * MATERIAL,
        gains=_small(clear, "gains"),
        losses=_small(clear, "does worse"),
        holds=clear["holds"].sum(),
        clear=len(clear),
        covered=clear["covered"].sum(),
        tried="; ".join(f"ε = {epsilon:g}" for epsilon in BUDGETS),
    )
    return filled.splitlines()


def _row(cells: Sequence[object]) -> str:
    """Return a row of a Markdown table; columns of truths are per cent."""
    texts = (_percent(cell) if isinstance(cell, pd.Series) else str(cell) for cell in cells)
    return "".join(f"| {text} " if text else "| " for text in texts) + "|"


def _owners(answers: pd.DataFrame) -> Iterator[Sequence[object]]:
    for way, told in _of_owners(answers).groupby("way", sort=False):
        least = told.groupby("table")["covered"].mean().min()
        shares = (told["truly_material"], told["decided"], told["clear"])
        wrong = _wrong(told[told["clear"]])
        yield COMMANDS[way], len(told), told["covered"], f"{least:.0%}", *shares, wrong


def _narrower(answers: pd.DataFrame) -> Iterator[Sequence[object]]:
    """Yield how much would be decided, and covered, by intervals of a share of their width."""
    of_owners = _of_owners(answers)
    for share in WIDTHS:
        told = scaled_to(of_owners, share)
        ways = [told[told["way"] == way] for way in ("owner", "all")]
        columns = ("covered", "decided", "clear")
        yield f"{share:g}", *(of_way[column] for of_way in ways for column in columns)


def scaled_to(answers: pd.DataFrame, share: float) -> pd.DataFrame:
    """Return answers whose intervals have a share of their width, with the verdicts of these.

    Models that are no better than guessing are not known here, so that some more may be decided.
    """
    gain, half = answers["gain"], share * (answers["high"] - answers["gain"])
    estimates = [Estimate(g, (((h / Z) ** 2, MANY),)) for g, h in zip(gain, half, strict=True)]
    pairs = zip(estimates, answers["material"], strict=True)
    verdicts = [str(verdict_of(of, least, better_than_guessing=True)) for of, least in pairs]
    return judged(answers.assign(low=gain - half, high=gain + half, verdict=verdicts))


def _means(answers: pd.DataFrame, listed: Sequence[Table]) -> Iterator[Sequence[object]]:
    at_random = [table.name for table in listed if table.owner is None]
    for way in WAYS:
        told = answers[answers["way"] == way]
        seconds = told.drop_duplicates(["table", "epsilon", "seconds"])["seconds"].median()
        alike = told["table"].isin(at_random)
        for of_kind, name in ((alike, "drawn at random"), (~alike, "natural")):
            means = told[of_kind & (told["owner"] == "")]
            given = means[means["verdict"] != "differ"]
            if len(means) == 0:
                continue
            shares = (given["covered"], given["truly_material"], given["decided"])
            counts, wrong = (len(means), len(means) - len(given)), _wrong(given[given["clear"]])
            yield COMMANDS[way], name, *counts, *shares, wrong, f"{seconds:.2g}"
        if way == "owner":
            yield COMMANDS[way], *[""] * 7, f"{seconds:.2g}"


def _by_table(answers: pd.DataFrame, listed: Sequence[Table]) -> Iterator[Sequence[object]]:
    for table in listed:
        of_table = answers[(answers["table"] == table.name) & (answers["way"] == "all")]
        told, means = of_table[of_table["owner"] != ""], of_table[of_table["owner"] == ""]
        if len(means) == 0:
            continue
        sizes = told.loc[told["epsilon"] == BUDGETS[0], "rows"]
        owners = f"{len(sizes)} {'random' if table.owner is None else table.owner}"
        shares = (means[["truth", "error"]].div(means["own"], axis=0)).itertuples(index=False)
        truth = "; ".join(f"{x.truth:+.1%} ± {1.96 * x.error:.1%}" for x in shares)
        rows, name = f"{sizes.min()}–{sizes.max()}", f"{table.name} ({table.domain})"
        yield name, table.target, owners, rows, truth, told["covered"]


def _percent(column: pd.Series) -> str:
    return f"{column.mean():.0%}" if len(column) > 0 else "–"


def _wrong(clear: pd.DataFrame) -> str:
    return f"{clear['wrong'].sum()} of {len(clear)}"


def picture(answers: pd.DataFrame) -> Picture:
    """Draw the gains of all verdicts that are clear beside their truths, a row for each."""
    clear, lengths = _clear(answers), ["gain", "low", "high", "truth", "error"]
    clear[lengths] = clear[lengths].mul(100 / clear["own"], axis=0)  # per cent
    place = clear["verdict"].map(list(VERDICTS).index)
    order = np.lexsort((-clear["gain"], place))
    clear, place = clear.iloc[order], place.iloc[order].to_numpy()
    columns = ("truth", "gain", "low", "high", "error", "verdict", "decided")
    truth, gain, low, high, error, verdict, decided = (clear[name].to_numpy() for name in columns)
    row = np.cumsum(np.where(decided, STEPS[True], STEPS[False])) + APART * place
    missed = ~((low <= truth) & (truth <= high))
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
    shown = [name for name in VERDICTS if name in verdict]
    names = [f"{VERDICTS[name]} ({np.sum(verdict == name)})" for name in shown]
    signed = [f"{each:+}".replace("-", "−") if each else "0" for each in TICKS]
    x = {"limits": scaled(REACH), "ticks": scaled(TICKS).tolist(), "labels": signed}
    y = {"limits": ends[::-1], "labels": names}
    y["ticks"] = [row[verdict == name].mean() for name in shown]
    kept = ("table", "way", "epsilon", "owner", "verdict", "gain", "low", "high", "truth", "error")
    table = {name: clear[name].to_numpy() for name in kept}
    return captioned("decisions", title(answers), marks, table, height=5.2, x=x, y=y)


def _in_rows(value: Array, row: Array, low: Array, high: Array) -> Layer:
    """Return rows on the axis."""
    return Layer("rows", scaled(value), row, scaled(low), scaled(high))


def scaled(per_cent: Any) -> Array:
    """Return places on the axis: the inverse hyperbolic sine, in units of what is material."""
    return np.arcsinh(np.asarray(per_cent, dtype=float) / (100 * MATERIAL))


def _of_owners(answers: pd.DataFrame) -> pd.DataFrame:
    """Return what was said of single owners, one way after another."""
    told = answers[answers["owner"] != ""]
    return pd.concat([told[told["way"] == way] for way in WAYS[1:]])


def _clear(answers: pd.DataFrame) -> pd.DataFrame:
    """Return the verdicts on single owners that are not undecided."""
    told = _of_owners(answers)
    return told[told["clear"]].copy()


def title(answers: pd.DataFrame) -> str:
    """Return what the picture shows: how many verdicts are clear, and how true these are."""
    told, clear = _of_owners(answers), _clear(answers)
    sides, none = clear[clear["decided"]], clear[~clear["decided"]]
    right = sides[sides["gain"] * sides["truth"] > 0]
    return (
        f"{len(told) - len(clear)} of {len(told)} verdicts are undecided. Of {len(sides)} gains "
        f"and losses, {len(right)} have the right sign "
        f"({(right['truth'].abs() > 1.96 * right['error']).sum()} certainly) and "
        f"{sides['truly_material'].sum()} are truly {100 * MATERIAL:g} % or more; "
        f"{(~none['truly_material']).sum()} of {len(none)} verdicts of no material "
        f"difference are true; {clear['holds'].sum()} of {len(clear)} intervals hold the true "
        "gain"
    )


def too_large(clear: pd.DataFrame) -> str:
    """Return how many gains and losses there are, and how much larger than the true ones."""
    sides = clear[clear["decided"]]
    times = (sides["gain"] / sides["truth"]).abs()
    return (
        f"{len(times)} gains or losses, {(times > 1).sum()} of which are stated too "
        f"large ({times.min():.1f} to {times.max():.1f} times the true ones)"
    )


def _small(clear: pd.DataFrame, verdict: str) -> str:
    """Return of how many verdicts the truth is not material, and of how many certainly."""
    told = clear[clear["verdict"] == verdict]
    small = told[~told["truly_material"]]
    certain = (small["truth"].abs() + 1.96 * small["error"] < small["material"]).sum()
    return f"{len(small)} of {len(told)} “{verdict}” ({certain} certainly)"
