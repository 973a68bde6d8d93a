"""ψ of joint models against ε, a line for each way to hide records, and own models: which fit."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import known, number
from asyncdp_sim.figures import sweep_figure
from asyncdp_sim.figures.drawer import BETTER, Declaration, Layer, Panel, Side, measured
from asyncdp_sim.figures.picture import CAPTIONS, label, row_labels
from asyncdp_sim.figures.style import THEORY, VERMILION, looks
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.sentences.label import bound_moves, gradient_norm, named_guarantee

EPSILON = "privacy.epsilon"
LEAST = 2  # owners, and values of ε
MOST_SERIES = 7
FEW_LINES = 30  # owners whose own models' lines do not fill the frame
OWN: dict[str, Any] = {"color": "#777777", "linewidth": 0.8}


@dataclass(frozen=True)
class JointSeries(sweep_figure.Series):
    """The cells that hide records in the same way, in ascending order of ε."""

    @property
    def psi(self) -> Array:
        """Mean ψ of the joint models and the ends of its 95 % interval, shape (3, J)."""
        return np.array([sweep_figure.mean_psi_at_end(result) for result in self.results]).T

    @property
    def alone(self) -> Array:
        """ψ of each owner's own model, shape (N,)."""
        return _alone(self.results[0])

    @property
    def break_even(self) -> Array:
        """The ε from which on the joint model has the smaller ψ, shape (N,); ∞ where there is none.

        Between two swept ε the logarithm of ψ is interpolated over the logarithm of ε.
        """
        return self._break_even_of(self.psi[0])

    @property
    def half(self) -> tuple[float, float, float]:
        """The ε from which on the joint model fits better than half of the own models.

        With the ends that those of the intervals of mean ψ give; NaN where there are none.
        """
        psi = self.psi
        value, low, high = (float(np.median(self._break_even_of(values))) for values in psi)
        alone = np.isfinite(psi[0]) & np.isnan(psi[1])  # a mean of one replicate
        return (value, np.nan, np.nan) if alone.any() else (value, low, high)

    def _break_even_of(self, psi: Array) -> Array:
        """Return the ε at which a mean ψ, one for each ε, falls to each owner's own, (N,)."""
        at, psi = np.log(self.at), np.log(np.maximum(psi, np.finfo(float).tiny))
        return np.array([_crossing(at, psi, own) for own in np.log(self.alone)])

    @property
    def legend(self) -> str:
        """Its name, the bound that its noise is scaled for, and what it guarantees."""
        norm = (self.results[0].scenario["privacy"].get("sensitivity") or {}).get("norm")
        sign = "Ξ₁" if (norm or gradient_norm(self.results[0].manifest)) == "l1" else "Ξ₂"
        constants = [result.manifest.get("constants") or {} for result in self.results]
        bounds = sorted({known(numbers.get("noise_bound")) for numbers in constants})
        values = ", ".join(f"{bound:.4g}" for bound in bounds if np.isfinite(bound))
        bound = f"{sign} = {values}" if values else "no bound"
        if bound_moves(self.results[0].manifest):
            bound = f"{bound} at first"
        guarantee = named_guarantee([result.manifest for result in self.results])
        return f"{self.name} ({bound}): {guarantee}"


def select(sweep: Sweep) -> list[JointSeries] | str:
    """Return a sweep's ways to hide records, or in words why it compares none over ε."""
    if EPSILON not in sweep.paths:
        return f"{EPSILON} is not swept"
    rest = [path for path in sweep.paths if path != EPSILON]
    updated = (cell for cell in sweep.cells if cell.result.summary["updates"] > 0)
    cells = [cell for cell in updated if 0 < known(cell.values[EPSILON]) < np.inf]
    series = JointSeries.grouped(cells, lambda c: c.label(rest), lambda c: float(c.values[EPSILON]))
    if not 1 <= len(series) <= MOST_SERIES:
        return f"{len(series)} lines, and {MOST_SERIES} can be shown"
    privacy = (line.results[0].scenario["privacy"] for line in series)
    ways = {json.dumps(fields | {"epsilon": None}, sort_keys=True) for fields in privacy}
    if len(ways) < len(series):
        return "lines that hide data in the same way"
    if min(len(line.at) for line in series) < LEAST:
        return f"fewer than {LEAST} budgets"
    return series


