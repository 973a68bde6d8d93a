"""The privacy label of results: made from manifests, the same words wherever results go."""

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from math import inf, isclose, isfinite
from typing import Any

from asyncdp_sim.privacy.manifest_facts import (
    Manifest,
    claimed_epsilon,
    claims,
    declared_bound,
    epsilons,
    is_at_least,
    is_epsilon_shown,
    is_private,
    is_timed,
    n_copies,
    n_replicates,
    noise_name,
    observer_words,
    of_summary,
    reasons,
    stated_delta,
    stream,
    timing_reasons,
    true_epsilon,
)
from asyncdp_sim.words import MOST_NUMBERS, number, numbers

LONGEST = 100  # characters of a reason
LISTED = 3  # reasons
EXACT = "Exact: computed from the owners' records without noise, so that no ε covers this file."
_SAME = 1e-5  # relative difference below which an ε is not another one


@dataclass(frozen=True)
class Label:
    """The statement on the privacy of one result, or of several that are shown together.

    Attributes
    ----------
    text : str
        All of it, in sentences.
    private : bool or None
        Whether every one is private as it claims; None where that is not shown.
    epsilon_true : float or None
        The largest ε that the noise really gives; ∞ where there is none, None where it is not
        shown.
    delta : float, optional
        The largest δ at which an ε is stated, 0 of pure guarantees; None where nothing is hidden.
    timing_accounted : bool
        Whether when and whether owners answer is known to tell nothing of records, or is paid for.
    not_for_release : bool
        Whether private records of a real file were read.
    epsilon_at_least : bool
        Whether ε may be larger for records that are in no table: a bound was declared.
    mixed : tuple of str
        Which of these values differ among the results that it is of.
    """

    text: str
    private: bool | None
    epsilon_true: float | None
    delta: float | None
    timing_accounted: bool
    not_for_release: bool
    epsilon_at_least: bool = False
    mixed: tuple[str, ...] = ()

    def values(self) -> dict[str, Any]:
        """Return all but the text, by name: columns that a table can carry."""
        return {name: getattr(self, name) for name in COLUMNS}

    def metadata(self) -> dict[str, str]:
        """Return all of it as texts, under the keys of a Parquet file's metadata."""
        said = {"label": self.text} | {
            name: "none" if value is None else str(value).lower()
            for name, value in self.values().items()
        }
        return {f"asyncdp.{name}": value for name, value in said.items()}

    def metadata_of_exact(self) -> dict[str, str]:
        """Return what a table says that was computed from the owners' records without noise."""
        text = f"{EXACT} Its run: {self.text}"
        exact = replace(self, text=text, private=False, epsilon_true=inf, delta=None)
        return replace(exact, epsilon_at_least=False).metadata()

    def metadata_of_network(self) -> dict[str, str]:
        """Return what a table of order and times says, which no choice of learning may change."""
        return network_metadata(timing_accounted=self.timing_accounted)


COLUMNS = tuple(each.name for each in fields(Label)[1:-1])
"""The values of a label, as tables have them: all but its text."""


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
    claiming = [each for each in manifests if claims(each)]
    said = [_verdict(claiming, manifests)] if claiming else []
    silent = [each for each in manifests if not claims(each)]
    if len(silent) > 0:
        where = _share(silent, manifests)
        said.append(f"No privacy is claimed ({_claim(silent)}){where}: {_short(silent)}.")
    said += _true_epsilons(manifests)
    alone = composition(manifests)
    if alone is not None:
        said.append(f"{alone[0].upper()}{alone[1:]}.")
    units = list(dict.fromkeys(unit for each in manifests if (unit := record_unit(each))))
    said += [f"{unit[0].upper()}{unit[1:]}." for unit in units]
    untimed = [each for each in claiming if not is_timed(each)]
    if untimed:
        why = list(dict.fromkeys(reason for each in untimed for reason in timing_reasons(each)))
        said.append(f"TIMING NOT ACCOUNTED: {_cut(why)}.")
    unreleasable = any(map(_is_unreleasable, manifests))
    if unreleasable:
        said.append("NOT FOR RELEASE: private records were read.")
    deltas = [delta for each in manifests if (delta := stated_delta(each)) is not None]
    return Label(
        text=" ".join(said),
        private=_all_private(manifests),
        epsilon_true=_largest(manifests),
        epsilon_at_least=any(map(is_at_least, manifests)),
        delta=max(deltas) if deltas else None,
        timing_accounted=all(map(is_timed, manifests)),
        not_for_release=unreleasable,
        mixed=tuple(
            name for name, value in _OF_EACH.items() if len(set(map(value, manifests))) > 1
        ),
    )


