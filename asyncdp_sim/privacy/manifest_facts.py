"""Facts about the privacy of a result, as its manifest states them."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from asyncdp_sim.privacy.copies import OwnLearner
from asyncdp_sim.privacy.mechanisms import LaplaceMechanism, Mechanism, MechanismKind
from asyncdp_sim.privacy.observers import Observer, ObserverKind, TranscriptObserver
from asyncdp_sim.privacy.sensitivity import Sensitivity
from asyncdp_sim.spec import kind_of, member
from asyncdp_sim.words import as_float

Manifest = Mapping[str, Any]
PLAIN = kind_of(LaplaceMechanism)
"""The kind of mechanism that manifests need not name."""
BROKEN = "not private: "
"""How warnings begin that say why a result is not private as claimed."""
UNSHOWN = "not shown: "
"""How they begin where queries were not looked at, and nothing else speaks against it."""
UNTIMED = "timing not accounted: "
"""How the reason begins where who speaks, and when, tells of records."""


def reasons(manifest: Manifest) -> list[str]:
    """Return why a result is not private as claimed, or not shown to be, in full; else nothing."""
    state = is_private(manifest)
    if state is True:
        return []
    found = _after(UNSHOWN if state is None else BROKEN, manifest)
    if state is False and not is_timed(manifest) and not any(UNTIMED in each for each in found):
        found += [f"{UNTIMED}{why}" for why in timing_reasons(manifest)]
    return found if len(found) > 0 else ["the manifest gives no reason"]


def timing_reasons(manifest: Manifest) -> list[str]:
    """Return why its timing is not accounted, in full; nothing where it is."""
    found = _after(UNTIMED, manifest)
    return found if found or is_timed(manifest) else ["the manifest gives no reason"]


def stated_delta(manifest: Manifest) -> float | None:
    """Return δ at which ε is stated, 0 of pure guarantees; None where nothing is hidden."""
    if "delta" in manifest["summary"]:
        return as_float(of_summary(manifest, "delta"))
    mechanism = _mechanism(manifest)  # older than the summary's delta
    if not _hides(manifest):
        return None
    stated = mechanism is None or mechanism.needs_delta
    return as_float(manifest["scenario"]["privacy"].get("delta")) if stated else 0


def mechanism_kind(manifest: Manifest) -> str:
    """Return the kind of the mechanism, which a scenario names alone or in a table."""
    said = manifest["scenario"]["privacy"].get("mechanism", PLAIN)
    return str(said.get("kind") if isinstance(said, Mapping) else said)


def gradient_norm(manifest: Manifest) -> str:
    """Return the norm in which the mechanism wants gradients bounded."""
    mechanism = _mechanism(manifest)
    return "l1" if mechanism is None else str(mechanism.norm)


def noise_name(manifest: Manifest) -> str | None:
    """Return what the noise is called; None where there is none."""
    mechanism = _mechanism(manifest)
    if mechanism is None:
        return mechanism_kind(manifest).partition(" ")[0]  # of one from outside, without digest
    return None if mechanism.exact else mechanism.noise_name


def of_summary(manifest: Manifest, name: str) -> Any:
    """Return a figure of the summary; None where it has none of that name."""
    return manifest["summary"].get(name)


def is_private(manifest: Manifest) -> bool | None:
    """Return whether a result is private as claimed; None where that is not shown.

    Who speaks, and when, has no finite ε where nobody pays for it.
    """
    said, unseen = of_summary(manifest, "private"), as_float(of_summary(manifest, "queries_unseen"))
    if not is_timed(manifest) or said is False:
        return False
    if is_at_least(manifest) and unseen != 0:  # older manifests do not say where was looked
        return None
    if said is None and len(_after(UNSHOWN, manifest)) > 0:  # it rests on code from outside
        return None
    return said is True


def n_replicates(manifest: Manifest) -> int:
    """Return the number of replicates that were run."""
    known = manifest.get("replicates")
    if known is not None:
        return len(known)
    return int(manifest["scenario"].get("run", {}).get("replicates", 1))


def declared_bound(manifest: Manifest) -> float | None:
    """Return the bound that is taken on trust, where noise is scaled for one."""
    bound = manifest["scenario"]["privacy"].get("sensitivity") or {}
    known = member(Sensitivity, bound.get("kind"))
    trusted = known is not None and not known.enforced and _hides(manifest)
    return float(bound["bound"]) if trusted else None


def is_at_least(manifest: Manifest) -> bool:
    """Return whether ε may be larger for other records than the table's: a bound was declared."""
    return declared_bound(manifest) is not None


