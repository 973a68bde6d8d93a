"""The privacy label of results, made from manifests: the same words wherever results appear."""

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from math import inf, isclose, isfinite
from typing import Any

from asyncdp_sim.core.specification import kind_of, member
from asyncdp_sim.core.words import MOST_NUMBERS, agreed, as_float, number, numbers, sentence
from asyncdp_sim.privacy.budgets import OwnLearner, Participation
from asyncdp_sim.privacy.guarantee import BROKEN, UNSHOWN, UNTIMED
from asyncdp_sim.privacy.mechanisms import LaplaceMechanism, Mechanism, MechanismKind
from asyncdp_sim.privacy.observers import Observer, ObserverKind, TranscriptObserver
from asyncdp_sim.privacy.sensitivity import Sensitivity

Manifest = Mapping[str, Any]
PLAIN = kind_of(LaplaceMechanism)
"""The kind of mechanism that manifests may omit."""


def reasons(manifest: Manifest) -> list[str]:
    """Return all reasons why a result is not private as claimed, or not shown to be."""
    state = is_private(manifest)
    if state is True:
        return []
    causes = _warnings_after(UNSHOWN if state is None else BROKEN, manifest)
    if state is False and not is_timed(manifest) and not any(UNTIMED in cause for cause in causes):
        causes += [f"{UNTIMED}{why}" for why in timing_reasons(manifest)]
    return causes if len(causes) > 0 else ["the manifest gives no reason"]


def timing_reasons(manifest: Manifest) -> list[str]:
    """Return all reasons why its timing is not accounted."""
    causes = _warnings_after(UNTIMED, manifest)
    return causes if causes or is_timed(manifest) else ["the manifest gives no reason"]


def stated_delta(manifest: Manifest) -> float | None:
    """Return δ at which ε is stated, 0 for pure guarantees; None if no noise is added."""
    if "delta" in manifest["summary"]:
        return as_float(of_summary(manifest, "delta"))
    mechanism = _mechanism(manifest)  # older than the summary's delta
    if not _hides(manifest):
        return None
    stated = mechanism is None or mechanism.needs_delta
    return as_float(manifest["scenario"]["privacy"].get("delta")) if stated else 0


def mechanism_kind(manifest: Manifest) -> str:
    """Return the kind of the mechanism, given as a name or as a table."""
    mechanism = manifest["scenario"]["privacy"].get("mechanism", PLAIN)
    return str(mechanism.get("kind") if isinstance(mechanism, Mapping) else mechanism)


def gradient_norm(manifest: Manifest) -> str:
    """Return the norm in which the mechanism requires bounded gradients."""
    mechanism = _mechanism(manifest)
    return "l1" if mechanism is None else str(mechanism.norm)


def noise_name(manifest: Manifest) -> str | None:
    """Return the name of the noise; None without noise."""
    mechanism = _mechanism(manifest)
    if mechanism is None:
        return mechanism_kind(manifest).partition(" ")[0]  # of one from outside, without digest
    return None if mechanism.exact else mechanism.noise_name


def of_summary(manifest: Manifest, name: str) -> Any:
    """Return an entry of the summary; None if it has none of that name."""
    return manifest["summary"].get(name)


def is_private(manifest: Manifest) -> bool | None:
    """Return whether a result is private as claimed; None if that is not shown.

    Senders and times have no finite ε if they are not accounted for.
    """
    private = of_summary(manifest, "private")
    unseen = as_float(of_summary(manifest, "queries_unseen"))
    if not is_timed(manifest) or private is False:
        return False
    if is_at_least(manifest) and unseen != 0:  # older manifests do not say where was looked
        return None
    if private is None and len(_warnings_after(UNSHOWN, manifest)) > 0:  # by code from outside
        return None
    return private is True


def kept(manifest: Manifest, silent: str = "no claim") -> str:
    """Return in words whether a result is private as claimed; ``silent`` if it claims nothing."""
    words = {True: "yes", False: "NO", None: "not shown"}
    return words[is_private(manifest)] if claims(manifest) else silent


