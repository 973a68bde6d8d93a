"""Numbers of a page: key numbers of a run, cells of a sweep, and the privacy of each owner."""

from math import isfinite, isnan, nan
from typing import Any

import numpy as np

from asyncdp_sim.columns import flat
from asyncdp_sim.columns import summary as dictionary
from asyncdp_sim.core.arrays import Array
from asyncdp_sim.core.units import unit_of
from asyncdp_sim.core.words import as_float, figure
from asyncdp_sim.figures.kit.outcomes import Estimate, interval, mean_psi_at_end, psi_at_end
from asyncdp_sim.privacy.label import epsilon_words, hidden_unit, label, n_sharers
from asyncdp_sim.results import Result, Sweep
from asyncdp_sim.theory.predict.plain import plain

NONE = "–"
PRIVATE = {True: "yes", False: "NO", None: "not shown"}
FIRST = (
    "psi_final.median", "psi_final.mean", "psi_final.q25", "psi_final.q75", "updates",
    "simulated_time", "throughput",
)  # fmt: skip
"""What comes first; all else comes as the dictionary has it."""
OF_SEVERAL = ("psi_final.mean", "psi_final.q25", "psi_final.q75")
"""Parts that one replicate does not need, because they all equal its median."""
OF_PRIVACY = (
    "private", "epsilon_true", "epsilon_at_least", "delta", "bound_exceeded", "queries_unseen",
    "timing_accounted", "not_for_release",
)  # fmt: skip
"""Text of the section on privacy."""


_OF_PSI = {"psi_final.median": psi_at_end, "psi_final.mean": mean_psi_at_end}
"""Figures with intervals of their own."""


def key_numbers(result: Result) -> list[dict[str, Any]]:
    """Return every number of a summary that is there, the most asked for first.

    Each is measured, with its interval of 95 %, its prediction, whether that lies in the interval
    (None where either is missing) and the formula or why there is none. ``first`` are those to be
    read first: of the model, predicted, or not alike in all replicates.
    """
    summary = flat(result.summary)
    columns = dictionary()
    order = [*FIRST, *(name for name in columns if name not in FIRST)]
    left_out = OF_PRIVACY if len(result.replicates) > 1 else (*OF_PRIVACY, *OF_SEVERAL)
    shown = [name for name in order if summary.get(name) is not None and name not in left_out]
    predicted = {row["quantity"]: row for row in result.manifest.get("predictions", [])}
    return [_figure(result, name, summary[name], predicted.get(name)) for name in shown]


def shown(value: Any) -> str:
    """Return a number in four digits, a text as it is, and a dash for nothing."""
    parsed = as_float(value)
    if parsed is None or isnan(parsed):
        return value if isinstance(value, str) else NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isfinite(parsed) and parsed == int(parsed) and abs(parsed) < 1e9:
        return f"{int(parsed):,}"
    return figure(parsed)


def span(low: float, high: float) -> str:
    """Return the ends of an interval in words; nothing where there is none."""
    return "" if isnan(low) or isnan(high) else f"{shown(low)} to {shown(high)}"


def _figure(result: Result, name: str, value: Any, theory: dict[str, Any] | None) -> dict[str, Any]:
    column = dictionary()[name]
    time_unit = unit_of([result.manifest["scenario"]]) or "time unit"
    ends = Estimate(nan, *interval(result.summary, name))
    if name in _OF_PSI:
        ends = _OF_PSI[name](result)
    least, most = _theory(theory)
    low, high = ends.low, ends.high
    # bounds of a sample that never varied are the value itself, to the last digit
    slack = 1e-9 * max(1.0, abs(low)) if not isnan(low) else 0.0
    sure = not isnan(least) and not isnan(low)
    return dict(
        name=name,
        meaning=column.meaning,
        unit="" if column.unit == "none" else column.unit.replace("time unit", time_unit),
        value=shown(value),
        interval=span(low, high),
        theory=span(least, most) if least < most else "" if isnan(least) else shown(least),
        inside=(low - slack <= most and least <= high + slack) if sure else None,
        why="" if theory is None else plain(str(theory["reason"] or theory["formula"])),
        first=name in FIRST or _of_use(name) or (value != 0 and (not isnan(least) or low < high)),
    )


def _of_use(name: str) -> bool:
    """Return whether a figure is about the model on held-out rows."""
    of_rows = name.startswith("held_out") and name.endswith((".median", "_optimum", "_alone"))
    return of_rows or name.startswith("profits")


