"""The privacy label of results: made from manifests, the same words wherever results go."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from math import inf, isclose
from typing import Any

from asyncdp_sim.privacy.copies import OwnLearner
from asyncdp_sim.words import MOST_NUMBERS, as_float, number, numbers

Manifest = Mapping[str, Any]
LONGEST = 100  # characters of a reason
LISTED = 3  # reasons
_SAME = 1e-5  # relative difference below which an ε is not another one
_BROKEN = "not private: "
_UNTIMED = "timing not accounted: "
_NOISE = {
    "laplace": "Laplace",
    "gaussian": "Gaussian",
    "discrete-laplace": "discrete Laplace",
}


@dataclass(frozen=True)
class Label:
    """What is said of the privacy of one result, or of several that are shown together.

    Attributes
    ----------
    text : str
        All of it, in sentences.
    private : bool
        Whether every one is private as it claims.
    epsilon_true : float
        The largest ε that the noise really gives; ∞ where there is none.
    delta : float, optional
        The largest δ at which an ε is stated, 0 of pure guarantees; None where nothing is hidden.
    timing_accounted : bool
        Whether when and whether owners answer is known to tell nothing of records, or is paid for.
    not_for_release : bool
        Whether private records of a real file were read.
    """

    text: str
    private: bool
    epsilon_true: float
    delta: float | None
    timing_accounted: bool
    not_for_release: bool

    def values(self) -> dict[str, Any]:
        """Return all but the text, by name: columns that a table can carry."""
        return {each.name: getattr(self, each.name) for each in fields(self)[1:]}

    def metadata(self) -> dict[str, str]:
        """Return all of it as texts, under the keys of a Parquet file's metadata."""
        said = {"label": self.text} | {
            name: "none" if value is None else str(value).lower()
            for name, value in self.values().items()
        }
        return {f"asyncdp.{name}": value for name, value in said.items()}

    def metadata_of_network(self) -> dict[str, str]:
        """Return what a table of order and times says, which no choice of learning may change."""
        return network_metadata(timing_accounted=self.timing_accounted)


def network_metadata(*, timing_accounted: bool) -> dict[str, str]:
    """Return the metadata of a table of order and times alone, whatever is learned from it."""
    timed = "" if timing_accounted else " TIMING NOT ACCOUNTED."
    return {
        "asyncdp.label": f"Order and times alone; the manifest says what is private.{timed}",
        "asyncdp.timing_accounted": str(timing_accounted).lower(),
    }


def label(manifests: Sequence[Manifest]) -> Label:
    """Return the label of what shows these results.

    What a manifest does not say is taken for the worse.

    Parameters
    ----------
    manifests : sequence of mapping
        With ``scenario``, ``summary`` and ``warnings``; at least one.
    """
    broken = [each for each in manifests if not _private(each)]
    if broken:
        count = "all" if len(broken) == len(manifests) else f"{len(broken)} of"
        where = f" in {count} {len(manifests)} cells" if len(manifests) > 1 else ""
        said = [f"NOT PRIVATE as claimed ({_claim(manifests)}){where}: {_short(broken)}."]
    else:
        said = [f"Private as claimed: {_claim(manifests)}{_assumption(manifests)}."]
    said += _true_epsilons(manifests)
    units = list(dict.fromkeys(unit for each in manifests if (unit := record_unit(each))))
    said += [f"{unit[0].upper()}{unit[1:]}." for unit in units]
    untimed = [each for each in manifests if not _timed(each)]
    if untimed:
        why = list(dict.fromkeys(reason for each in untimed for reason in timing_reasons(each)))
        said.append(f"TIMING NOT ACCOUNTED: {_cut(why)}.")
    unreleasable = any(_of(each, "not_for_release") is not False for each in manifests)
    if unreleasable:
        said.append("NOT FOR RELEASE: private records were read.")
    deltas = [delta for each in manifests if (delta := stated_delta(each)) is not None]
    return Label(
        text=" ".join(said),
        private=len(broken) == 0,
        epsilon_true=max(_true_epsilon(each) for each in manifests),
        delta=max(deltas) if deltas else None,
        timing_accounted=len(untimed) == 0,
        not_for_release=unreleasable,
    )


def named_guarantee(manifests: Sequence[Manifest]) -> str:
    """Return what is guaranteed in a few words, such as ``(ε, 1e-06)-DP, Gaussian noise``."""
    if not all(map(_private, manifests)):
        low, high = (number(end(map(_true_epsilon, manifests))) for end in (min, max))
        return f"NOT PRIVATE as claimed, true ε = {low if low == high else f'{low} to {high}'}"
    deltas = sorted({stated_delta(each) or 0.0 for each in manifests})
    kinds = [f"(ε, {number(d)})-DP" if d > 0 else "ε-DP, pure" for d in deltas]
    names = dict.fromkeys(_NOISE.get(_mechanism(each), "no") for each in manifests)
    return f"{' or '.join(kinds)}, {' or '.join(names)} noise"


def reasons(manifest: Manifest) -> list[str]:
    """Return why a result is not private as claimed, in full; nothing where it is."""
    found = _after(_BROKEN, manifest)
    return found if found or _private(manifest) else ["the manifest gives no reason"]


