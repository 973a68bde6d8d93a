"""The end of learning on a line, each way of it, beside every owner's own optimum."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from asyncdp_sim.figures.kit.picture import Picture, label
from asyncdp_sim.figures.kit.style import THEORY, canvas, colours, style
from asyncdp_sim.results import Result

LINES = ("-", "--", ":")


@dataclass(frozen=True)
class End:
    """Where one way of learning ends.

    Attributes
    ----------
    name : str
    mean : float
        θ, over replicates.
    about : float
        Half the width of its interval.
    exact : float
        What was predicted.
    """

    name: str
    mean: float
    about: float
    exact: float


def where_it_ends(
    ends: Sequence[End],
    marks: Mapping[str, float],
    owners: Sequence[tuple[float, float]],
    results: Sequence[Result],
    *,
    share: str = "how\noften online",
    name: str = "where-it-ends",
) -> Picture:
    """Draw a row for each end, predicted and measured, and upright lines at some values.

    Parameters
    ----------
    ends : sequence of End
    marks : mapping
        Values by name.
    owners : sequence of (float, float)
        Each owner's own optimum, and its share: by default the chance that it is online.
    results : sequence of Result
        What was run.
    share : str
        What the owners' shares are.
    """
    ours, own = colours(2)
    rows = np.arange(len(ends), 0, -1)
    with style():
        figure, axes = canvas(height=2.9)
        for (said, value), line in zip(marks.items(), LINES, strict=False):
            axes.axvline(value, color=THEORY, linestyle=line, linewidth=1.0, label=said)
        exact, mean = [each.exact for each in ends], [each.mean for each in ends]
        axes.plot(exact, rows, "D", color="none", markeredgecolor=THEORY, markersize=9,
                  label="predicted")  # fmt: skip
        axes.errorbar(mean, rows, xerr=[each.about for each in ends], fmt="o", color=ours,
                      markersize=4, capsize=2, label="measured, ± 2 standard errors")  # fmt: skip
        axes.plot([], [], "s", color=own, markersize=6, label="an owner's own optimum")
        for value, chance in owners:
            axes.plot([value], [0], "s", color=own, markersize=4 + 8 * chance)
            axes.annotate(f"{chance:.0%}", (value, 0), (0, -14), textcoords="offset points",
                          ha="center", va="top", fontsize="small")  # fmt: skip
        axes.set_ylim(-0.9, len(ends) + 0.6)
        axes.set_yticks([*rows, 0], [*(each.name for each in ends), f"owners, and {share}"])
        axes.set_xlabel("model $\\theta$")
        figure.legend(loc="outside upper left", ncols=3)
    caption = (
        "Where learning ends by each way of taking answers: predicted (diamonds) and mean over "
        "replicates, beside the optimum of each owner alone, the larger the larger its share. "
        f"Upright lines: {', '.join(marks)}."
    )
    table = {
        "end": np.array([each.name for each in ends]),
        "mean": np.array(mean),
        "two_standard_errors": np.array([each.about for each in ends]),
        "predicted": np.array(exact),
    }
    return Picture(name, figure, table, caption, label(list(results)))


__all__ = ["End", "where_it_ends"]
