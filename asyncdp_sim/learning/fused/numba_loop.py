"""The loop of :mod:`.numpy_loop` compiled by numba, where that is installed.

Same operations, same order, no fused multiply-add: same bits.
"""

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any, cast

import numpy as np

from asyncdp_sim.learning.algorithms import Array, Indices
from asyncdp_sim.learning.fused.numpy_loop import Block, Loop, Stack

WORTH = 4_000_000
"""Rows of NumPy's loop that take longer than numba takes to be imported and what it made read."""
_STEP = 60
"""What a step costs beside its rows, in rows."""


def worthwhile(steps: int, rows: int) -> bool:
    """Return whether so many updates of so many replicates of cells repay the compiled loop."""
    if find_spec("numba") is None:
        return False
    return _compiled.cache_info().currsize > 0 or steps * (rows + _STEP) >= WORTH


def advance(stack: Stack, block: Block, *, keep: bool) -> tuple[Array, Array]:
    """Make a block of updates, those of one replicate after another; see :class:`Loop`."""
    loop = _compiled()
    cells, replicates, p = stack.central.shape
    count = block.owners.shape[1]
    went = np.empty((cells, replicates, count, p))
    kept = np.empty((cells, replicates, count if keep else 0, p))
    for cell, place in enumerate(stack.of.tolist()):
        quadratic = stack.quadratics[place]
        loop(
            *(block.owners, block.rows, block.live),
            *(np.ascontiguousarray(x) for x in (quadratic.gram, quadratic.moment)),
            *(stack.scale[cell], stack.step[cell], stack.shrink_copy[cell]),
            *(stack.shrink_central[cell], stack.bound[cell]),
            *(stack.central[cell], stack.copies[cell], stack.clipped[cell], went[cell], kept[cell]),
        )
    return went, kept


LOOP = Loop(advance, rows=12, numbers=2**16)


@cache
def _compiled() -> Callable[..., None]:
    from numba import njit, types  # takes as long as NumPy takes for WORTH

    def given(kind: Any, dimensions: int, layout: str = "C") -> Any:
        return types.Array(kind, dimensions, layout, readonly=True)

    real, whole = types.float64, types.int64
    signature = types.void(
        *(given(whole, 2, "A"), given(real, 3, "A"), given(whole, 1)),
        *(given(real, 3), given(real, 2), given(real, 1), given(real, 1), given(real, 1)),
        *(real, real, real[:, ::1], real[:, :, ::1], whole[::1]),
        *(real[:, :, ::1], real[:, :, ::1]),
    )
    try:
        compiled = njit(signature, cache=True)(advance_cell)
    except RuntimeError:  # nowhere to keep what was compiled
        compiled = njit(signature)(advance_cell)
    return cast("Callable[..., None]", compiled)


def advance_cell(
    owners: Indices,
    rows: Array,
    live: Indices,
    gram: Array,
    moment: Array,
    scale: Array,
    step: Array,
    shrink_copy: Array,
    shrink_central: float,
    bound: float,
    central: Array,
    copies: Array,
    clipped: Indices,
    went: Array,
    kept: Array,
) -> None:
    """Make a block of updates of one cell: what is compiled, arguments as in Block and Stack."""
    p, keep = central.shape[1], kept.shape[1] > 0
    point, total = np.empty(p), np.empty(p)
    for r in range(len(owners)):
        for k in range(live[r]):
            i = owners[r, k]
            for a in range(p):
                point[a] = (copies[r, i, a] + central[r, a]) * 0.5
            for a in range(p):
                total[a] = gram[i, 0, a] * point[0]
            for j in range(1, p):
                for a in range(p):
                    total[a] += gram[i, j, a] * point[j]
            outside = False
            for a in range(p):
                answer = (total[a] - moment[i, a]) * 2.0 + rows[r, k, a] * scale[i]
                copy = shrink_copy[i] * point[a] - answer * step[i]
                middle = shrink_central * point[a]
                outside |= abs(copy) > bound or abs(middle) > bound
                copies[r, i, a] = copy
                central[r, a] = middle
            if outside:
                clipped[r] += 1
                for a in range(p):
                    copy, middle = copies[r, i, a], central[r, a]
                    if abs(copy) > bound:
                        copies[r, i, a] = bound if copy > 0 else -bound
                    if abs(middle) > bound:
                        central[r, a] = bound if middle > 0 else -bound
            for a in range(p):
                went[r, k, a] = central[r, a]
            if keep:
                for a in range(p):
                    kept[r, k, a] = copies[r, i, a]
