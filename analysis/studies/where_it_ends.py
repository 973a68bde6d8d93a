"""The objective that is learned: where the models of each variant end, and each owner's optimum.

For small steps the mean model settles where Σ w_i ℓ_i + (σ/2)‖θ‖² is least
(docs/recipes.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from analysis import one_panel
from analysis.one_panel import DOTS, MEASURED, PREDICTED, TRUTH, text, written
from asyncdp_sim.core.arrays import Array, Columns
from asyncdp_sim.core.words import number, plus_minus
from asyncdp_sim.figures.drawer import Declaration, Layer
from asyncdp_sim.figures.style import THEORY, VERMILION
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
"""Of the owners' optima, the range within which ends of learning are drawn without these."""


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
    """Say a row for each variant, predicted and measured, above the optima of the owners.

    Where these are much farther apart than the rows, they are left to the caption.
    """
    tick = {"color": THEORY, "markersize": 14, "markeredgewidth": 2.0, "marker": "|"}
    tick |= {"linestyle": "none"}
    mean, error, predicted = (
        np.array([float(table[name][0]) for table in rows])
        for name in ("mean", "two_standard_errors", "predicted")
    )
    best, last, places = found[0].best, len(rows), np.arange(len(rows))
    labels = [each.name for each in found]
    marks = [
        replace(PREDICTED, name="predicted", look=tick),
        replace(MEASURED, look=DOTS),
        Layer("upright", best, look=TRUTH),
        written(best, -0.5, "θ*", "right"),
        Layer("line", predicted, places, look=tick),
        Layer("rows", mean, places, mean - error, mean + error, look=DOTS),
    ]
    own = np.array([value for value, _ in found[0].own])
    if np.ptp([*mean, best]) > NARROW * np.ptp(own):
        labels.append("owners alone")
        square = {"color": VERMILION, "marker": "s", "markersize": 5, "linestyle": "none"}
        marks.append(Layer("line", own, np.full(len(own), last), look=square))
        value, share = max(found[0].own, key=lambda each: each[1])
        most = f"{100 * share:.0f} % of {found[0].of}"
        marks.append(written(value, last, most, "inside", VERMILION))
    y = {"limits": (len(labels) - 0.3, -0.8), "ticks": range(len(labels)), "labels": labels}
    return one_panel.declared("where-it-ends", nearest(best, rows), marks, 2.7, y=y)


def nearest(best: float, rows: Sequence[Columns]) -> str:
    """Return which setting ends nearest to θ*, and which farthest from it."""
    ends = {
        str(table["end"][0]): (float(table["mean"][0]), float(table["two_standard_errors"][0]))
        for table in rows
    }
    order = sorted(ends, key=lambda name: abs(ends[name][0] - best))
    near, far = (f"“{name}” ({plus_minus(*ends[name])})" for name in (order[0], order[-1]))
    return f"The model ends nearest to θ* = {number(best)} with {near}, farthest with {far}"


def _caption(found: Sequence[LearnedOptimum], _: Sequence[Columns]) -> str:
    own = ", ".join(f"{number(value)} ({100 * share:.0f} %)" for value, share in found[0].own)
    return text("where-it-ends", of=found[0].of, own=own)


FIGURE = SweepFigure("where-it-ends", select, _rows, declared, _caption)
STUDIES = {"bias-of-absence": FIGURE, "steps-against-staleness": FIGURE}
