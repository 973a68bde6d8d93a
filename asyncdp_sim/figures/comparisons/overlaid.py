"""Curves of several results over each other, and the ratio of their ψ, replicate by replicate."""

from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.patches import Patch

from asyncdp_sim.figures.kit import captions
from asyncdp_sim.figures.kit.lines import key, legend, scale
from asyncdp_sim.figures.kit.log_axis import log_axis
from asyncdp_sim.figures.kit.numbers import columns, wrapped
from asyncdp_sim.figures.kit.picture import Picture, save, write
from asyncdp_sim.figures.kit.privacy_label import label
from asyncdp_sim.figures.kit.source import Result
from asyncdp_sim.figures.kit.style import THEORY, canvas, colours, plain_text, style
from asyncdp_sim.figures.runs import convergence
from asyncdp_sim.figures.runs.convergence import CurveLine, draw_quartiles, quartile_rows

Array = npt.NDArray[np.float64]
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
    lines = [CurveLine(result, plain_text(name)) for name, result in results.items()]
    drawn = [convergence.by_update(lines)]
    if any(line.result.summary["simulated_time"] > 0 for line in lines):
        drawn.append(convergence.by_time(lines))
    ratio = psi_ratio(lines)
    drawn += [] if ratio is None else [ratio]
    shown = [(picture, list(results.values())) for picture in drawn]
    write(folder / "captions.md", captions.page(shown, []).encode())
    return [save(picture, folder) for picture in drawn]


def psi_ratio(lines: Sequence[CurveLine]) -> Picture | None:
    """Draw ψ of results over that of the first one, within the replicates that both have.

    None where no result has k and replicates in common with the first, of one seed.
    """
    first, *others = lines
    found = [_ratio(first.result, line.result) for line in others]
    quartiles = [each for each in found if each is not None]
    if len(quartiles) == 0:
        return None
    kept = [each is not None for each in found]
    named = list(compress(others, kept))
    shades = list(
        compress(colours(len(lines))[1:], kept)
    )  # as where the curves lie over each other
    with style():
        figure, axes = canvas(height=3.4)
        draw_quartiles(axes, quartiles, shades)
        axes.axhline(1.0, color=THEORY, linewidth=0.8, linestyle="--")
        log_axis(axes)
        axes.set_xlim(0, max(grid[-1] for grid, _ in quartiles))
        scale(axes, xlabel="update $k$", ylabel=rf"$\psi$ over that of {first.name}")
        keys: list[Artist] = [
            key(wrapped(o.name), color=shade) for o, shade in zip(named, shades, strict=True)
        ]
        keys += [
            key("median", color="#666666"),
            Patch(color="#666666", alpha=0.25, linewidth=0, label="25–75 %"),
        ]
        legend(figure, keys, columns([o.name for o in named]))
    said = (
        f"Median (line) and 25–75 % band over replicates of ψ at update k over ψ of {first.name} "
        "at the same update of the same replicate, whose random numbers both have in common; "
        "below 1 a result is the better one."
    )
    table = quartile_rows(named, "k", ratio=quartiles)
    return Picture("psi-ratio", figure, table, said, label([line.result for line in lines]))


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