def n_replicates(manifest: Manifest) -> int:
    """Return the number of replicates that were run."""
    replicates = manifest.get("replicates")
    if replicates is not None:
        return len(replicates)
    return int(manifest["scenario"].get("run", {}).get("replicates", 1))


def bound_moves(manifest: Manifest) -> bool:
    """Return whether noisy counts move the norm that answers are clipped to."""
    kind, _ = _sensitivity(manifest)
    return kind is not None and kind.moving


def declared_bound(manifest: Manifest) -> float | None:
    """Return the declared bound that the noise is scaled for; None without one."""
    kind, bound = _sensitivity(manifest)
    trusted = kind is not None and not kind.enforced and _hides(manifest)
    return float(bound["bound"]) if trusted else None


def _sensitivity(manifest: Manifest) -> tuple[Any, Mapping[str, Any]]:
    """Return the kind of the bound on gradients, None if it is not known here, and its fields."""
    bound = manifest["scenario"]["privacy"].get("sensitivity") or {}
    return member(Sensitivity, bound.get("kind")), bound


def is_at_least(manifest: Manifest) -> bool:
    """Return whether ε may be larger for other records than the table's: a bound was declared."""
    return declared_bound(manifest) is not None


def is_timed(manifest: Manifest) -> bool:
    """Return whether timing reveals nothing about records, or is accounted for."""
    return of_summary(manifest, "timing_accounted") is True


def true_epsilon(manifest: Manifest) -> float:
    """Return the true ε of the noise; ∞ if it is unknown, or timing is not accounted."""
    epsilon = as_float(of_summary(manifest, "epsilon_true"))
    return inf if epsilon is None or not is_timed(manifest) else epsilon


def is_epsilon_shown(manifest: Manifest) -> bool:
    """Return whether a true ε is known, or known not to exist; else it depends on custom code.

    A manifest without the entry counts as having none.
    """
    summary = manifest["summary"]
    unsaid = "epsilon_true" in summary and summary["epsilon_true"] is None
    return not unsaid or summary.get("private") is True or not is_timed(manifest)


def _mechanism(manifest: Manifest) -> type[MechanismKind] | None:
    """Return the mechanism; None if it is not known here."""
    return member(Mechanism, mechanism_kind(manifest))


def _hides(manifest: Manifest) -> bool:
    mechanism = _mechanism(manifest)
    return mechanism is None or not mechanism.exact


def epsilons(manifest: Manifest) -> list[float]:
    """Return every ε that the scenario claims; ∞ if it claims none."""
    finite = [value / n_copies(manifest) for value in budgets(manifest)]
    return finite if finite and _hides(manifest) else [inf]


def claims(manifest: Manifest) -> bool:
    """Return whether the scenario states a finite ε for any owner: a baseline states none."""
    return any(value < inf for value in budgets(manifest))


def budgets(manifest: Manifest) -> list[float]:
    """Return the numbers that the scenario gives for ε: of all owners, or one for each."""
    budget = manifest["scenario"]["privacy"].get("epsilon")
    listed = budget if isinstance(budget, list) else [budget]
    return [value for value in map(as_float, listed) if value is not None]


def n_copies(manifest: Manifest) -> int:
    """Return the number of copies of the algorithm that share ε."""
    learner = manifest["scenario"]["privacy"].get("learner")
    if learner is None:
        return 1
    return OwnLearner.model_validate(learner).parts(int(manifest["scenario"]["owners"]["count"]))


def n_sharers(manifest: Manifest) -> int:
    """Return κ, the number of owners that may hold one record."""
    return int(manifest["scenario"]["privacy"].get("overlap", 1))


def stream(manifest: Manifest) -> tuple[Any, Any]:
    """Return what determines the drawn noise: the seed, and the learner of the copy."""
    scenario = manifest["scenario"]
    learner = scenario["privacy"].get("learner") or {}
    return scenario.get("run", {}).get("seed"), learner.get("owner")


