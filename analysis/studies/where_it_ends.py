"""The objective that is learned: where the models of each variant end, and each owner's optimum.

For small steps the mean model settles where Σ w_i ℓ_i + (σ/2)‖θ‖² is least
(docs/recipes.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.drawer import Declaration, Layer, Panel, Side
from asyncdp_sim.figures.style import MAY_GO, THEORY, colours
from asyncdp_sim.figures.sweep_figure import Series, SweepFigure
from asyncdp_sim.learning.objectives import Quadratic
from asyncdp_sim.results import Sweep
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.scenario.paths import VARIANT
from asyncdp_sim.theory.predict.update_order import lateness
from asyncdp_sim.theory.predict.update_order import shares as shares_of_updates
from asyncdp_sim.theory.prediction import Unknown

DIVIDED = {"uniform": (0, 0), "inverse-rate": (1, 0), "inverse-weight": (1, 1)}
"""By ``algorithm.selection``: whether π_i, and whether E[w(s) | i], is divided by."""


NARROW = 0.2
"""Of the owners' optima, the range in which ends of learning have a panel of their own."""
MARGIN = 0.15
"""Of that range, the room beside the outermost, whose names would meet the frame."""


@dataclass(frozen=True)
class LearnedOptimum(Series):
    """The end of the models of one variant.

    Attributes
    ----------
    predicted, best : float
        Where its models should end for small steps, and θ*.
    own : tuple of pair
        Each owner's own optimum, and its share.
    of : str
        What the shares are of: the time online, or the updates.
    """

    predicted: float
    best: float
    own: tuple[tuple[float, float], ...]
    of: str


def select(sweep: Sweep) -> list[LearnedOptimum] | str:
    """Return the variants of a sweep whose models are single numbers, or why there are none."""
    if sweep.paths != (VARIANT,):
        return "a sweep that is none of variants"
    scenarios = [load(cell.result.directory / "scenario.toml")[0] for cell in sweep.cells]
    f = prepare(scenarios[0], build_dataset(scenarios[0])).task.objective.second_moments
    if f is None or f.n_features != 1:
        return "models with more than one number, or a loss that is no quadratic"
    chance = getattr(scenarios[0].availability, "probability", None)  # a list: of each owner's own
    alike = isinstance(chance, float | None)
    share = often(scenarios[0]) if alike else online(scenarios[0])
    records = f.records.astype(float)
    own = [minimiser(f, each) for each in np.eye(f.n_owners)]
    return [
        LearnedOptimum(
            str(cell.values[VARIANT]), (cell.number,), (cell,),
            minimiser(f, weights(scenario, records)), minimiser(f, records),
            tuple(zip(own, share.tolist(), strict=True)), "updates" if alike else "time online",
        )
        for cell, scenario in zip(sweep.cells, scenarios, strict=True)
    ]  # fmt: skip


def online(scenario: Scenario) -> Array:
    """Return the chance p_i that an owner is online."""
    return np.array(scenario.availability.probability, dtype=float)  # type: ignore[union-attr]


def often(scenario: Scenario) -> Array:
    """Return π_i, each owner's share of the updates."""
    found = shares_of_updates(scenario.network)
    if isinstance(found, Unknown):
        raise TypeError(found.reason)
    return np.array(found)


def mean_weights(scenario: Scenario) -> Array:
    """Return E[w(s) | i], how far an owner's answers move the model on average."""
    laws = lateness(scenario.network)
    if isinstance(laws, Unknown):
        raise TypeError(f"no law of staleness is known for {scenario.id}")
    algorithm: Any = scenario.algorithm
    ages = [np.arange(len(law)) for law in laws]
    weights = [np.ones_like(age, dtype=float) for age in ages]
    if getattr(algorithm, "buffer", None) == 1:
        weights = [algorithm.weight(age) for age in ages]
    return np.array([float(law @ weight) for law, weight in zip(laws, weights, strict=True)])


def weights(scenario: Scenario, records: Array) -> Array:
    """Return w_i up to a factor, which is n_i where all owners count alike.

    Where the answers of a round are averaged over the owners A that are present, the chance of
    each A weighs n_i/Σ_A n_j.
    """
    if scenario.protocol.makes_updates:
        chances = online(scenario)
        sets = np.array([each for each in product((0, 1), repeat=len(chances)) if any(each)])
        chance = np.prod(np.where(sets == 1, chances, 1 - chances), axis=1)
        return np.asarray(chance @ (sets * records / (sets @ records)[:, None]))
    by_rate, by_weight = DIVIDED[getattr(scenario.algorithm, "selection", "uniform")]
    share, weight = often(scenario), mean_weights(scenario)
    return np.asarray(records * share ** (1 - by_rate) * weight ** (1 - by_weight))