def _largest(manifests: Sequence[Manifest]) -> float | None:
    """Return the largest true ε; None where a finite one is not shown."""
    each = [true_epsilon(one) if is_epsilon_shown(one) else None for one in manifests]
    known = [one for one in each if one is not None]
    return None if len(known) < len(each) and inf not in known else max(known)


def _is_unreleasable(manifest: Manifest) -> bool:
    """Return whether private records were read, or may have been."""
    return of_summary(manifest, "not_for_release") is not False


_OF_EACH: dict[str, Callable[[Manifest], object]] = {
    "private": is_private,
    "epsilon_true": lambda manifest: _largest([manifest]),
    "delta": stated_delta,
    "timing_accounted": is_timed,
    "not_for_release": _is_unreleasable,
    "epsilon_at_least": is_at_least,
}
"""The values of one result, which a label of several need not say of each of them."""


def _verdict(claiming: Sequence[Manifest], manifests: Sequence[Manifest]) -> str:
    """Return the sentence on results that state an ε, among all that are shown."""
    claim = _claim(claiming)
    broken = [each for each in claiming if is_private(each) is False]
    unshown = [each for each in claiming if is_private(each) is None]
    if len(broken) > 0:
        return f"NOT PRIVATE as claimed ({claim}){_share(broken, manifests)}: {_short(broken)}."
    if len(unshown) > 0:
        where = _share(unshown, manifests)
        return f"NOT SHOWN to be private as claimed ({claim}){where}: {_short(unshown)}."
    return f"Private as claimed: {claim}{_assumption(claiming)}."


def _all_private(manifests: Sequence[Manifest]) -> bool | None:
    """Return whether all are private as they claim; one that claims nothing is not private."""
    states = {is_private(each) for each in manifests}
    return False if False in states else None if None in states else True


def named_guarantee(manifests: Sequence[Manifest]) -> str:
    """Return what is guaranteed in a few words, such as ``(ε, 1e-06)-DP, Gaussian noise``."""
    if not any(map(claims, manifests)):
        return "no privacy claimed"
    states = {is_private(each) for each in manifests}
    if states != {True}:
        kept = "NOT PRIVATE as claimed" if False in states else "NOT SHOWN to be private"
        if not all(map(is_epsilon_shown, manifests)):
            return kept
        low, high = (number(end(map(true_epsilon, manifests))) for end in (min, max))
        true = "ε ≥" if any(map(is_at_least, manifests)) else "true ε ="
        return f"{kept}, {true} {low if low == high else f'{low} to {high}'}"
    deltas = sorted({stated_delta(each) or 0.0 for each in manifests})
    kinds = [f"(ε, {number(d)})-DP" if d > 0 else "ε-DP, pure" for d in deltas]
    names = dict.fromkeys(noise_name(each) or "no" for each in manifests)
    trusted = ", if Ξ holds" if any(map(is_at_least, manifests)) else ""
    against = observer_words(manifests)
    seen = "" if against is None else f", against {against}"
    return f"{' or '.join(kinds)}, {' or '.join(names)} noise{trusted}{seen}"


def composition(manifests: Sequence[Manifest]) -> str | None:
    """Return what the label does not speak of: several replicates, or cells, published together.

    Replicates read the same records with noise of their own, so that (ε, δ) adds up at most; cells
    of one seed have their noise in common, so that two of them may tell a step exactly. But copies
    with different learners have noise of their own.

    Returns
    -------
    str or None
        None where nothing is hidden, or there is one replicate of one cell only.
    """
    distinct = list({each.get("digest", id(each)): each for each in manifests}.values())
    if not any(isfinite(true_epsilon(each)) for each in distinct):
        return None
    if len(distinct) == 1:
        count = n_replicates(distinct[0])
        if count == 1:
            return None
        delta = f" and {count} δ" if (stated_delta(distinct[0]) or 0) > 0 else ""
        return (
            f"each of {count} replicates on its own; publishing all costs at most {count} ε{delta}"
        )
    drawn = [stream(each) for each in distinct if min(epsilons(each)) < inf]
    if len(set(drawn)) < len(drawn):
        return "each replicate of each cell on its own; cells share noise: together not private"
    return "each replicate of each cell on its own; what is published of several adds up"


def epsilon_words(manifest: Manifest) -> str:
    """Return ε as the noise gives it: the true one, or the least it may be of a declared bound."""
    value = true_epsilon(manifest)
    if not is_epsilon_shown(manifest):
        return "ε not shown"
    if value == inf:
        return "no finite ε"
    return f"{'ε ≥' if is_at_least(manifest) else 'true ε'} {value:.4g}"


