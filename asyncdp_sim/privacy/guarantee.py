"""The guarantee: whether a run is private as its scenario claims, and every reason if it is not."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.messages import Listed, Noted, Number
from asyncdp_sim.privacy.accountants.own import Accountant
from asyncdp_sim.privacy.mechanisms import AnswerNoise
from asyncdp_sim.privacy.spec import Privacy

BROKEN = "not private: "
"""Prefix of reasons why a result is not private as claimed."""
UNSHOWN = "not shown: "
"""Prefix of reasons why that is not shown: unchecked queries, or a claim that depends on custom
code."""
UNTIMED = "timing not accounted: "
"""Prefix of the reason if senders and times reveal something about records."""
CHOSEN = "settings chosen from private records, not accounted"
"""Reason why no ε holds if settings were chosen from private records."""


def reason(sentence: str, **values: Number | Listed | str) -> Noted:
    """Return a reason why a result is not private, or a condition of its claim."""
    return Noted(sentence, tuple(values.items()))


def not_vouched_for(outside: Sequence[str]) -> Noted:
    """Return the note that a claim depends on these parts of custom code."""
    sentence = (
        "the claim rests on code from outside: no proof covers {parts}, and an audit can show only "
        "how large ε is at least"
    )
    return reason(sentence, parts=", ".join(outside))


OwnerNumbers = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Guarantee:
    """The privacy of a run's answers if one record, or one owner, is replaced.

    Attributes
    ----------
    private : bool or None
        Whether every owner's answers and their times are (ε_i, δ)-differentially private as the
        scenario claims. None if this is not shown, because some queries were not checked or the
        claim depends on custom code.
    epsilon_true : float or None
        The largest true ε of the noise over records; ∞ if no finite ε holds, None if it depends on
        custom code.
    delta : float or None
        δ at which ε is stated, 0 for pure mechanisms; None if no noise is added.
    bound_exceeded : bool or None
        Whether a record gradient exceeded the declared bound. None if the bound is enforced, or if
        none exceeded it but some queries were not checked.
    because : tuple of Noted
        Why it is not private, or what the claim rests on.
    remarks : tuple of Noted
        What a reader must know in addition, whether it is private or not.
    at_least : bool
        Whether ``epsilon_true`` covers only the table's own records and is a lower bound: other
        records may exceed a declared bound by any factor.
    unseen : int or None
        Answered queries at which a declared bound was not checked; None if it is enforced.
    times : float
        True cost of every owner's answers over their charge, if a bound is enforced; ∞ if they may
        reveal private records, too: of public ones, ``Ledger.spent`` is ∞. Without noise: not used.
    """

    private: bool | None
    epsilon_true: float | None
    delta: float | None
    bound_exceeded: bool | None
    because: tuple[Noted, ...]
    remarks: tuple[Noted, ...] = ()
    at_least: bool = False
    unseen: int | None = None
    times: float = 1.0

    @property
    def is_upper(self) -> bool:
        """Whether ε is at most ``epsilon_true``, whatever the records are."""
        return not self.at_least and self.epsilon_true is not None

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not private, or what the claim rests on, in words."""
        return tuple(note.describe() for note in self.because)


@dataclass(frozen=True, eq=False)
class ObservedMax:
    """The record gradients that were observed under a declared bound.

    Attributes
    ----------
    largest : array (N,)
        The largest observed record gradient per owner, in the norm of the declared bound.
    seen, unseen : int
        Answered queries that were checked, and that were not.
    """

    largest: Array
    seen: int
    unseen: int = 0