def select_ways(sweep: Sweep) -> list[JointSeries] | str:
    """Return a sweep's ways to hide records where there are several, or in words why not."""
    series = select(sweep)
    return "one way to hide data" if len(series) == 1 else series


def select_alone(sweep: Sweep) -> list[JointSeries] | str:
    """Return a sweep's joint models, or in words why they are not compared with own models."""
    series = select(sweep)
    if isinstance(series, str):
        return series
    results = [result for line in series for result in line.results]
    if not all("profits_psi" in result.summary for result in results):
        return "owners alone are not known: run.alone"
    first = _alone(results[0])
    if len(first) < LEAST:
        return f"fewer than {LEAST} owners"
    if not all(np.array_equal(_alone(result), first) for result in results):
        return "owners are not the same in all cells"
    return series


def declared(
    found: Sequence[JointSeries], rows: Sequence[Columns], own: Array | None
) -> Declaration:
    """Say ψ against ε with 95 % intervals, and a level line for each owner's own model."""
    marks: list[Layer] = []
    half: dict[str, Any] = {"color": THEORY, "linestyle": "--", "linewidth": 1.2}
    half |= {"color": VERMILION} if len(found) == 1 else {}
    gained = []
    for line, look in zip(found, looks(len(found), markersize=4.5, linewidth=1.4), strict=True):
        if label(line.results).private is not True:
            look |= {"linestyle": "--", "markerfacecolor": "white"}
        name = line.legend if len(found) > 1 else "joint model, mean and 95 % interval"
        marks.append(measured(line.at, line.psi, name=name, **look))
        if own is not None and line.at[0] < line.half[0] < np.inf:
            tone = {"color": look["color"]} if len(found) > 1 else {}
            ends, shade = np.minimum(line.half[1:], line.at[-1]), half | tone
            if not np.isnan(ends).any():
                area = {"color": shade["color"], "alpha": 0.2}
                low, high = min(line.psi[0].min(), own.min()), line.psi[2].max()
                gained.append(Layer("band", ends, None, [low] * 2, [high] * 2, look=area))
            gained.append(Layer("upright", line.half[0], look=half | tone))
    if own is not None:
        named = "own models without noise, one line each"
        thin = OWN | {"zorder": 0, "linewidth": 0.4 if len(own) > FEW_LINES else 0.8}
        marks += [Layer("level", y=level, look=thin) for level in own]
        marks += [Layer("line", name=named, look=OWN), *gained]
    if gained:
        on = "joint model better than half"
        on += ", and interval" * any(mark.kind == "band" for mark in gained)
        marks.append(Layer("line", name=on, look=half))
    places = [epsilon for line in found for epsilon in line.at]
    across = Side("privacy budget $\\epsilon$ per owner", log=True, ticks=places)
    side = Side(f"mean $\\psi$ of all records\n{BETTER}", log=True, grid=True)
    title = best_fit(rows)
    if own is not None and len(found) == 1:
        title += from_half(*found[0].half)
    return Declaration([Panel(marks, across, side)], (7.2, 3.9), title, note=CAPTIONS["of-psi"])


def from_half(half: float, low: float, high: float) -> str:
    """Return from which ε on a joint model fits better than half of the own models."""
    if half == np.inf:
        return "; at no ε shown, of half of them"
    ends = "" if np.isnan([low, high]).any() else f" ({number(low)} to {number(high)})"
    return f"; from ε = {number(half)}{ends} on, of half of them"


def best_fit(rows: Sequence[Columns]) -> str:
    """Return how many own models the joint one fits better than, at the largest ε of each line.

    Without own models: where ψ is least.
    """
    if "psi_alone" not in rows[0]:
        named = [table | {EPSILON: table["epsilon"]} for table in rows]
        return sweep_figure.least_in_words(named, "psi_final_mean", "mean ψ", "line", EPSILON)
    parts = []
    for table in rows:
        last = table["epsilon"] == table["epsilon"].max()
        better = int(table["fits_better"][last].sum())
        name = f" ({table['line'][0]})" if len(rows) > 1 else ""
        parts.append(f"{better} of {np.count_nonzero(last)} owners{name}")
    at = number(float(rows[0]["epsilon"].max()))
    text = f"At ε = {at}, the joint model fits all records better than the own model of "
    return text + ", ".join(parts)


