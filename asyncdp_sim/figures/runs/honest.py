"""Pictures that tell what ψ alone hides: held-out rows, owners alone, and what ψ is made of."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from asyncdp_sim.figures.kit.picture import Planned
from asyncdp_sim.figures.runs import errors, held_out, profit, psi_split
from asyncdp_sim.figures.runs.convergence import CurveLine


def figures(lines: Sequence[CurveLine], notes: list[str]) -> list[Planned]:
    """Return pictures of what the results know of all this; say in ``notes`` which are left out.

    Parameters
    ----------
    lines : sequence of CurveLine
    notes : list of str
        Grows.

    Raises
    ------
    ResultError
        If a table is absent or damaged.
    """
    moved = [line for line in lines if line.result.summary["updates"] > 0]
    finite = [line for line in moved if line.result.mean_psi < np.inf]
    above_zero = [line for line in finite if line.result.mean_psi > 0]
    found = []
    still = "nothing was updated"
    same, others = _of_the_same_owners(finite), "one owner, other owners, or ψ infinite"
    for name, key, figure, able, why in (
        ("held-out", "held_out_final", held_out.curves, moved, still),
        ("profit", "profits_psi", profit.by_owner, same, others),
        ("errors", "profits_held_out", errors.by_owner, same, others),
        ("parts", "psi_split", psi_split.stacked, above_zero, f"ψ is infinite or 0, or {still}"),
    ):
        asked = [line for line in lines if key in line.result.summary]
        known = [line for line in able if key in line.result.summary]
        if len(known) > 0:
            found.append(Planned(partial(figure, known), [line.result for line in known]))
        if len(known) < len(asked):
            left = len(asked) - len(known)
            notes.append(f"{left} of {len(asked)} results in {name}: {why}")
    return found


def _of_the_same_owners(lines: Sequence[CurveLine]) -> list[CurveLine]:
    """Return the lines whose owners alone are those of the first that knows them; two or more."""
    known = [line for line in lines if "profits_psi" in line.result.summary]
    alone = [line.result.of_owners("psi_alone")[0] for line in known]
    return [
        line
        for line, values in zip(known, alone, strict=True)
        if len(values) > 1 and np.array_equal(values, alone[0])
    ]