def record_unit(manifest: Manifest) -> str | None:
    """Return what a record is one of, where the data say whose it is.

    Where a column does, persons may have several records; where targets do, nobody had any.
    """
    data = manifest["scenario"].get("data") or {}
    split = data.get("split")
    if isinstance(split, dict) and "dirichlet" in split:
        return (
            "who holds which record is simulated from the records' targets: ε is of one record "
            "replaced at the owner that it went to"
        )
    column = data.get("owner_column") or (split.get("column") if isinstance(split, dict) else None)
    if column is None:
        return None
    grows = " and a larger δ" if (stated_delta(manifest) or 0) > 0 else ""
    return f"the unit is a record: a person with m records gets mε{grows}"


def _share(some: Sequence[Manifest], manifests: Sequence[Manifest]) -> str:
    count = "all" if len(some) == len(manifests) else f"{len(some)} of"
    return f" in {count} {len(manifests)} cells" if len(manifests) > 1 else ""


def _claim(manifests: Sequence[Manifest]) -> str:
    """Return ε that results claim, and δ with each mechanism."""
    with_each: dict[str, list[float]] = {}
    for each in manifests:
        delta, name = stated_delta(each), noise_name(each)
        if name is not None:
            with_each.setdefault(name, []).append(0.0 if delta is None else delta)
    told = [
        f"{f'δ = {numbers(deltas)}' if max(deltas) > 0 else 'pure'} with {name} noise"
        for name, deltas in with_each.items()
    ]
    spans = {(min(each), max(each)) for each in map(epsilons, manifests)}
    low, high = next(iter(spans))
    alike = len(spans) == 1 and low < high
    span = f"{number(low)} to {number(high)}" if alike else numbers(map(claimed_epsilon, manifests))
    said = f"ε = {span} per owner over the run"
    if any(n_copies(each) > 1 for each in manifests):
        said += " (a copy's part of it: copies add up)"
    against = observer_words(manifests)
    seen = "" if against is None else f", against {against}"
    return f"{said}, {' or '.join(told) or 'no noise'}{seen}"


def _assumption(manifests: Sequence[Manifest]) -> str:
    bounds = [bound for each in manifests if (bound := declared_bound(each)) is not None]
    return f", if the declared bound Ξ = {numbers(bounds)} holds" if len(bounds) > 0 else ""


def _true_epsilons(manifests: Sequence[Manifest]) -> list[str]:
    """Return the sentences on ε as the noise gives it.

    Of enforced bounds, where any differs from its claim; of declared ones always, for it is of the
    records that the tables have, and over all records there is none.
    """
    said = []
    manifests = [each for each in manifests if is_epsilon_shown(each)]
    enforced = [each for each in manifests if not is_at_least(each)]
    pairs = [(claimed_epsilon(each), true_epsilon(each)) for each in enforced]
    if not all(isclose(claim, given, rel_tol=_SAME) for claim, given in pairs):
        said.append(f"True ε = {_in_turn(pairs)}.")
    trusted = [each for each in manifests if is_at_least(each)]
    if len(trusted) > 0:
        told = [(claimed_epsilon(each), true_epsilon(each)) for each in trusted]
        if all(true == inf for _, true in told):
            said.append("No finite ε.")
        else:
            said.append(
                f"ε ≥ {_in_turn(told)} (these records; the declared bound may not hold for others)."
            )
    return said


def _in_turn(pairs: Sequence[tuple[float, float]]) -> str:
    """Return the largest true ε of every claim, in the claims' order, or the few that there are."""
    largest = {c: max(t for other, t in pairs if other == c) for c in sorted(dict(pairs))}
    values = list(largest.values())
    if len(values) == 1 or len(values) > MOST_NUMBERS or len(set(values)) == 1:
        return numbers(true for _, true in pairs)
    return f"{', '.join(map(number, values))}, respectively"


def _short(manifests: Sequence[Manifest]) -> str:
    """Return why results are not private, each reason's words up to its first colon."""
    said = [reason for each in manifests for reason in reasons(each)]
    return _cut(list(dict.fromkeys(reason.partition(": ")[0] for reason in said)))


def _cut(said: Sequence[str]) -> str:
    more = [f"and {len(said) - LISTED} more"] if len(said) > LISTED else []
    return "; ".join([textwrap.shorten(each, LONGEST) for each in said[:LISTED]] + more)