def minimiser(f: Quadratic, counted: Array) -> float:
    """Return the θ that makes Σ w_i ℓ_i + (σ/2) θ² least, w_i being ``counted`` up to a factor."""
    part = counted / counted.sum()
    return float(2 * part @ f.moment[:, 0] / (2 * part @ f.gram[:, 0, 0] + f.sigma))


def _rows(variant: LearnedOptimum) -> Columns:
    """Return the mean model of all replicates at the end, twice its error, and the prediction."""
    replicate, theta = variant.results[0].columns("models", "replicate", "theta_L")
    models = theta.reshape(len(np.unique(replicate)), -1)[:, 0]
    numbers = {
        "mean": models.mean(),
        "two_standard_errors": 2 * models.std(ddof=1) / np.sqrt(len(models)),
        "predicted": variant.predicted,
    }
    return variant.rows("end", "cell") | {name: np.array([n]) for name, n in numbers.items()}


def declared(found: Sequence[LearnedOptimum], rows: Sequence[Columns]) -> Declaration:
    """Say a row for each variant, predicted and measured, above the optima of the owners."""
    ours, own = colours(2)
    dot: dict[str, Any] = {"color": ours, "markersize": 4, "marker": "o", "linestyle": "none"}
    tick: dict[str, Any] = {
        "color": THEORY, "markersize": 14, "markeredgewidth": 2.0, "marker": "|",
        "linestyle": "none",
    }  # fmt: skip
    mean, error, predicted = (
        np.array([float(table[name][0]) for table in rows])
        for name in ("mean", "two_standard_errors", "predicted")
    )
    places, last = np.arange(len(rows)), float(len(rows))
    square: dict[str, Any] = {"color": own, "marker": "s", "linestyle": "none"}
    best = [
        Layer(
            "upright",
            found[0].best,
            name="θ*: the optimum of all",
            look={"color": THEORY, "linewidth": 1.4, "linestyle": ":"},
        ),
    ]
    marks = [
        Layer("line", predicted, places, name="predicted", look=tick),
        Layer("rows", mean, places, mean - error, mean + error, "measured, ± 2 standard errors",
             look=dot),
    ]  # fmt: skip
    alone = [
        Layer("line", name=f"an owner's own optimum; below, its share of {found[0].of}",
             look=square),
    ]  # fmt: skip
    for value, share in found[0].own:
        size = {"markersize": 4 + 8 * share}
        under = {"xytext": (0, -9), "ha": "center", "va": "top", "fontsize": "small"}
        alone += [Layer("line", [value], np.array([last]), look=square | size),
                  Layer("note", value, last, name=f"{100 * share:.0f} %",
                       look=under | {"gid": MAY_GO})]  # fmt: skip
    labels = [*(each.name for each in found), "owners alone"]
    across, title = Side("model $\\theta$"), nearest(found[0].best, rows)
    if np.ptp([*mean, found[0].best]) > NARROW * np.ptp([value for value, _ in found[0].own]):
        side = Side(limits=(last + 0.8, -0.5), ticks=range(len(found) + 1), labels=labels)
        return Declaration([Panel([*best, *marks, *alone], across, side)], (6.5, 2.7), title)
    ends = np.array([value for value, _ in found[0].own])
    wide = (ends.min() - MARGIN * np.ptp(ends), ends.max() + MARGIN * np.ptp(ends))
    sides = (Side(limits=(last - 0.5, -0.5), ticks=places.tolist(), labels=labels[:-1]),
             Side(limits=(last + 0.5, last - 0.4), ticks=()))  # fmt: skip
    panels = [
        Panel([*best, *marks], across, sides[0], "enlarged"),
        Panel([*best, *alone], replace(across, limits=wide), sides[1], labels[-1]),
    ]
    return Declaration(panels, (6.5, 2.7), title)


def nearest(best: float, rows: Sequence[Columns]) -> str:
    """Return which setting ends nearest to θ*, and which farthest from it."""
    ends = {str(table["end"][0]): float(table["mean"][0]) for table in rows}
    order = sorted(ends, key=lambda name: abs(ends[name] - best))
    near, far = order[0], order[-1]
    return (
        f"The model ends nearest to θ* = {number(best)} with “{near}” ({number(ends[near])}), "
        f"farthest with “{far}” ({number(ends[far])})"
    )


def _caption(found: Sequence[LearnedOptimum], _: Sequence[Columns]) -> str:
    del found
    return (
        "The model at the end of learning, for each setting: predicted for small steps "
        "(upright) and measured (mean over replicates). Squares: each owner's optimum; a larger "
        "square has a larger share of the updates, or of the time online if owners are absent. "
        "Vertical line: θ*, the optimum of all records."
    )


FIGURE = SweepFigure("where-it-ends", select, _rows, declared, _caption)
