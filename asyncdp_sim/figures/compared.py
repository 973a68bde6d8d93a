"""Curves of several results over each other, and the ratio of their ψ, replicate by replicate."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from pathlib import Path

import numpy as np

from asyncdp_sim.figures import convergence
from asyncdp_sim.figures.convergence import (
    CurveLine,
    explained,
    line_looks,
    medians,
    quartile_marks,
    quartile_rows,
    wordy,
)
from asyncdp_sim.figures.drawer import Declaration, Mark, Panel, Side, draw
from asyncdp_sim.figures.picture import Picture, captions_page, label, save, write
from asyncdp_sim.figures.style import THEORY, plain_text
from asyncdp_sim.results import Result
from asyncdp_sim.scenario import leaves
from asyncdp_sim.scenario.labels import words

FEW = 2  # settings that are a result's name
NOTHING = 1e-300  # of a ψ: below, no ratio is taken


def draw_comparison(results: Mapping[str, Result], folder: Path) -> list[Path]:
    """Draw results over each other into a folder; return the paths of the pictures.

    Parameters
    ----------
    results : mapping of Result
        By name, two or more; ratios are to the first.
    folder : Path
        Gets a PNG file and its numbers for each picture, and ``captions.md``.

    Raises
    ------
    ResultError
        If a curve is absent or damaged, or the folder cannot be written to.
    """
    shown = [(picture, list(results.values())) for picture in pictures(results)]
    write(folder / "captions.md", captions_page(shown, []).encode())
    return [save(picture, folder) for picture, _ in shown]


def pictures(results: Mapping[str, Result]) -> list[Picture]:
    """Draw results over each other; the ratio of ψ where replicates are paired.

    Raises
    ------
    ResultError
        If a curve is absent or damaged.
    """
    lines = named(results)
    drawn = [convergence.by_update(lines)]
    if any(line.result.summary["simulated_time"] > 0 for line in lines):
        drawn.append(convergence.by_time(lines))
    ratio = psi_ratio(lines)
    drawn += [] if ratio is None else [ratio]
    places = dict(zip([line.name for line in lines], map(plain_text, results), strict=True))
    return [_by_place(picture, places) for picture in drawn]


def named(results: Mapping[str, Result]) -> list[CurveLine]:
    """Return a line for each result, named by the settings in which all differ where these are few.

    Else by the given names.
    """
    first, *rest = (dict(leaves(result.scenario)) for result in results.values())
    fields = dict.fromkeys(path for other in rest for path in (*first, *other))
    apart = [path for path in fields if any(first.get(path) != o.get(path) for o in rest)]
    names = [
        ", ".join(words(path, settings[path]) for path in apart if path in settings)
        for settings in (first, *rest)
    ]
    if len(apart) > FEW or len(set(names)) < len(names):
        names = list(map(plain_text, results))
    return [CurveLine(result, name) for result, name in zip(results.values(), names, strict=True)]


def _by_place(picture: Picture, places: Mapping[str, str]) -> Picture:
    """Return a picture whose table has the names of directories; its caption maps them to results.

    Parameters
    ----------
    picture : Picture
    places : mapping
        From the names of lines to those of directories.
    """
    table = {**picture.table, "line": np.array([places[name] for name in picture.table["line"]])}
    which = ", ".join(f"{name} ({place})" for name, place in places.items() if name != place)
    text = f"{picture.caption} Results: {which}." if which else picture.caption
    return replace(picture, table=table, caption=text)


def psi_ratio(lines: Sequence[CurveLine]) -> Picture | None:
    """Draw ψ of results over that of the first one, within the replicates that both have.

    None where no result has k and replicates in common with the first, of one seed.
    """
    first, *rest = lines
    ratios = [_ratio(first.result, line.result) for line in rest]
    quartiles = [ratio for ratio in ratios if ratio is not None]
    if len(quartiles) == 0:
        return None
    kept = [ratio is not None for ratio in ratios]
    drawn = list(compress(rest, kept))
    looks = list(compress(line_looks(len(lines))[1:], kept))  # as where curves lie over each other
    marks = quartile_marks(quartiles, [line.name for line in drawn], looks)
    level = {"color": THEORY, "linewidth": 0.8, "linestyle": "--"}
    marks += [Mark("level", y=1.0, look=level), *explained(quartiles)]
    across = Side("update $k$", limits=(0, max(grid[-1] for grid, _ in quartiles)))
    named = rf"$\psi$ over that of {first.name} (below 1: better)"
    panel = Panel(marks, across, Side(named, log=True, grid=True))
    figure = draw(Declaration([panel], (6.5, 3.4), right=not wordy(drawn)))
    caption = (
        f"{medians(quartiles)} over replicates of ψ at update k over ψ of {first.name} "
        "at the same update of the same replicate (both use the same random numbers); "
        "below 1 a result is better than the first one."
    )
    table = quartile_rows(drawn, "k", ratio=quartiles)
    return Picture("psi-ratio", figure, table, caption, label([line.result for line in lines]))


def _ratio(first: Result, second: Result) -> convergence.Quartiles | None:
    """Return the k that both recorded, and quartiles of the ratio at them; None without any."""
    if first.manifest["seed"] != second.manifest["seed"]:
        return None
    ours, theirs = (
        result.frame("curve").set_index(["replicate", "k"])["relative_fitness"]
        for result in (first, second)
    )
    both = ours.to_frame("first").join(theirs.to_frame("second"), how="inner")
    both = both[(both["first"] > NOTHING) & (both["second"] > NOTHING)]
    both = both[np.isfinite(both).all(axis=1)]
    if len(both) == 0:
        return None
    by_k = (both["second"] / both["first"]).groupby("k").quantile([0.25, 0.5, 0.75]).unstack()
    return by_k.index.to_numpy(), by_k.to_numpy().T
