"""The privacy label: on every figure, in words that cannot be missed."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from analysis.source import Result
from analysis.style import VERMILION
from analysis.words import MOST_NUMBERS, as_float, number, numbers

POINTS = 7.0
LONGEST = 100  # characters of a reason
LISTED = 3  # reasons
_MARK = "not private: "


@dataclass(frozen=True)
class Label:
    """What a figure says about privacy.

    Attributes
    ----------
    text : str
    private : bool
        Whether every run shown is private as it claims.
    """

    text: str
    private: bool


def label(results: Sequence[Result]) -> Label:
    """Return the label of a figure that shows these results (at least one)."""
    broken = [result for result in results if result.summary.get("private") is not True]
    claims = [_claimed(result) for result in results]
    epsilon = f"ε = {numbers(claims)} per owner over the run"
    deltas = [as_float(result.scenario["privacy"].get("delta")) for result in results]
    known = [delta for delta in deltas if delta is not None]
    if known:
        epsilon += f", δ = {numbers(known)}"
    if broken:
        count = "all" if len(broken) == len(results) else f"{len(broken)} of"
        where = f" in {count} {len(results)} cells" if len(results) > 1 else ""
        said = [f"NOT PRIVATE as claimed ({epsilon}){where}: {reasons(broken)}."]
    else:
        said = [f"Private as claimed: {epsilon}{_assumption(results)}."]
    said += _true_epsilon(results, claims)
    if any(result.summary.get("timing_accounted") is False for result in results):
        said.append("Timing not accounted.")
    if any(result.summary.get("not_for_release") is not False for result in results):
        said.append("NOT FOR RELEASE: private records were read.")
    return Label(" ".join(said), not broken)


def reasons(results: Sequence[Result]) -> str:
    """Return why these runs are not private: each warning's words up to its first colon."""
    said = [w.removeprefix(_MARK) for result in results for w in result.warnings if _MARK in w]
    heads = list(dict.fromkeys(reason.partition(": ")[0] for reason in said))
    if len(heads) == 0:
        return "the manifest gives no reason"
    more = [f"and {len(heads) - LISTED} more"] if len(heads) > LISTED else []
    return "; ".join([textwrap.shorten(head, LONGEST) for head in heads[:LISTED]] + more)


def put(figure: Figure, said: Label) -> None:
    """Write a label under the axes; the layout makes room for it."""
    points = 72 * figure.get_figwidth()
    text = textwrap.fill(said.text, width=int(points / (0.55 * POINTS)))
    figure.supxlabel(
        text, x=0.01, ha="left", fontsize=POINTS, color="#444444" if said.private else VERMILION
    )


def _true_epsilon(results: Sequence[Result], claims: Sequence[float]) -> list[str]:
    """Return the sentence on the true ε, in the claims' order, where any differs from its claim."""
    true = [as_float(result.summary.get("epsilon_true")) for result in results]
    pairs = [(c, t) for c, t in zip(claims, true, strict=True) if t is not None]
    if all(claim == given for claim, given in pairs):
        return []
    largest = {c: max(t for other, t in pairs if other == c) for c in sorted(dict(pairs))}
    values = list(largest.values())
    if len(values) == 1 or len(values) > MOST_NUMBERS or len(set(values)) == 1:
        return [f"True ε = {numbers(t for _, t in pairs)}."]
    return [f"True ε = {', '.join(map(number, values))}, respectively."]


def _claimed(result: Result) -> float:
    """Return the largest ε that the scenario claims; ∞ where it claims none."""
    given = result.scenario["privacy"].get("epsilon")
    listed = given if isinstance(given, list) else [given]
    known = [value for value in map(as_float, listed) if value is not None]
    return max(known) if known else float("inf")


def _assumption(results: Sequence[Result]) -> str:
    sensitivities = [r.scenario["privacy"].get("sensitivity") or {} for r in results]
    bounds = {float(s["bound"]) for s in sensitivities if s.get("kind") == "declared"}
    return f", if the declared bound Ξ = {numbers(bounds)} holds" if bounds else ""
