"""Each owner's gain by joining, with its interval: ψ, and held-out rows (Async, figure 11).

Owners are in the order of their gains, so that one sees who gains and by how much.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from asyncdp_sim.core.arrays import Array, Columns, Ints
from asyncdp_sim.core.words import number
from asyncdp_sim.figures.convergence import CurveLine
from asyncdp_sim.figures.kit.drawer import Declaration, Layer, Panel, Side, draw, measured, wrapped
from asyncdp_sim.figures.kit.outcomes import mean_of, mean_psi_at_end, owner_table
from asyncdp_sim.figures.kit.picture import Picture, label, row_labels
from asyncdp_sim.figures.kit.style import FEW_OWNERS, THEORY, looks, plain_text
from asyncdp_sim.measures.scores import SCORES, Score

ASIDE = 0.4  # from the first line's marker to the last, in owners
ENDS = ("_alone", "_optimum", "")
"""Of columns: of the owner's own model, of θ* and of the private one."""
EVEN: dict[str, Any] = {"color": THEORY, "linewidth": 0.8}
BEST: dict[str, Any] = {"marker": "_", "color": THEORY, "markersize": 9, "linestyle": "none"}


def by_owner(lines: Sequence[CurveLine]) -> Picture:
    """Draw ψ(θ_i*) over E ψ(θ_L,T), and by how much the score on an owner's rows gets better.

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
    n_owners, participants = results[0].n_owners, results[0].participants
    alone = results[0].of_owners("psi_alone").mean(axis=0)
    records = results[0].of_owners("records").mean(axis=0)
    psi = np.array([mean_psi_at_end(result) for result in results])
    both = all("profits_held_out" in result.summary for result in results)
    table: Columns = {
        "line": np.repeat([line.name for line in lines], n_owners),
        **{name: np.tile(values, len(lines)) for name, values in owner_table(participants).items()},
        "records": np.tile(records, len(lines)),
        "psi_alone": np.tile(alone, len(lines)),
        "psi_final_mean": np.repeat(psi[:, 0], n_owners),
        **row_labels([[result] for result in results], n_owners),
    }
    ratio = np.array([alone / each[[0, 2, 1]][:, None] for each in psi])  # of the upper ψ: the low
    said = "$\\psi$ of own model\nover that of the joint one\n(above 1: gains)"
    gains, sides, caption = [ratio], [Side(said, log=True, grid=True)], ""
    best = None
    if both:
        score, unit = headline(results[0].summary), results[0].manifest.get("target_unit")
        scored = _scored(lines, score)
        table |= {name: column for name, (column, _) in scored.items()}
        own, optimum, joint = (scored[f"held_out_{score.name}{end}"][1] for end in ENDS)
        if score.more_is_better:
            gains.append(joint - own)
            best = (optimum - own)[0, 0]
        else:
            gains.append((own - joint)[:, [0, 2, 1]])  # the upper end of an error: the least gain
            best = (own - optimum)[0, 0]
        in_units = f" ({unit})" if score.in_units and unit else ""
        sides.append(Side(f"{score.words}{in_units},\nown held-out rows:\nbetter by", grid=True))
        caption = (
            f" Below: by how much the {score.words} on an owner's own held-out rows is better with "
            "the private model than with θ_i*, and with θ* (dashes). Owners gain above 0."
        )
    order = np.argsort(-gains[-1][0, 0], kind="stable")
    marks = [
        [Layer("level", y=even, look=EVEN), *_marks(lines, each[:, :, order])]
        for each, even in zip(gains, (1.0, 0.0), strict=False)
    ]
    if best is not None:
        at, named = np.arange(1, n_owners + 1), "θ*: all, without privacy"
        marks[-1].append(Layer("line", at, best[order], name=named, look=BEST))
    people = _people(results[0].participants.labels, records, order)
    below = [Side(limits=people.limits)] * (len(gains) - 1) + [people]
    panels = [Panel(*each) for each in zip(marks, below, sides, strict=True)]
    counts = [int(np.count_nonzero(each[0] > (0.0 if both else 1.0))) for each in gains[-1]]
    title = wrapped(f"Better by joining: {_counted(lines, counts)} of {n_owners} owners")
    figure = draw(
        Declaration(
            panels, (6.5, 5.0 if both else 3.4), title, heights=[1.0] * len(panels), columns=2
        )
    )
    gain = [int(np.count_nonzero(alone > mean)) for mean in psi[:, 0]]
    caption = (
        "Each owner's gain by joining, in the order of the first line's gains; error bars: 95 % "
        "intervals over replicates. Above: ψ of the optimum θ_i* of the owner alone over ψ of the "
        "private model after the last update, mean over replicates; above 1 the private model fits "
        f"all records better ({', '.join(map(str, gain))} of {n_owners}).{caption}"
    )
    return Picture("profit", figure, table, caption, label(results))


def _marks(lines: Sequence[CurveLine], gains: Array) -> list[Layer]:
    """Return each line's gains, shape (L, 3, N), beside one another."""
    at = np.arange(1, gains.shape[2] + 1)
    size = float(np.clip(90 / gains.shape[2], 2.0, 5.0))
    return [
        measured(
            at + ASIDE * (place / max(1, len(lines) - 1) - 0.5) * (len(lines) > 1), values,
            name=f"private, {line.name}" if line.name else "private", linestyle="none",
            **look, markersize=size,
        )
        for place, (line, values, look) in enumerate(
            zip(lines, gains, looks(len(lines)), strict=True)
        )
    ]  # fmt: skip


def _people(names: Sequence[str], records: Array, order: Ints) -> Side:
    """Return the owners' axis: of a few each with its name and records, of many without ticks."""
    limits = (0.4, len(names) + 0.6)
    if len(names) > FEW_OWNERS:
        return Side("owner $i$, by its gain", limits=limits, ticks=(), labels=())
    said = [f"{plain_text(names[place])}\n{number(records[place])}" for place in order]
    name = "owner $i$, by its gain, with $n_i$ training rows"
    return Side(name, limits=limits, ticks=range(1, len(names) + 1), labels=said)


def _counted(lines: Sequence[CurveLine], counts: Sequence[int]) -> str:
    pairs = zip(lines, counts, strict=True)
    return ", ".join(f"{count} ({line.name})" if line.name else str(count) for line, count in pairs)


def _scored(lines: Sequence[CurveLine], score: Score) -> dict[str, tuple[Array, Array]]:
    """Return the score on own held-out rows: of θ*, θ_i* and the private model.

    By the names of columns: what the table has, and values, shape (1, 1, N), of the private model
    the means with their ends, (L, 3, N).
    """
    name, first = f"held_out_{score.name}", lines[0].result
    found: dict[str, tuple[Array, Array]] = {}
    for end in ("_optimum", "_alone"):
        values = first.of_owners(f"{name}{end}").mean(axis=0)
        found[f"{name}{end}"] = np.tile(values, len(lines)), values[None, None]
    each = [[mean_of(own) for own in line.result.of_owners(name).T] for line in lines]
    means = np.array(each).transpose(0, 2, 1)
    found[name] = means[:, 0].ravel(), means
    return found


def headline(summary: dict[str, Any]) -> Score:
    """Return the first score that a summary has; there is one wherever rows were held out."""
    return next(score for score in SCORES if f"held_out_{score.name}" in summary)
