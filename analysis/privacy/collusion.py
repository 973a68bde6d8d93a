"""Collusion: errors of colluding parties' estimates of an owner, against its ε."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis.privacy.recovered import advantage_bound, averaging_advantage
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.kit.axes import key, legend, log_axis, looks
from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import BAND, THEORY, canvas, colours, small_panels, style
from asyncdp_sim.results import Result

Array = npt.NDArray[np.float64]
MOST_ANSWERS = 1000
BEHIND = 10.0  # of the largest finite ε, where ∞ stands


@dataclass(frozen=True)
class Learned:
    """Estimates of an owner's gradients in one run or several of the same scenario.

    Attributes
    ----------
    name : str
        Of the line.
    epsilon : float
        The owner's ε, over all of its answers.
    answers : float
        How many of its answers are known, in the mean.
    single, mean : float
        Error of one gradient that was worked out, and of the mean of all, in root mean square
        relative to a gradient's size.
    noise, averaged_noise : float
        What both should be by the noise alone.
    """

    name: str
    epsilon: float
    answers: float
    single: float
    mean: float
    noise: float
    averaged_noise: float


def by_epsilon(rows: Sequence[Learned], results: Sequence[Result]) -> Picture:
    """Draw errors of single gradients, and of the mean of a run's, against ε.

    Parameters
    ----------
    rows : sequence of Learned
    results : sequence of Result
        The runs, for their label.
    """
    names = list(dict.fromkeys(row.name for row in rows))
    lines = dict(zip(names, looks(len(names), markersize=4.5), strict=True))
    with style():
        figure, panels = small_panels(2, 1.6)
        for axes, measured, theory, said in (
            (panels[0], "single", "noise", "error of one gradient\n(relative to it)"),
            (
                panels[1],
                "mean",
                "averaged_noise",
                "error of their mean over a run\n(relative to it)",
            ),
        ):
            for name, look in lines.items():
                line = sorted((r for r in rows if r.name == name), key=lambda row: row.epsilon)
                _draw(axes, line, measured, theory, look)
            axes.axhline(1.0, color=BAND, linestyle=":", linewidth=1.0, zorder=0)
            _exact(axes, rows, measured)
            axes.set_ylabel(said)
        _scale(panels, rows)
        keys = [key(name, linewidth=0.9, **look) for name, look in lines.items()]
        rule = key(
            "error as large as a gradient: nothing is known",
            color=BAND,
            linestyle=":",
            linewidth=1.0,
        )
        legend(figure, [*keys, rule], 2)
    caption = (
        "What the other owners know of the gradients of the owner that is the learner, from the "
        "queries that they are sent: root mean square error relative to a gradient, of one "
        "gradient (left) and of the mean of all that are worked out in a run (right). Markers: "
        "recovered from the runs; lines: by its noise alone. Arrows at ε = ∞: what rounding leaves "
        "is far below the frame, in the words there and in the table."
    )
    fields = {name: np.array([getattr(row, name) for row in rows]) for name in _COLUMNS}
    return Picture("collusion", figure, fields, caption, label(results))


_COLUMNS = ("name", "epsilon", "answers", "single", "noise", "mean", "averaged_noise")


def averaging(epsilons: Sequence[float], results: Sequence[Result]) -> Picture:
    """Draw how well averaging K answers tells a record, against K, and what ε allows any test."""
    counts = np.unique(np.geomspace(1, MOST_ANSWERS, 40).astype(int))
    shades = colours(len(epsilons))
    table: dict[str, npt.NDArray[Any]] = {"answers": counts}
    with style():
        figure, axes = canvas(height=3.4)
        for epsilon, shade in zip(epsilons, shades, strict=True):
            found = np.array([averaging_advantage(epsilon, int(count)) for count in counts])
            axes.plot(counts, found, color=shade)
            axes.axhline(advantage_bound(epsilon), color=shade, linestyle="--", linewidth=0.9)
            table |= {f"advantage_{epsilon:g}": found}
            table |= {f"bound_{epsilon:g}": np.full(len(counts), advantage_bound(epsilon))}
        log_axis(axes, "xy")
        axes.set_xlim(1, MOST_ANSWERS)
        axes.set_xlabel("answers $K$ that share the budget $\\epsilon$, all seen")
        axes.set_ylabel("the test's advantage\n(true − false positive rate)")
        axes.grid(axis="y")
        keys = [
            key(f"ε = {number(epsilon)}", color=shade)
            for epsilon, shade in zip(epsilons, shades, strict=True)
        ]
        keys.append(key("most that any test can have", color=THEORY, linestyle="--", linewidth=0.9))
        legend(figure, keys, 6)
    caption = (
        "How well the mean of an owner's K answers tells whether one record was replaced, in the "
        "worst case, if noise is scaled for K answers (lines), and the most that any test can do "
        "with them whoever colludes, tanh(ε/2) (dashed)."
    )
    return Picture("averaging", figure, table, caption, label(results))


def _draw(
    axes: Axes, line: Sequence[Learned], measured: str, theory: str, look: dict[str, Any]
) -> None:
    """Draw one line: markers where measured, the line where noise says what to expect."""
    x, finite = _places(line), np.array([np.isfinite(row.epsilon) for row in line])
    found = np.array([getattr(row, measured) for row in line])
    expected = np.array([getattr(row, theory) for row in line])
    noisy = expected > 0
    axes.plot(x[finite], found[finite], linestyle="none", **look)
    if not finite.all():
        foot = axes.get_xaxis_transform()
        axes.plot(
            x[~finite], np.zeros(int((~finite).sum())), linestyle="none", transform=foot,
            clip_on=False, **(look | {"marker": "v"}),
        )  # fmt: skip
    axes.plot(x[noisy], expected[noisy], color=look["color"], linewidth=0.9)


def _places(rows: Sequence[Learned]) -> Array:
    """Return where budgets stand on the axis, ∞ behind the largest finite one."""
    epsilon = np.array([row.epsilon for row in rows])
    finite = epsilon[np.isfinite(epsilon)]
    return np.where(np.isfinite(epsilon), epsilon, BEHIND * finite.max(initial=1.0))


def _exact(axes: Axes, rows: Sequence[Learned], measured: str) -> None:
    """Say above ∞ what rounding leaves: drawn to scale, it would squeeze all else."""
    exact = np.isinf([row.epsilon for row in rows])
    errors = np.array([getattr(row, measured) for row in rows])[exact]
    errors = errors[np.isfinite(errors)]
    if len(errors) > 0:
        axes.text(
            _places(rows)[exact][0], 0.08, f"rounding alone: at most {errors.max():.0e}",
            transform=axes.get_xaxis_transform(), rotation=90, ha="center", va="bottom",
            fontsize=7,
        )  # fmt: skip


def _scale(panels: Sequence[Axes], rows: Sequence[Learned]) -> None:
    """Put both panels on the same logarithmic axes, with ∞ at the right end."""
    names = {
        place: number(row.epsilon) for row, place in zip(rows, _places(rows).tolist(), strict=True)
    }
    for axes in panels:
        log_axis(axes, "xy")
        axes.xaxis.set_major_locator(FixedLocator(sorted(names)))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda place, _: names.get(place, "")))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(axis="y")
        axes.set_xlabel("$\\epsilon$ of the owner that is the learner")
    low = min(axes.get_ylim()[0] for axes in panels)
    high = max(axes.get_ylim()[1] for axes in panels)
    for axes in panels:
        axes.set_ylim(low, high)
