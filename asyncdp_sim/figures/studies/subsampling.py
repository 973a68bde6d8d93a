"""The price and the worth of sampling: noise of answers over samples, and ψ against computing."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.axes import BETTER, key, legend, log_axis, looks, scale
from asyncdp_sim.figures.kit.style import THEORY, sheet
from asyncdp_sim.figures.runs.convergence import quartiles
from asyncdp_sim.figures.studies.curves import curve_rows, curves, draw_curve, of_panel
from asyncdp_sim.figures.sweeps.sweep_figure import Series, SweepFigure, Table
from asyncdp_sim.privacy.accountants.attacker import mu_of
from asyncdp_sim.privacy.accountants.composition import charge_of
from asyncdp_sim.privacy.accountants.pairs import sampled_gaussian
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario.paths import VARIANT

ANSWERS = (1, 3, 10, 30, 100, 300, 1000)
"""Answers of an owner for which noise is worked out."""


def select(sweep: Sweep) -> list[Series] | str:
    """Return a line for each variant; they differ in ``privacy.sampling``, with Gaussian noise."""
    gaussian = all(cell.result.scenario["privacy"].get("delta") for cell in sweep.cells)
    if sweep.paths != (VARIANT,) or not gaussian:
        return "a sweep that is none of variants with Gaussian noise"
    return [Series(cell.label(sweep.paths), (cell.number,), (cell,)) for cell in sweep.cells]


def noise_over_whole(privacy: Mapping[str, Any]) -> list[float]:
    """Return the noise of an answer over samples over that of one over all records, for each K."""
    q, epsilon, delta = (float(privacy[each]) for each in ("sampling", "epsilon", "delta"))
    whole = mu_of(epsilon, delta)
    kind = sampled_gaussian(q)
    return [whole / (k**0.5 * q * charge_of(kind, epsilon, delta, k)) for k in ANSWERS]


def _rows(line: Series) -> Table:
    """Return ψ over passes through an owner's records, and the noise of samples."""
    [result] = line.results
    sampling = result.scenario["privacy"].get("sampling")
    k, psi = quartiles(result, "k", 0.5)
    passes = k * (1.0 if sampling is None else float(sampling)) / result.n_owners
    tables = [curve_rows("psi", line.name, passes, psi)]
    if sampling is not None:
        larger = noise_over_whole(result.scenario["privacy"])
        tables.append(curve_rows("noise", line.name, ANSWERS, [larger] * 3))
    return curves(tables)


def panels(found: Sequence[Series], rows: Sequence[Table]) -> Figure:
    """Draw noise against the number of answers, and ψ against the gradients that owners compute."""
    drawn = looks(len(found), markersize=4.0)
    figure = sheet(7.6, 3.6)
    noise, learned = figure.subplots(1, 2)
    for table, look in zip(rows, drawn, strict=True):
        for line in of_panel(table, "noise").values():
            noise.plot(line["x"], line["y"], **look)
        for line in of_panel(table, "psi").values():
            draw_curve(learned, line, look)
    noise.axhline(1.0, color=THEORY, linewidth=0.9, linestyle="--")
    noise.set(ylim=(0.9, None), xlabel="answers of an owner, $K$")
    noise.set_ylabel("noise of an answer, over that\nwithout sampling")
    scale(learned, ylabel=f"relative fitness $\\psi$\n{BETTER}")
    learned.set_xlabel("passes over an owner's records, $k q / N$")
    for axes in (noise, learned):
        log_axis(axes, "x")
        axes.grid(axis="y")
    keys = [key(line.name, **look) for line, look in zip(found, drawn, strict=True)]
    legend(figure, keys, len(keys))
    return figure


def _caption(found: Sequence[Series], rows: Sequence[Table]) -> str:
    privacy = found[0].results[0].scenario["privacy"]
    last = [of_panel(table, "psi")[line.name]["y"][-1] for line, table in
            zip(found, rows, strict=True)]  # fmt: skip
    ends = "; ".join(f"{x.name}: {number(end)}" for x, end in zip(found, last, strict=True))
    return (
        f"Sampling at ε = {privacy['epsilon']:g}, δ = {privacy['delta']:g}. Left: the noise of an "
        "answer over samples, which is divided by q n, over that of one over all records, for K "
        "answers in all: less than a thousandth below 1 at best, where answers are many. "
        "Right: ψ of the same number of answers, median (line) and 25–75 % band over replicates, "
        f"against the records that owners have been through for them. At the end: {ends}."
    )


FIGURE = SweepFigure("subsampling", select, _rows, panels, _caption)
