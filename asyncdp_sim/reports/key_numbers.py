"""Key numbers of a run, each with its interval, what theory says of it, and what it means."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, isnan, nan
from typing import Any

from asyncdp_sim.columns import summary as dictionary
from asyncdp_sim.figures.kit.outcomes import Estimate, interval, mean_psi_at_end, psi_at_end
from asyncdp_sim.figures.kit.source import Result
from asyncdp_sim.words import as_float, figure

NONE = "–"
FIRST = (
    "psi_final.median", "psi_final.mean", "psi_final.q25", "psi_final.q75", "updates",
    "simulated_time", "throughput",
)  # fmt: skip
"""What comes first; all else comes as the dictionary has it."""
OF_SEVERAL = ("psi_final.mean", "psi_final.q25", "psi_final.q75")
"""What one replicate alone says no more with: its median is all of these."""
OF_PRIVACY = (
    "private", "epsilon_true", "epsilon_at_least", "delta", "bound_exceeded", "queries_unseen",
    "timing_accounted", "not_for_release",
)  # fmt: skip
"""What the part on privacy says."""


@dataclass(frozen=True)
class KeyNumber:
    """One number.

    Attributes
    ----------
    name, meaning, unit : str
        As the dictionary of columns has them.
    value, interval : str
        Measured; the interval of 95 %, empty where there is none.
    theory : str
        Its prediction, empty where none holds.
    inside : bool or None
        Whether the prediction lies in the interval; None where either is missing.
    why : str
        The formula, or why there is none; empty where nobody predicts it.
    first : bool
        Whether it is among those to be read first: of the model, predicted, or not alike in all
        replicates.
    """

    name: str
    meaning: str
    unit: str
    value: str
    interval: str
    theory: str
    inside: bool | None
    why: str
    first: bool


def key_numbers(result: Result) -> list[KeyNumber]:
    """Return every number of a summary that is there, the most asked for first."""
    said = dict(flat(result.summary))
    known = dictionary()
    order = [*FIRST, *(name for name in known if name not in FIRST)]
    left_out = OF_PRIVACY if len(result.replicates) > 1 else (*OF_PRIVACY, *OF_SEVERAL)
    shown = [name for name in order if said.get(name) is not None and name not in left_out]
    predicted = {each["quantity"]: each for each in result.manifest.get("predictions", [])}
    return [_figure(result, name, said[name], predicted.get(name)) for name in shown]


def flat(summary: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the figures of a summary by their dotted names; intervals are none of them."""
    for name, value in summary.items():
        if isinstance(value, dict):
            if name != "intervals":
                yield from ((f"{name}.{inner}", each) for inner, each in value.items())
        else:
            yield name, value


def shown(value: Any) -> str:
    """Return a number in four digits, a text as it is, and a dash for nothing."""
    found = as_float(value)
    if found is None or isnan(found):
        return value if isinstance(value, str) else NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isfinite(found) and found == int(found) and abs(found) < 1e9:
        return f"{int(found):,}"
    return figure(found)


def span(low: float, high: float) -> str:
    """Return the ends of an interval in words; nothing where there is none."""
    return "" if isnan(low) or isnan(high) else f"{shown(low)} to {shown(high)}"


def _figure(result: Result, name: str, value: Any, theory: dict[str, Any] | None) -> KeyNumber:
    column = dictionary()[name]
    found = _interval(result, name)
    least, most = _theory(theory)
    low, high = found.low, found.high
    # bounds of a sample that never varied are the value itself, to the last digit
    slack = 1e-9 * max(1.0, abs(low)) if not isnan(low) else 0.0
    sure = not isnan(least) and not isnan(low)
    return KeyNumber(
        name=name,
        meaning=column.meaning,
        unit="" if column.unit == "none" else column.unit,
        value=shown(value),
        interval=span(low, high),
        theory=span(least, most) if least < most else "" if isnan(least) else shown(least),
        inside=(low - slack <= most and least <= high + slack) if sure else None,
        why="" if theory is None else str(theory["reason"] or theory["formula"]),
        first=name in FIRST or _of_use(name) or (value != 0 and (not isnan(least) or low < high)),
    )


def _theory(prediction: dict[str, Any] | None) -> tuple[float, float]:
    """Return what a figure lies between by theory: twice the one value, or NaN where unknown."""
    if prediction is None:
        return nan, nan
    value = as_float(prediction["value"])
    if value is not None:
        return value, value
    low, high = (as_float(prediction.get(each)) for each in ("low", "high"))
    return (nan, nan) if low is None or high is None else (low, high)


def _of_use(name: str) -> bool:
    """Return whether it says what the model is worth on rows that nobody trained on."""
    of_rows = name.startswith("held_out") and name.endswith((".median", "_optimum", "_alone"))
    return of_rows or name.startswith("profits")


def _interval(result: Result, name: str) -> Estimate:
    """Return the 95 % interval of a figure; NaN where it has none."""
    if name == "psi_final.median":
        return psi_at_end(result)
    if name == "psi_final.mean":
        return mean_psi_at_end(result)
    return Estimate(float("nan"), *interval(result.summary, name))