def _theory(prediction: dict[str, Any] | None) -> tuple[float, float]:
    """Return what a figure lies between by theory: twice the one value, or NaN where unknown."""
    if prediction is None:
        return nan, nan
    value = as_float(prediction["value"])
    if value is not None:
        return value, value
    low, high = (as_float(prediction.get(end)) for end in ("low", "high"))
    return (nan, nan) if low is None or high is None else (low, high)


MOST_CELLS = 200
"""Cells that are listed."""


def cells(sweep: Sweep) -> dict[str, Any]:
    """Return a row for each finished cell, the first of many; what they vary, and how many are."""
    rows = []
    for cell in sweep.cells[:MOST_CELLS]:
        result = cell.result
        psi, cell_label = psi_at_end(result), label([result.manifest])
        rows.append(
            dict(
                number=cell.number,
                swept=tuple(
                    cell.label([path]).replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
                    for path in sweep.paths
                ),
                psi=shown(psi.value),
                psi_interval=span(psi.low, psi.high),
                throughput=shown(result.summary["throughput"]),
                throughput_interval=span(*interval(result.summary, "throughput")),
                time=shown(result.summary["simulated_time"]),
                private=PRIVATE[cell_label.private],
                epsilon=epsilon_words(result.manifest).removeprefix("true ε "),
            )
        )
    counts = {"count": len(sweep.cells), "missing": len(sweep.missing)}
    return {"paths": sweep.paths, "rows": rows, **counts}


MOST_OWNERS = 200
"""Owners that are listed; of more, those with the largest share of ε spent."""
ENERGY = ["joules", "bytes_sent", "bytes_received"]
"""Columns that are there with ``[energy]`` alone."""
FIRST_OWNERS = 12
"""Number of rows visible at once; the others unfold below."""


def owners(result: Result) -> dict[str, Any]:
    """Return a row for each owner over all replicates, or for those whose budgets are used most.

    A row has the owner's largest charge, and means of its counts. The rows ``first`` are visible at
    once, ``others`` unfold below; ``listed`` of ``count`` owners have a row; ``named`` and
    ``powered`` state whether names and energy have columns, and ``detected`` is what is detected: a
    record, and who holds it, or the owner.
    """
    people = result.participants
    names = people.names if len(people.names) > 0 else ("",) * len(people.numbers)
    epsilon, spent = (result.of_owners(name)[0:] for name in ("epsilon", "epsilon_spent"))
    claimed, charged = epsilon[0].astype(float), spent.astype(float).max(axis=0)
    power = _powers(result, len(charged))
    powered = "joules" in result.names("owners")
    averaged = ["records", "answers_released", "updates", "online_fraction"]
    averaged += ENERGY if powered else []
    means = {name: result.of_owners(name).astype(float).mean(axis=0) for name in averaged}
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.nan_to_num(charged / claimed, nan=0.0, posinf=0.0)
    order = np.arange(len(share))
    if len(order) > MOST_OWNERS:
        order = np.sort(np.argsort(-share, kind="stable")[:MOST_OWNERS])
    rows = [
        dict(
            number=people.numbers[at],
            name=names[at],
            records=shown(means["records"][at]),
            epsilon=shown(claimed[at]),
            spent=shown(charged[at]),
            power=shown(power[at]),
            released=shown(means["answers_released"][at]),
            used=shown(means["updates"][at]),
            online=shown(means["online_fraction"][at]),
            **{
                column: shown(means[name][at]) if powered else ""
                for column, name in zip(("joules", "sent", "heard"), ENERGY, strict=True)
            },
        )
        for at in map(int, order)
    ]
    named = any(row["name"] not in ("", str(row["number"])) for row in rows)
    sharers = n_sharers(result.manifest) - 1
    of_records = hidden_unit(result.manifest) == "record"
    holders = f"and {sharers} other{'s' * (sharers > 1)} hold" if sharers > 0 else "holds"
    return {
        "first": rows[:FIRST_OWNERS],
        "others": rows[FIRST_OWNERS:],
        "listed": len(rows),
        "count": len(share),
        "named": named,
        "powered": powered,
        "detected": f"a given record that the owner {holders}" if of_records else "the owner",
    }


def _powers(result: Result, count: int) -> Array:
    """Return each owner's largest attacker's power; NaN where an older result has none."""
    if "attacker_power" not in result.names("owners"):
        return np.full(count, np.nan)
    return np.asarray(result.of_owners("attacker_power").astype(float).max(axis=0))
