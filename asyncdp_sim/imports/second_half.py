"""The second half of a measured trace, as it was and as the first half foretells it."""

from collections.abc import Sequence

import numpy as np

from asyncdp_sim.imports.exchanges import MeasuredTrace
from asyncdp_sim.trace import Trace
from asyncdp_sim.words import aligned, number


def compared(
    simulated: Sequence[Trace],
    trace: MeasuredTrace,
    second: MeasuredTrace,
    middle: float,
    ended: float,
) -> list[str]:
    """Return the second half as it was and as the first half predicts it, with ratios."""
    applied = [each.updates for each in simulated]
    ends = trace.end[trace.heard]
    within = ends > middle
    owner = trace.owner[trace.heard][within]
    rows: list[tuple[str, float, list[float]]] = [
        (
            "throughput",
            within.sum() / (ended - middle),
            [len(u) / (ended - middle) for u in applied],
        ),
        (
            "mean staleness",
            float(second.staleness.mean()),
            [float(u["staleness"].mean()) if len(u) > 0 else 0.0 for u in applied],
        ),
    ]
    shown = np.argsort(-np.bincount(owner, minlength=len(trace.names)), kind="stable")
    for i in shown[[0, -1]] if len(shown) > 1 else ():
        rows.append(
            (
                f"share of {trace.names[i]}",
                float((owner == i).mean()),
                [float((u["owner"] == i + 1).mean()) if len(u) > 0 else 0.0 for u in applied],
            )
        )
    table = [("second half", "measured", "predicted", "± in a half", "ratio")]
    for name, was, drawn in rows:
        ratio = "" if was == 0 else f"{np.mean(drawn) / was:.3f}"
        cells = number(was), number(float(np.mean(drawn))), number(float(np.std(drawn, ddof=1)))
        table.append((name, *cells, ratio))
    measured = np.bincount(owner, minlength=len(trace.names)) / max(len(owner), 1)
    foretold = np.mean(
        [np.bincount(u["owner"] - 1, minlength=len(measured)) / max(len(u), 1) for u in applied],
        axis=0,
    )
    apart = f"shares: {np.abs(measured - foretold).sum() / 2:.4f} apart in total variation"
    return ["the first half, fitted, predicts the second:", *aligned(table), apart]
