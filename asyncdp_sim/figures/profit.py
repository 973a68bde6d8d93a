"""Each owner's own optimum and the private model: ψ and held-out scores (Async, figure 11)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from asyncdp_sim.core.arrays import Columns
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.axes import (
    BETTER,
    LONGEST_AT_END,
    end_labels,
    key,
    legend,
    log_axis,
)
from asyncdp_sim.figures.convergence import CurveLine, line_keys, line_marks
from asyncdp_sim.figures.outcomes import owner_table
from asyncdp_sim.figures.picture import Picture, label, row_labels
from asyncdp_sim.figures.style import (
    FEW_OWNERS,
    MARKERS,
    THEORY,
    colours,
    owner_ticks,
    panels,
    plain_numbers,
    plain_text,
    style,
)
from asyncdp_sim.measures.scores import SCORES, Score

OWN = r"$\theta_i^*$: the owner alone"
ALONE: dict[str, Any] = {
    "color": THEORY, "marker": "x", "markersize": 6, "markeredgewidth": 1.6, "linestyle": "none",
}  # fmt: skip


def by_owner(lines: Sequence[CurveLine]) -> Picture:
    """Draw ψ(θ_i*) of every owner beside E ψ(θ_L,T), and both models' score on its held-out rows.

    Parameters
    ----------
    lines : sequence of CurveLine
        Results of the same owners that know θ_i* (``run.alone``); at least one. The lower panel
        is left out unless all of them held out rows.

    Raises
    ------
    ResultError
        If a table is absent or damaged.
    """
    results = [line.result for line in lines]
    shades = colours(len(lines))
    n_owners, participants = results[0].n_owners, results[0].participants
    owners = np.arange(1, n_owners + 1)
    alone = results[0].of_owners("psi_alone").mean(axis=0)
    means = [run.mean_psi for run in results]
    both = all("profits_held_out" in run.summary for run in results)
    table: Columns = {
        "line": np.repeat([line.name for line in lines], n_owners),
        **{name: np.tile(values, len(lines)) for name, values in owner_table(participants).items()},
        "records": np.tile(results[0].of_owners("records").mean(axis=0), len(lines)),
        "psi_alone": np.tile(alone, len(lines)),
        "psi_final_mean": np.repeat(means, n_owners),
        **row_labels([[result] for result in results], n_owners),
    }
    with style():
        figure, shown = panels((1.0, 1.0) if both else (1.0,), height=5.2 if both else 3.4)
        top = shown[0]
        log_axis(top)
        top.set_xlim(0.4, n_owners + 0.6)
        top.plot(owners, alone, label="" if both else OWN, **ALONE)
        for mean, shade in zip(means, shades, strict=True):
            top.axhline(mean, color=shade, linewidth=1.3)
        top.set_ylabel(r"$\psi$ on all training rows" + f"\n{BETTER}")
        if both:
            table |= _unseen(shown[1], lines, shades, owners)
        plain_numbers(top)
        for axes in shown:
            axes.grid(axis="y")
        wordy = max(len(line.name) for line in lines) > LONGEST_AT_END
        if len(lines) > 1:
            names = ["" if wordy else line.name for line in lines]
            end_labels(top, means, names, shades, line_marks(len(lines)))
        owner_ticks(shown[-1], "x", participants)
        shown[-1].set_xlabel("owner $i$")
        if n_owners <= FEW_OWNERS:
            run = zip(participants.labels, table["records"], strict=False)
            shown[-1].set_xticks(owners, [f"{plain_text(label)}\n{number(n)}" for label, n in run])
            shown[-1].set_xlabel("owner $i$, with $n_i$ training rows")
        handles, _ = shown[-1].get_legend_handles_labels()
        if not both:
            handles.append(key("private model, mean of replicates", color="#666666", linewidth=1.3))
            handles += line_keys(lines, shades)[0] if wordy else []
        legend(figure, handles, 2)
    gain = [int(np.count_nonzero(alone > mean)) for mean in means]
    caption = (
        "Crosses: the optimum θ_i* of each owner alone. Above: its ψ; lines: ψ of the private "
        "model after the last update, mean over replicates. For owners above a line, the private "
        f"model fits all records better ({', '.join(map(str, gain))} of {n_owners})."
    )
    if both:
        score = headline(results[0].summary)
        better = "above" if score.more_is_better else "below"
        caption += (
            f" Below: {score.words} on each owner's own held-out rows, for the private model "
            "(markers, mean over replicates) and for θ* (dashes). An owner gains by joining if its "
            f"marker lies {better} its cross."
        )
    return Picture("profit", figure, table, caption, label(results))


def _unseen(
    axes: Axes, lines: Sequence[CurveLine], shades: Sequence[str], owners: npt.NDArray[Any]
) -> Columns:
    """Draw the headline score on each owner's own held-out rows; return all values as columns."""
    first = lines[0].result
    score, unit = headline(first.summary), first.manifest.get("target_unit")
    name = f"held_out_{score.name}"
    alone, best = (first.of_owners(f"{name}{end}").mean(axis=0) for end in ("_alone", "_optimum"))
    private = [line.result.of_owners(name).mean(axis=0) for line in lines]
    axes.plot(owners, best, "_", color=THEORY, markersize=11, label="θ*: all, without privacy")
    axes.plot(owners - 0.15, alone, label=OWN, **ALONE)
    for place, (line, shade, values) in enumerate(zip(lines, shades, private, strict=True)):
        at = owners + 0.35 * place / len(lines)
        mark = MARKERS[place % len(MARKERS)]
        text = f"private, {line.name}" if line.name else "private"
        axes.plot(at, values, mark, color=shade, markersize=4, label=text)
    in_units = f" ({unit})" if score.in_units and unit else ""
    better = "(higher is better)" if score.more_is_better else BETTER
    axes.set_ylabel(f"{score.words}{in_units},\nown held-out rows\n{better}")
    return {
        f"{name}_optimum": np.tile(best, len(lines)),
        f"{name}_alone": np.tile(alone, len(lines)),
        name: np.concatenate(private),
    }


def headline(summary: dict[str, Any]) -> Score:
    """Return the first score that a summary has; there is one wherever rows were held out."""
    return next(score for score in SCORES if f"held_out_{score.name}" in summary)