def observer(manifest: Manifest) -> ObserverKind | None:
    """Return the scenario's observer; None stands for the transcript observer."""
    section = manifest["scenario"]["privacy"].get("observer")
    kind = None if section is None else member(Observer, section.get("kind"))
    if kind is None:
        return None
    seen: ObserverKind = kind.model_validate(section)
    return seen.for_owners() if hidden_unit(manifest) == "owner" else seen


def observer_words(manifests: Sequence[Manifest]) -> str | None:
    """Return the observers that ε is stated for, in words; None where no scenario names one."""
    observers = list(map(observer, manifests))
    if observers == [None] * len(observers):
        return None
    phrases = [(seen or TranscriptObserver()).describe() for seen in observers]
    return "; or ".join(dict.fromkeys(phrases))


def claimed_epsilon(manifest: Manifest) -> float:
    """Return the largest ε that the scenario claims."""
    return max(epsilons(manifest))


def _warnings_after(mark: str, manifest: Manifest) -> list[str]:
    """Return what follows a mark in each warning of a result that has it."""
    warnings = [str(warning) for warning in manifest.get("warnings", [])]
    return [warning.partition(mark)[2] for warning in warnings if mark in warning]


LONGEST = 100  # characters of a reason
LISTED = 3  # reasons
EXACT = "Exact: computed from the owners' records without noise, so that no ε covers this file."
_SAME = 1e-5  # relative difference below which an ε is not another one


@dataclass(frozen=True)
class Label:
    """The privacy statement of one result, or of several that are shown jointly.

    Attributes
    ----------
    text : str
        The statement, in sentences.
    private : bool or None
        Whether every result is private as claimed; None if that is not shown.
    epsilon_true : float or None
        The largest true ε of the noise; ∞ if no finite ε holds, None if it is not shown.
    delta : float, optional
        The largest δ at which an ε is stated, 0 for pure guarantees; None without noise.
    timing_accounted : bool
        Whether the times of answers, and their absence, reveal nothing about records or are
        charged.
    release : bool
        Whether it may be published: no private record of a real file was read.
    epsilon_at_least : bool
        Whether ε may be larger for records outside the table, because a bound was declared.
    mixed : tuple of str
        Names of values that differ among the results.
    """

    text: str
    private: bool | None
    epsilon_true: float | None
    delta: float | None
    timing_accounted: bool
    release: bool
    epsilon_at_least: bool = False
    mixed: tuple[str, ...] = ()

    def values(self) -> dict[str, Any]:
        """Return all but the text, by name: columns that a table can carry."""
        return {name: getattr(self, name) for name in COLUMNS}

    def metadata(self) -> dict[str, str]:
        """Return all of it as texts, under the keys of a Parquet file's metadata."""
        texts = {"label": self.text} | {
            name: "none" if value is None else str(value).lower()
            for name, value in self.values().items()
        }
        return {f"asyncdp.{name}": value for name, value in texts.items()}

    def metadata_of_exact(self) -> dict[str, str]:
        """Return the label of a table computed from the owners' records without noise."""
        text = f"{EXACT} Its run: {self.text}"
        exact = replace(self, text=text, private=False, epsilon_true=inf, delta=None)
        return replace(exact, epsilon_at_least=False).metadata()

    def metadata_of_network(self) -> dict[str, str]:
        """Return the label of a table of order and times, the same for every learning setting."""
        return network_metadata(timing_accounted=self.timing_accounted)


COLUMNS = tuple(field.name for field in fields(Label)[1:-1])
"""The values of a label, as tables have them: all but its text."""


def network_metadata(*, timing_accounted: bool) -> dict[str, str]:
    """Return the metadata of a table that holds only order and times."""
    timed = "" if timing_accounted else " TIMING NOT ACCOUNTED."
    return {
        "asyncdp.label": f"Order and times only; the manifest states what is private.{timed}",
        "asyncdp.timing_accounted": str(timing_accounted).lower(),
    }


