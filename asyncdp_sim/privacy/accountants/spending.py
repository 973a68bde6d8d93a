"""The curve of δ over ε of all that each owner released, where answers are composed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from asyncdp_sim.privacy.accountants.by_losses import ByLosses
from asyncdp_sim.privacy.accountants.own import Accountant
from asyncdp_sim.privacy.accountants.several_gradients import gradients_of
from asyncdp_sim.trace import Trace

POINTS = 41
"""Of each curve, from ε = 0 to twice what is spent at δ."""


def spending_columns(accountant: Accountant, traces: Sequence[Trace]) -> dict[str, Any] | None:
    """Return ``spending``: an upper bound on δ at values of ε, sorted by owner and ε.

    Of the replicate in which the owner released the most answers.

    Returns
    -------
    dict or None
        None where answers are not composed by their losses. Owners without noise, and those that
        released nothing, have no rows.
    """
    single, each = gradients_of(accountant)
    if not isinstance(single, ByLosses):
        return None
    most = np.max([trace.released for trace in traces], axis=0)

    curves: dict[tuple[float, int], list[tuple[float, float]]] = {}
    rows: list[tuple[int, int, float, float]] = []
    for owner, key in enumerate(zip(single.charges.tolist(), most.tolist(), strict=True)):
        charge, count = key
        if count > 0 and np.isfinite(charge):
            if key not in curves:  # owners of one charge and count have one curve
                curves[key] = _curve(single, owner, each * count)
            rows += [(owner + 1, count, *point) for point in curves[key]]
    owners, answers, epsilon, delta = zip(*rows, strict=True) if len(rows) > 0 else ((),) * 4
    return {
        "owner": np.array(owners, dtype=np.int32),
        "answers": np.array(answers, dtype=np.int32),
        "epsilon": np.array(epsilon, dtype=np.float64),
        "delta": np.array(delta, dtype=np.float64),
    }


def _curve(accountant: ByLosses, owner: int, count: int) -> list[tuple[float, float]]:
    """Return ε and δ of so many gradients."""
    small, large = (accountant.losses(owner, count, tilted=tilted) for tilted in (True, False))
    most = min(2 * small.epsilon(accountant.delta / accountant.sharers), small.pure)
    return [(e, min(small.delta(e), large.delta(e))) for e in np.linspace(0, most, POINTS).tolist()]