def guarantee(
    privacy: Privacy,
    accountant: Accountant,
    xi: float,
    n_features: int,
    gradients: ObservedMax | None,
    public_rows_of_owner: tuple[int, ...],
    records: Ints,
    *,
    noise: AnswerNoise,
    diverged: int = 0,
    obfuscated: bool = False,
    timing: str | None = None,
    unsound: str | None = None,
    chosen: bool = False,
    owners: Sequence[int] | None = None,
    observed: float | None = None,
    outside: Sequence[str] = (),
) -> Guarantee:
    """Return the guarantee of a run.

    Parameters
    ----------
    privacy : Privacy
        What the scenario asks for.
    accountant : Accountant
        The accountant of the answers.
    xi : float
        Ξ, the bound that the noise was scaled for.
    n_features : int
        p.
    gradients : ObservedMax or None
        Those observed under a declared bound; None if the bound is enforced.
    public_rows_of_owner : tuple of int
        Number of each owner's records that the learner knows.
    records : array of int (N,)
        n_i.
    noise : AnswerNoise
        The noise on the answers.
    diverged : int
        Number of replicates in which the model became infinite. There no bound holds, and which
        answers are finite may reveal records.
    obfuscated : bool
        Whether owners perturb their answers so that all perturbations cancel (POLAR).
    timing : str, optional
        What the timing reveals about records without a charge; senders and times have no finite ε.
    unsound : str, optional
        Why one private record affects other records, if it does.
    chosen : bool
        Whether settings were chosen from private records; no finite ε covers that.
    owners : sequence of int, optional
        Numbers of the owners; absent, 1…N.
    observed : float, optional
        ε against an observer of only a part; absent, ε is against an observer of every answer.
    outside : sequence of str
        The parts from outside that the claim rests on.

    Returns
    -------
    Guarantee
        Private if there is no reason against it, and nothing is left to be shown.

    Raises
    ------
    ValueError
        If a bound was declared and no gradients were observed.
    """
    numbers = np.arange(1, len(records) + 1) if owners is None else np.array(owners)
    from_public = _public(public_rows_of_owner, numbers)
    untimed = [] if timing is None else [reason(f"{UNTIMED}{{why}}", why=timing)]
    settings = [reason(CHOSEN)] if chosen else []
    if not privacy.hides:
        exact = "answers are exact: no noise is added"
        if obfuscated:
            exact = "obfuscated, no DP guarantee: perturbations that cancel have no finite ε"
        why = (reason(exact), *settings, *from_public, *untimed)
        return Guarantee(False, inf, None, None, why)
    if privacy.on_trust and gradients is None:
        raise ValueError("a declared bound needs the gradients of the queries that were answered")

    # reasons in the order in which they are printed; with the infinite ones no finite ε holds
    published_reasons, factor = _published(privacy, n_features)
    diverging = [] if diverged == 0 else [reason(_DIVERGED, replicates=diverged)]
    affecting = [] if unsound is None else [reason("{why}", why=unsound)]
    infinite_reasons = [
        *_without_noise(noise, accountant, privacy, numbers),
        *diverging,
        *affecting,
        *settings,
        *from_public,
        *untimed,
    ]
    all_reasons = [
        *published_reasons,
        *_beyond(gradients, xi, privacy.norm, numbers),
        *_without_budget(accountant, numbers),
        *infinite_reasons,
    ]

    one_draw = privacy.noise == "scalar-as-published"  # which hides no coordinate from the others
    epsilon: float | None = inf
    if not one_draw and len(infinite_reasons) == 0:
        excess = 1.0 if gradients is None else np.maximum(1, gradients.largest / xi)
        # how many times as long as the bound record gradients are
        factors = np.full(len(records), factor * excess)
        epsilon = _true_epsilon(privacy, accountant, factors, observed, outside)

    notes = all_reasons.copy()
    if len(all_reasons) == 0 and len(outside) > 0:
        notes.append(not_vouched_for(outside))
    if gradients is not None:
        notes += _resting(gradients, xi, broken=len(all_reasons) > 0)
    unseen = None if gradients is None else gradients.unseen
    private: bool | None = len(all_reasons) == 0
    if private and (unseen not in (None, 0) or len(outside) > 0):
        private = None
    n_protected = len(records) if privacy.per_owner else int(records.max())
    private_leak = one_draw or len(infinite_reasons) > len(from_public)
    return Guarantee(
        private=private,
        epsilon_true=epsilon,
        delta=accountant.delta,
        bound_exceeded=_exceeded(gradients, xi),
        because=tuple(notes),
        remarks=_large_delta(accountant.delta, n_protected, privacy.noun),
        at_least=gradients is not None,
        unseen=unseen,
        times=inf if private_leak else factor,
    )


def _true_epsilon(
    privacy: Privacy,
    accountant: Accountant,
    factors: Array,
    observed: float | None,
    outside: Sequence[str],
) -> float | None:
    """Return the largest ε, where one is finite, of gradients so many times as long as the bound.

    None if it depends on custom code. ``observed`` is the ε against an observer of only a part.
    """
    if len(outside) > 0:
        return None
    if observed is not None:  # such observers require an enforced bound and its norm: factors are 1
        return observed
    return accountant.together(accountant.answers, privacy.overlap, factors)


def foreseen(
    privacy: Privacy,
    n_owners: int,
    n_features: int,
    *,
    timing: str | None,
    unsound: Sequence[str],
    outside: Sequence[str] = (),
) -> bool | None:
    """Return whether runs with these settings are private as claimed, before records are read.

    Parameters
    ----------
    privacy : Privacy
        What the scenario asks for.
    n_owners, n_features : int
        N and p.
    timing : str, optional
        What the timing reveals about records without a charge.
    unsound : sequence of str
        Why private records affect what every observer sees: as ``unsound`` and ``chosen`` of
        :func:`guarantee`.
    outside : sequence of str
        The parts from outside that the claim rests on.

    Returns
    -------
    bool or None
        None if the claim depends on a declared bound, or on custom code.
    """
    leaks_beyond_answers = timing is not None or len(unsound) > 0
    unlimited = bool(np.isinf(privacy.asked(n_owners)).any())
    published, _ = _published(privacy, n_features)
    if leaks_beyond_answers or unlimited or len(published) > 0:
        return False
    return None if privacy.on_trust or len(outside) > 0 else True