def label(manifests: Sequence[Manifest]) -> Label:
    """Return the label of a figure, table or screen that shows these results.

    A missing entry of a manifest counts as the worse case.

    Parameters
    ----------
    manifests : sequence of mapping
        With ``scenario``, ``summary`` and ``warnings``; at least one.
    """
    claiming = [manifest for manifest in manifests if claims(manifest)]
    sentences = [_verdict(claiming, manifests)] if claiming else []
    silent = [manifest for manifest in manifests if not claims(manifest)]
    if len(silent) > 0:
        where = _share(silent, manifests)
        sentences.append(f"No privacy is claimed ({_claim(silent)}){where}: {_short(silent)}.")
    sentences += _true_epsilons(claiming)
    alone = composition(manifests)
    if alone is not None:
        sentences.append(f"This {alone}.")
    units = list(dict.fromkeys(unit for manifest in manifests if (unit := stated_unit(manifest))))
    of_owners = [manifest for manifest in manifests if hidden_unit(manifest) == "owner"]
    if 0 < len(of_owners) < len(manifests):
        where = f" ({_share(of_owners, manifests).strip()}; a record in the others):"
        units = [unit.replace("is an owner:", f"is an owner{where}") for unit in units]
    rule = stated_participation(manifests)
    units += [] if rule is None else [rule]
    sentences += map(sentence, units)
    untimed = [manifest for manifest in claiming if not is_timed(manifest)]
    if untimed:
        why = dict.fromkeys(reason for one in untimed for reason in timing_reasons(one))
        sentences.append(f"TIMING NOT ACCOUNTED: {_cut([*why])}.")
    release, states = all(map(_may_be_released, manifests)), set(map(is_private, manifests))
    if not release:
        sentences.append("NOT FOR RELEASE: private records were read.")
    deltas = [delta for manifest in manifests if (delta := stated_delta(manifest)) is not None]
    mixed = (name for name, value in _OF_EACH.items() if len(set(map(value, manifests))) > 1)
    return Label(
        text=" ".join(sentences),
        private=False if False in states else None if None in states else True,
        epsilon_true=_largest(manifests),
        epsilon_at_least=any(map(is_at_least, manifests)),
        delta=max(deltas, default=None),
        timing_accounted=all(map(is_timed, manifests)),
        release=release,
        mixed=tuple(mixed),
    )


def _largest(manifests: Sequence[Manifest]) -> float | None:
    """Return the largest true ε; None if a finite one is not shown."""
    shown = [true_epsilon(manifest) for manifest in manifests if is_epsilon_shown(manifest)]
    return None if len(shown) < len(manifests) and inf not in shown else max(shown)


def _may_be_released(manifest: Manifest) -> bool:
    """Return whether it is known that no private record was read."""
    return of_summary(manifest, "not_for_release") is False


_OF_EACH: dict[str, Callable[[Manifest], object]] = {
    "private": is_private,
    "epsilon_true": lambda manifest: _largest([manifest]),
    "delta": stated_delta,
    "timing_accounted": is_timed,
    "release": _may_be_released,
    "epsilon_at_least": is_at_least,
}
"""The values of one result, which a label of several need not say of each of them."""


def _verdict(claiming: Sequence[Manifest], manifests: Sequence[Manifest]) -> str:
    """Return the sentence on results that state an ε, among all that are shown."""
    claim = _claim(claiming)
    broken = [manifest for manifest in claiming if is_private(manifest) is False]
    unshown = [manifest for manifest in claiming if is_private(manifest) is None]
    if len(broken) > 0:
        return f"NOT PRIVATE as claimed ({claim}){_share(broken, manifests)}: {_short(broken)}."
    if len(unshown) > 0:
        where = _share(unshown, manifests)
        return f"NOT SHOWN to be private as claimed ({claim}){where}: {_short(unshown)}."
    bounds = [bound for manifest in claiming if (bound := declared_bound(manifest)) is not None]
    trusted = f", if the declared bound Ξ = {numbers(bounds)} holds" if len(bounds) > 0 else ""
    return f"Private as claimed: {claim}{trusted}."


