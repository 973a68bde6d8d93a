"""The price and the worth of sampling: noise of answers over samples, and ψ against computing."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.axes import key, legend, log_axis, looks, scale
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import THEORY, sheet, style
from asyncdp_sim.figures.runs.convergence import CurveLine, quartiles
from asyncdp_sim.privacy.accountants.attacker import mu_of
from asyncdp_sim.privacy.accountants.composition import charge_of
from asyncdp_sim.privacy.accountants.pairs import sampled_gaussian
from asyncdp_sim.results import Sweep, not_a_result
from asyncdp_sim.scenario.paths import VARIANT

ANSWERS = (1, 3, 10, 30, 100, 300, 1000)
"""Answers of an owner for which noise is worked out."""


def subsampling(sweep: Sweep, *, name: str = "subsampling") -> Picture:
    """Draw noise against the number of answers, and ψ against the gradients that owners compute.

    Parameters
    ----------
    sweep : Sweep
        Of variants that differ in ``privacy.sampling``, with Gaussian noise.
    name : str
        Of the files.

    Raises
    ------
    ResultError
        If the sweep has no variants, or noise is not Gaussian.
    """
    cells = sweep.cells
    if sweep.paths != (VARIANT,) or any(_settings(cell)["delta"] is None for cell in cells):
        raise not_a_result(sweep.directory, "a sweep of variants with Gaussian noise")
    lines = [CurveLine(cell.result, cell.label(sweep.paths)) for cell in cells]
    settings = [_settings(cell) for cell in cells]
    drawn = looks(len(lines), markersize=4.0)
    rows: dict[str, list[Any]] = {each: [] for each in ("panel", "line", "x", "low", "y", "high")}
    with style():
        figure = sheet(7.6, 3.6)
        noise, learned = figure.subplots(1, 2)
        for line, setting, look in zip(lines, settings, drawn, strict=True):
            if setting["sampling"] is not None:
                larger = noise_over_whole(setting)
                noise.plot(ANSWERS, larger, **look)
                _row(rows, "noise", line.name, ANSWERS, larger, larger, larger)
            _learning(learned, rows, line, setting, look)
        noise.axhline(1.0, color=THEORY, linewidth=0.9, linestyle="--")
        log_axis(noise, "x")
        noise.set_xlabel("answers of an owner, $K$")
        noise.set_ylabel("noise of an answer, over that\nwithout sampling")
        noise.set_ylim(bottom=0.9)
        log_axis(learned, "x")
        scale(learned, ylabel="relative fitness $\\psi$")
        learned.set_xlabel("passes over an owner's records, $k q / N$")
        for axes in (noise, learned):
            axes.grid(axis="y")
        keys = [key(line.name, **look) for line, look in zip(lines, drawn, strict=True)]
        legend(figure, keys, len(keys))
    caption = _caption(settings[0], lines)
    table = {column: np.array(values) for column, values in rows.items()}
    return Picture(name, figure, table, caption, label([line.result for line in lines]))


def noise_over_whole(setting: Mapping[str, Any]) -> list[float]:
    """Return the noise of an answer over samples over that of one over all records, for each K."""
    q, epsilon, delta = (float(setting[each]) for each in ("sampling", "epsilon", "delta"))
    whole = mu_of(epsilon, delta)
    kind = sampled_gaussian(q)
    return [whole / (k**0.5 * q * charge_of(kind, epsilon, delta, k)) for k in ANSWERS]


def _learning(
    axes: Axes,
    rows: dict[str, list[Any]],
    line: CurveLine,
    setting: Mapping[str, Any],
    look: Mapping[str, Any],
) -> None:
    q = setting["sampling"]
    k, psi = quartiles(line.result, "k", 0.5)
    passes = k * (1.0 if q is None else float(q)) / setting["owners"]
    bare = {each: value for each, value in look.items() if each != "marker"}
    axes.plot(passes, psi[1], **bare)
    axes.fill_between(passes, psi[0], psi[2], color=look["color"], alpha=0.15, linewidth=0)
    axes.plot(passes[-1:], psi[1, -1:], **look)
    _row(rows, "psi", line.name, passes, *psi)


def _row(rows: dict[str, list[Any]], panel: str, line: str, *columns: Sequence[float]) -> None:
    rows["panel"] += [panel] * len(columns[0])
    rows["line"] += [line] * len(columns[0])
    for name, values in zip(("x", "low", "y", "high"), columns, strict=True):
        rows[name] += np.asarray(values, dtype=float).tolist()


def _settings(cell: Any) -> dict[str, Any]:
    scenario = cell.result.scenario
    privacy = {each: scenario["privacy"].get(each) for each in ("sampling", "epsilon", "delta")}
    return {**privacy, "owners": int(scenario["owners"]["count"])}


def _caption(setting: Mapping[str, Any], lines: Sequence[CurveLine]) -> str:
    ends = [float(quartiles(line.result, "k", 0.5)[1][1, -1]) for line in lines]
    said = "; ".join(f"{x.name}: {number(end)}" for x, end in zip(lines, ends, strict=True))
    return (
        f"Sampling at ε = {setting['epsilon']:g}, δ = {setting['delta']:g}. Left: the noise of an "
        "answer over samples, which is divided by q n, over that of one over all records, for K "
        "answers in all: less than a thousandth below 1 at best, where answers are many. "
        "Right: ψ of the same number of answers, median (line) and 25–75 % band over replicates, "
        f"against the records that owners have been through for them. At the end: {said}."
    )


__all__ = ["noise_over_whole", "subsampling"]