def is_timed(manifest: Manifest) -> bool:
    """Return whether timing tells nothing of records, or is paid for."""
    return of_summary(manifest, "timing_accounted") is True


def true_epsilon(manifest: Manifest) -> float:
    """Return the ε that the noise gives; ∞ where nothing is known, or timing is not accounted."""
    found = as_float(of_summary(manifest, "epsilon_true"))
    return inf if found is None or not is_timed(manifest) else found


def is_epsilon_shown(manifest: Manifest) -> bool:
    """Return whether a true ε is known, or that there is none; else code from outside decides it.

    A manifest that says nothing of it is taken for the worse.
    """
    summary = manifest["summary"]
    unsaid = "epsilon_true" in summary and summary["epsilon_true"] is None
    return not unsaid or summary.get("private") is True or not is_timed(manifest)


def _mechanism(manifest: Manifest) -> type[MechanismKind] | None:
    """Return the mechanism; None of one that is not known here."""
    return member(Mechanism, mechanism_kind(manifest))


def _hides(manifest: Manifest) -> bool:
    mechanism = _mechanism(manifest)
    return mechanism is None or not mechanism.exact


def epsilons(manifest: Manifest) -> list[float]:
    """Return every ε that the scenario claims; ∞ where it claims none."""
    given = manifest["scenario"]["privacy"].get("epsilon")
    listed = given if isinstance(given, list) else [given]
    known = [value / n_copies(manifest) for value in map(as_float, listed) if value is not None]
    return known if known and _hides(manifest) else [inf]


def claims(manifest: Manifest) -> bool:
    """Return whether the scenario states a finite ε for any owner: a baseline states none."""
    given = manifest["scenario"]["privacy"].get("epsilon")
    listed = given if isinstance(given, list) else [given]
    return any(value is not None and value < inf for value in map(as_float, listed))


def n_copies(manifest: Manifest) -> int:
    """Return among how many copies of the algorithm ε is divided; 1 where there is one."""
    given = manifest["scenario"]["privacy"].get("learner")
    if given is None:
        return 1
    return OwnLearner.model_validate(given).parts(int(manifest["scenario"]["owners"]["count"]))


def n_sharers(manifest: Manifest) -> int:
    """Return κ, the owners that may hold one record."""
    return int(manifest["scenario"]["privacy"].get("overlap", 1))


def stream(manifest: Manifest) -> tuple[Any, Any]:
    """Return what decides the noise that is drawn: the seed, and whose copy it is."""
    scenario = manifest["scenario"]
    learner = scenario["privacy"].get("learner") or {}
    return scenario.get("run", {}).get("seed"), learner.get("owner")


def observer(manifest: Manifest) -> ObserverKind | None:
    """Return whom ε is against, where the scenario names one; else it is who hears everything."""
    given = manifest["scenario"]["privacy"].get("observer")
    known = None if given is None else member(Observer, given.get("kind"))
    return None if known is None else known.model_validate(given)


def observer_words(manifests: Sequence[Manifest]) -> str | None:
    """Return whom each ε is against, in words; None where no scenario names it."""
    found = [observer(each) for each in manifests]
    if all(each is None for each in found):
        return None
    said = [(TranscriptObserver() if each is None else each).words() for each in found]
    return " or ".join(dict.fromkeys(said))


def claimed_epsilon(manifest: Manifest) -> float:
    """Return the largest ε that the scenario claims."""
    return max(epsilons(manifest))


def _after(mark: str, manifest: Manifest) -> list[str]:
    found = [str(said) for said in manifest.get("warnings", [])]
    return [said.partition(mark)[2] for said in found if mark in said]