def named_guarantee(manifests: Sequence[Manifest]) -> str:
    """Return the guarantee in a few words, such as ``(ε, 1e-06)-DP, Gaussian noise``."""
    manifests = list(filter(claims, manifests))
    if len(manifests) == 0:
        return "no privacy claimed"
    states = set(map(is_private, manifests))
    if states != {True}:
        kept = "NOT PRIVATE as claimed" if False in states else "NOT SHOWN to be private"
        if not all(map(is_epsilon_shown, manifests)):
            return kept
        low, high = (number(end(map(true_epsilon, manifests))) for end in (min, max))
        true = "ε ≥" if any(map(is_at_least, manifests)) else "true ε ="
        return f"{kept}, {true} {low if low == high else f'{low} to {high}'}"
    deltas = sorted({stated_delta(manifest) or 0.0 for manifest in manifests})
    kinds = [f"(ε, {number(d)})-DP" if d > 0 else "ε-DP, pure" for d in deltas]
    names = dict.fromkeys(noise_name(manifest) or "no" for manifest in manifests)
    trusted = ", if Ξ holds" if any(map(is_at_least, manifests)) else ""
    against = observer_words(manifests)
    seen = "" if against is None else f", against {against}"
    return f"{' or '.join(kinds)}, {' or '.join(names)} noise{trusted}{seen}"


def composition(manifests: Sequence[Manifest]) -> str | None:
    """Return the scope of ε, and the cost of publishing several replicates or cells.

    Replicates read the same records with independent noise, so that (ε, δ) at most adds up. Cells
    of one seed share their noise, so that two of them may reveal a step exactly; copies with
    different learners have independent noise.

    Returns
    -------
    str or None
        None without noise, or if there is only one replicate of one cell.
    """
    by_digest = {manifest.get("digest", id(manifest)): manifest for manifest in manifests}
    distinct = list(by_digest.values())
    if not any(isfinite(true_epsilon(manifest)) for manifest in distinct):
        return None
    if len(distinct) == 1:
        count = n_replicates(distinct[0])
        if count == 1:
            return None
        delta = f" and {count} δ" if (stated_delta(distinct[0]) or 0) > 0 else ""
        several = f"publishing all costs at most {count} ε{delta}"
        return f"holds for each of {count} replicates; {several}"
    drawn = [stream(manifest) for manifest in distinct if min(epsilons(manifest)) < inf]
    if len(set(drawn)) < len(drawn):
        return "holds for each replicate of each cell; cells share noise: publish only one"
    return "holds for each replicate of each cell; the ε of all published ones adds up"


def epsilon_words(manifest: Manifest) -> str:
    """Return the true ε of the noise in words, or its lower bound for a declared bound."""
    value = true_epsilon(manifest)
    if not is_epsilon_shown(manifest):
        return "ε not shown"
    if value == inf:
        return "no finite ε"
    return f"{'ε ≥' if is_at_least(manifest) else 'true ε'} {number(value)}"


def hidden_unit(manifest: Manifest) -> str:
    """Return the unit of privacy, by which neighbouring datasets differ: record or owner."""
    return str(manifest["scenario"]["privacy"].get("unit") or "record")


def stated_unit(manifest: Manifest) -> str | None:
    """Return the unit in words, if it is an owner or the data name the owner of a record.

    If a column names owners, persons may have several records. If targets decide, no real owner had
    them.
    """
    if hidden_unit(manifest) == "owner":
        privacy = manifest["scenario"]["privacy"]
        added = privacy.get("adjacency") == "added-or-removed"
        changed = "be absent" if added else "be replaced"
        public = "which owners take part, and their numbers of records, are public"
        if bound_moves(manifest):
            public += "; so is the clip bound of every round, found by noisy counts that ε covers"
        return f"the unit is an owner: all records of one owner may {changed} together; {public}"
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
    return f"the unit is a record: a person with m records is protected only at mε{grows}"