def _beyond(
    gradients: ObservedMax | None, xi: float, norm: str, numbers: OwnerNumbers
) -> list[Noted]:
    """Return the reason that a declared bound is exceeded, if it is."""
    if gradients is None or not _exceeded(gradients, xi):
        return []
    worst = int(numbers[np.argmax(gradients.largest)])
    sentence = (
        "the declared bound {bound:g} on a record gradient's {norm} norm is exceeded: "
        "{largest:.4g} at owner {owner}"
    )
    largest = float(gradients.largest.max())
    return [reason(sentence, bound=xi, norm=norm.upper(), largest=largest, owner=worst)]


def _without_budget(accountant: Accountant, numbers: OwnerNumbers) -> list[Noted]:
    """Return the reason that owners have infinite ε, if any."""
    unlimited, n_owners = numbers[np.isinf(accountant.epsilon)], len(accountant.epsilon)
    if len(unlimited) == 0:
        return []
    published = len(unlimited) == 1 < n_owners
    plays = ", as published, where it plays the learner itself" if published else ""
    sentence = f"ε = ∞ for {{owners}}: {{owners:their}} answers are exact{plays}"
    return [reason(sentence, owners=Listed.from_numbers(unlimited.tolist()))]


def _without_noise(
    noise: AnswerNoise, accountant: Accountant, privacy: Privacy, numbers: OwnerNumbers
) -> list[Noted]:
    """Return the reason that owners claim an ε without noise, if any."""
    with np.errstate(over="ignore"):  # for the least ε that there are
        noiseless = ~(np.asarray(noise.variance) > 0)
        allotment = privacy.allotment(len(numbers))
        if allotment is not None:
            noiseless = allotment.of_any(noiseless)
        exact = np.isfinite(accountant.epsilon) & noiseless
    if not exact.any():
        return []
    sentence = "mechanism {mechanism} adds no noise for {owners}: answers are exact"
    owners = Listed.from_numbers(numbers[exact].tolist())
    return [reason(sentence, mechanism=privacy.mechanism.kind, owners=owners)]


def _large_delta(delta: float, n_protected: int, noun: str) -> tuple[Noted, ...]:
    """Return the note that δ is not below 1/n, for n protected records or owners, if so."""
    count = "N" if noun == "owner" else "n"
    sentence = (
        f"δ = {{delta:g}} is not below 1/{count} = {{share:.2g}}: a mechanism that shows one "
        f"{noun}, drawn at random, would pass with it"
    )
    if delta * n_protected < 1:
        return ()
    return (reason(sentence, delta=delta, share=1 / n_protected),)


def _exceeded(gradients: ObservedMax | None, xi: float) -> bool | None:
    """Return whether the declared bound was exceeded; None if that is not known."""
    if gradients is None:
        return None
    if np.any(gradients.largest > xi):
        return True
    return None if gradients.unseen > 0 else False


def _resting(gradients: ObservedMax, xi: float, *, broken: bool) -> list[Noted]:
    """Return the conditions of a claim that is not broken, and unchecked queries."""
    if gradients.unseen > 0:
        sentence = (
            "{queries} of {answered} answered queries were not checked: the declared bound "
            "{bound:g} may be exceeded there"
        )
        answered = gradients.seen + gradients.unseen
        return [reason(sentence, queries=gradients.unseen, answered=answered, bound=xi)]
    sentence = (
        "the claim rests on the declared bound {bound:g}: no record of this table exceeded it at "
        "{queries} answered queries, at the start, at θ* or at the final models; other records may"
    )
    return [] if broken else [reason(sentence, bound=xi, queries=gradients.seen)]


def _published(privacy: Privacy, n_features: int) -> tuple[list[Noted], float]:
    """Return the reasons that published forms of noise break the claim, and the factor of ε."""
    breaks: list[Noted] = []
    factor = 1.0
    if privacy.noise == "scalar-as-published":
        breaks.append(reason(_ONE_DRAW))
    if privacy.sensitivity is not None and privacy.sensitivity.norm == "l2-as-published":
        factor = sqrt(n_features)
        breaks.append(reason(_OTHER_NORM, factor=factor))
    return breaks, factor


def _public(rows_of_owner: tuple[int, ...], numbers: OwnerNumbers) -> Sequence[Noted]:
    """Return the reason that owners' records are public, if any."""
    shared = numbers[np.asarray(rows_of_owner) > 0]
    if len(shared) == 0:
        return []
    sentence = "public overlap: {rows} public rows are records of {owners}, ε = ∞ there"
    return [reason(sentence, rows=sum(rows_of_owner), owners=Listed.from_numbers(shared.tolist()))]


_DIVERGED = (
    "the model diverged in {replicates} replicates: no bound holds for gradients at an "
    "infinite model, and which answers are finite reveals records"
)
_ONE_DRAW = (
    "one draw of noise on all coordinates: not private for any ε, since differences between "
    "coordinates leak exactly"
)
_OTHER_NORM = (
    "norm l2-as-published: Laplace noise scaled to an L2 bound gives up to √p = {factor:.3g} "
    "times the claimed ε"
)