def timing_reasons(manifest: Manifest) -> list[str]:
    """Return why its timing is not accounted, in full; nothing where it is."""
    found = _after(_UNTIMED, manifest)
    return found if found or _timed(manifest) else ["the manifest gives no reason"]


def stated_delta(manifest: Manifest) -> float | None:
    """Return δ at which ε is stated, 0 of pure guarantees; None where nothing is hidden."""
    if "delta" in manifest["summary"]:
        return as_float(_of(manifest, "delta"))
    mechanism = _mechanism(manifest)  # older than the summary's delta
    if mechanism == "none":
        return None
    return as_float(manifest["scenario"]["privacy"].get("delta")) if mechanism == "gaussian" else 0


def record_unit(manifest: Manifest) -> str | None:
    """Return that persons may have several records, where a column says whose a record is."""
    data = manifest["scenario"].get("data") or {}
    split = data.get("split")
    column = data.get("owner_column") or (split.get("column") if isinstance(split, dict) else None)
    if column is None:
        return None
    grows = " and a larger δ" if (stated_delta(manifest) or 0) > 0 else ""
    return f"the unit is a record: a person with m records gets mε{grows}"


def _of(manifest: Manifest, name: str) -> Any:
    return manifest["summary"].get(name)


def _private(manifest: Manifest) -> bool:
    return _of(manifest, "private") is True


def _timed(manifest: Manifest) -> bool:
    return _of(manifest, "timing_accounted") is True


def _true_epsilon(manifest: Manifest) -> float:
    found = as_float(_of(manifest, "epsilon_true"))
    return inf if found is None else found


def _mechanism(manifest: Manifest) -> str:
    return str(manifest["scenario"]["privacy"].get("mechanism", "laplace"))


def _epsilons(manifest: Manifest) -> list[float]:
    """Return every ε that the scenario claims; ∞ where it claims none."""
    given = manifest["scenario"]["privacy"].get("epsilon")
    listed = given if isinstance(given, list) else [given]
    known = [value / _copies(manifest) for value in map(as_float, listed) if value is not None]
    return known if known and _mechanism(manifest) != "none" else [inf]


def _copies(manifest: Manifest) -> int:
    """Return among how many copies of the algorithm ε is divided; 1 where there is one."""
    given = manifest["scenario"]["privacy"].get("learner")
    if given is None:
        return 1
    return OwnLearner.model_validate(given).parts(int(manifest["scenario"]["owners"]["count"]))


def _claimed(manifest: Manifest) -> float:
    """Return the largest ε that the scenario claims."""
    return max(_epsilons(manifest))


def _claim(manifests: Sequence[Manifest]) -> str:
    """Return ε that results claim, and δ with each mechanism."""
    with_each: dict[str, list[float]] = {}
    for each in manifests:
        delta, name = stated_delta(each), _NOISE.get(_mechanism(each))
        if name is not None:
            with_each.setdefault(name, []).append(0.0 if delta is None else delta)
    told = [
        f"{f'δ = {numbers(deltas)}' if max(deltas) > 0 else 'pure'} with {name} noise"
        for name, deltas in with_each.items()
    ]
    spans = {(min(each), max(each)) for each in map(_epsilons, manifests)}
    low, high = next(iter(spans))
    alike = len(spans) == 1 and low < high
    span = f"{number(low)} to {number(high)}" if alike else numbers(map(_claimed, manifests))
    said = f"ε = {span} per owner over the run"
    if any(_copies(each) > 1 for each in manifests):
        said += " (a copy's part of it: copies add up)"
    return f"{said}, {' or '.join(told) or 'no noise'}"


def _assumption(manifests: Sequence[Manifest]) -> str:
    sensitivities = [each["scenario"]["privacy"].get("sensitivity") or {} for each in manifests]
    bounds = {float(s["bound"]) for s in sensitivities if s.get("kind") == "declared"}
    return f", if the declared bound Ξ = {numbers(bounds)} holds" if bounds else ""


def _true_epsilons(manifests: Sequence[Manifest]) -> list[str]:
    """Return the sentence on the true ε, in the claims' order, where any differs from its claim."""
    pairs = [(_claimed(each), _true_epsilon(each)) for each in manifests]
    if all(isclose(claim, given, rel_tol=_SAME) for claim, given in pairs):
        return []
    largest = {c: max(t for other, t in pairs if other == c) for c in sorted(dict(pairs))}
    values = list(largest.values())
    if len(values) == 1 or len(values) > MOST_NUMBERS or len(set(values)) == 1:
        return [f"True ε = {numbers(t for _, t in pairs)}."]
    return [f"True ε = {', '.join(map(number, values))}, respectively."]


def _short(manifests: Sequence[Manifest]) -> str:
    """Return why results are not private, each reason's words up to its first colon."""
    said = [reason for each in manifests for reason in reasons(each)]
    return _cut(list(dict.fromkeys(reason.partition(": ")[0] for reason in said)))


def _cut(said: Sequence[str]) -> str:
    more = [f"and {len(said) - LISTED} more"] if len(said) > LISTED else []
    return "; ".join([textwrap.shorten(each, LONGEST) for each in said[:LISTED]] + more)


def _after(mark: str, manifest: Manifest) -> list[str]:
    found = [str(said) for said in manifest.get("warnings", [])]
    return [said.partition(mark)[2] for said in found if mark in said]