def stated_participation(manifests: Sequence[Manifest]) -> str | None:
    """Return how often owners take part, and that this is public; None where nothing limits it."""
    scenarios = [manifest["scenario"] for manifest in manifests]
    limits = (scenario["privacy"].get("participation") for scenario in scenarios)
    texts = (Participation.model_validate(limit).describe() for limit in limits if limit)
    rules = list(dict.fromkeys(texts))
    protocols = [scenario.get("protocol") or {} for scenario in scenarios]
    rounds = (protocol for protocol in protocols if protocol.get("kind") == "rounds")
    asked = [protocol["owners"] for protocol in rounds if protocol.get("owners") is not None]
    if len(asked) > 0:
        rules.append(agreed(f"each round asks {numbers(asked)} owners, drawn at random"))
    public = "who takes part is public, so ε is not reduced by the chance that an owner is absent"
    return f"{'; '.join(rules)}; {public}" if len(rules) > 0 else None


def _share(some: Sequence[Manifest], manifests: Sequence[Manifest]) -> str:
    count = "all" if len(some) == len(manifests) else f"{len(some)} of"
    return f" in {count} {len(manifests)} cells" if len(manifests) > 1 else ""


def _claim(manifests: Sequence[Manifest]) -> str:
    """Return the claimed ε, and δ with each mechanism."""
    with_each: dict[str, list[float]] = {}
    for manifest in manifests:
        delta, name = stated_delta(manifest), noise_name(manifest)
        if name is not None:
            with_each.setdefault(name, []).append(0.0 if delta is None else delta)
    noises = [
        f"{f'δ = {numbers(deltas)}' if max(deltas) > 0 else 'pure ε-DP'}, {name} noise"
        for name, deltas in with_each.items()
    ]
    spans = {(min(manifest), max(manifest)) for manifest in map(epsilons, manifests)}
    low, high = next(iter(spans))
    alike = len(spans) == 1 and low < high
    span = f"{number(low)} to {number(high)}" if alike else numbers(map(claimed_epsilon, manifests))
    claim = f"ε = {span} per owner over the run"
    if any(n_copies(manifest) > 1 for manifest in manifests):
        claim += " (a copy's part of it: copies add up)"
    against = observer_words(manifests)
    seen = "" if against is None else f", against {against}"
    return f"{claim}, {' or '.join(noises) or 'no noise'}{seen}"


def _true_epsilons(manifests: Sequence[Manifest]) -> Iterator[str]:
    """Yield the sentences on the true ε of the noise.

    For enforced bounds only if one differs from its claim. For declared bounds always, because that
    ε covers only the records of the tables; over all records no finite ε holds.
    """
    enforced, trusted = list[tuple[float, float]](), list[tuple[float, float]]()
    for manifest in filter(is_epsilon_shown, manifests):
        pair = claimed_epsilon(manifest), true_epsilon(manifest)
        (trusted if is_at_least(manifest) else enforced).append(pair)
    claimed = set(map(claimed_epsilon, manifests))
    if not all(isclose(claim, true, rel_tol=_SAME) for claim, true in enforced):
        yield f"True ε = {_in_turn(enforced, claimed)}."
    if len(trusted) > 0 and all(true == inf for _, true in trusted):
        yield "No finite ε."
    elif len(trusted) > 0:
        text = f"ε ≥ {_in_turn(trusted, claimed)} (these records; the declared bound may not hold"
        yield f"{text} for others)."


def _in_turn(pairs: Sequence[tuple[float, float]], claimed: Set[float]) -> str:
    """Return the largest true ε of every claim in order, or all if they are of some claims only."""
    largest = {c: max(t for other, t in pairs if other == c) for c in sorted(dict(pairs))}
    values = list(largest.values())
    if len(set(values)) == 1 or len(values) > MOST_NUMBERS or {*largest} != claimed:
        return numbers(true for _, true in pairs)
    return f"{', '.join(map(number, values))}, respectively"


def _short(manifests: Sequence[Manifest]) -> str:
    """Return why results are not private, each reason's words up to its first colon."""
    causes = [reason for manifest in manifests for reason in reasons(manifest)]
    return _cut(list(dict.fromkeys(reason.partition(": ")[0] for reason in causes)))


def _cut(said: Sequence[str]) -> str:
    more = [f"and {len(said) - LISTED} more"] if len(said) > LISTED else []
    return "; ".join([textwrap.shorten(cause, LONGEST) for cause in said[:LISTED]] + more)