def rows(line: JointSeries) -> Columns:
    """Return what is drawn of one line: a row for every ε."""
    return line.rows("line", "epsilon", psi_final_mean=sweep_figure.mean_psi_at_end)


def rows_of_owners(line: JointSeries) -> Columns:
    """Return what is drawn of one line: a row for every ε and owner."""
    owners, many = len(line.alone), len(line.at)
    table: Columns = {"line": np.repeat([line.name], many * owners)}
    table |= {"epsilon": np.repeat(line.at, owners)}
    table |= sweep_figure.estimates("psi_final_mean", np.repeat(line.psi, owners, axis=1).T)
    shared = sweep_figure.owner_table(line.results[0].participants) | {"psi_alone": line.alone}
    shared |= {"break_even_epsilon": line.break_even}
    table |= {name: np.tile(column, many) for name, column in shared.items()}
    table["fits_better"] = (table["psi_alone"] > table["psi_final_mean"]).astype(int)
    return table | row_labels([[result] for result in line.results], owners)


def caption(found: Sequence[JointSeries]) -> str:
    """Return what is said below a picture with own models."""
    return f"{CAPTIONS['guarantees']} {CAPTIONS['own-models']} {decision(found)}"


def decision(found: Sequence[JointSeries]) -> str:
    """Return how many own models the joint one fits better than, and from which ε on half."""
    if len(found) > 1:
        text = "the joint model fits better than half of the own models"
        halves = {line.name: line.half[0] for line in found}
        return " ".join(
            f"{name}: {text} {'at no ε shown' if half == np.inf else f'from ε = {half:.2g} on'}."
            for name, half in halves.items()
        )
    [joint] = found
    low, high = (int((joint.alone > psi).sum()) for psi in joint.psi[0][[0, -1]])
    counts = (
        f"At ε = {number(joint.at[0])}, the joint model fits all records better than the own model "
        f"of {low} of {len(joint.alone)} owners; at ε = {number(joint.at[-1])}, of {high}."
    )
    if joint.half[0] == np.inf:
        return f"{counts} At no ε shown does it fit better than half of them."
    return f"{counts} From ε = {joint.half[0]:.2g} on it fits better than half of them."


def decisions(opened: Result | Sweep) -> tuple[str, ...]:
    """Return what a sweep's break-even picture says; nothing of other sweeps, or of a result."""
    lines = select_alone(opened) if isinstance(opened, Sweep) else "a single result"
    return () if isinstance(lines, str) else (decision(lines),)


def _crossing(epsilon: Array, psi: Array, own: float) -> float:
    """Return the ε behind which ψ stays below an owner's own; all three are logarithms."""
    below = psi < own
    if not below[-1]:
        return np.inf
    if below.all():
        return float(np.exp(epsilon[0]))
    last = int(np.flatnonzero(~below)[-1])
    if not np.isfinite(psi[last]):
        return float(np.exp(epsilon[last + 1]))
    share = (psi[last] - own) / (psi[last] - psi[last + 1])
    return float(np.exp(epsilon[last] + share * (epsilon[last + 1] - epsilon[last])))


def _alone(result: Result) -> Array:
    return np.asarray(result.of_owners("psi_alone").mean(axis=0))


FIGURE = sweep_figure.SweepFigure(
    "break-even", select_alone, rows_of_owners,
    lambda found, rows: declared(found, rows, found[0].alone), lambda found, _: caption(found),
)  # fmt: skip
WAYS = sweep_figure.SweepFigure(
    "guarantees", select_ways, rows,
    lambda found, rows: declared(found, rows, None), lambda *_: CAPTIONS["guarantees"],
)  # fmt: skip
"""The same without own models, each way to hide records with its guarantee."""
