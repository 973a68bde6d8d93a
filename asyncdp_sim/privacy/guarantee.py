"""The guarantee: whether a run is private as its scenario claims, and every reason if it is not.

The ledger holds the ε that each owner has spent. It charges answers at release, delivered or not.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import InvariantError
from asyncdp_sim.core.messages import Listed, Noted, NumberOrRange
from asyncdp_sim.privacy.accountants import Accountant
from asyncdp_sim.privacy.mechanisms import AnswerNoise
from asyncdp_sim.privacy.observers import Listener, TranscriptObserver
from asyncdp_sim.privacy.pairs import Attacker, of_gaussian, of_pure
from asyncdp_sim.privacy.spec import Privacy
from asyncdp_sim.trace import Trace

BROKEN = "not private: "
"""Prefix of reasons why a result is not private as claimed."""
UNSHOWN = "not shown: "
"""Prefix of reasons why that is not shown: unchecked queries, or a claim that depends on custom
code."""
UNTIMED = "timing not accounted: "
"""Prefix of the reason if senders and times reveal something about records."""
CHOSEN = "settings chosen from private records, not accounted"
"""Reason why no ε holds if settings were chosen from private records."""
_REASONS = tomllib.loads(files(__package__).joinpath("reasons.toml").read_text("utf-8"))
"""Sentences by name, with the names of their numbers."""


def reason(sentence: str, **values: NumberOrRange | Listed | str) -> Noted:
    """Return a reason why a result is not private, or a condition of its claim."""
    return Noted(sentence, tuple(values.items()))


def not_vouched_for(outside: Sequence[str]) -> Noted:
    """Return the note that a claim depends on these parts of custom code."""
    return reason(_REASONS["outside"], parts=", ".join(outside))


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
    unprotected = [
        *([reason(CHOSEN)] if chosen else []),
        *_public(public_rows_of_owner, numbers),
        *([] if timing is None else [reason(f"{UNTIMED}{{why}}", why=timing)]),
    ]
    if not privacy.hides:
        exact = reason(_REASONS["obfuscated" if obfuscated else "exact"])
        return Guarantee(False, inf, None, None, (exact, *unprotected))
    if privacy.on_trust and gradients is None:
        raise ValueError("a declared bound needs the gradients of the queries that were answered")

    one_draw = privacy.noise == "scalar-as-published"  # which hides no coordinate from the others
    factor = sqrt(n_features) if _in_another_norm(privacy) else 1.0
    limited = [*_limited(privacy, accountant, gradients, xi, factor, numbers)]
    unlimited = [*_unlimited(privacy, accountant, noise, numbers, diverged, unsound), *unprotected]
    broken = len(limited) + len(unlimited) > 0

    epsilon: float | None = inf  # where there is no finite one
    if not one_draw and len(unlimited) == 0:
        if len(outside) > 0:
            epsilon = None
        elif observed is not None:  # such observers require an enforced bound and its norm
            epsilon = observed
        else:
            excess = 1.0 if gradients is None else np.maximum(1, gradients.largest / xi)
            # how many times as long as the bound record gradients are
            factors = np.full(len(records), factor * excess)
            epsilon = accountant.together(accountant.answers, privacy.overlap, factors)

    notes = [*limited, *unlimited]
    if not broken and len(outside) > 0:
        notes.append(not_vouched_for(outside))
    if gradients is not None:
        notes += _resting(gradients, xi, broken=broken)
    unseen = None if gradients is None else gradients.unseen
    private: bool | None = not broken
    if private and (unseen not in (None, 0) or len(outside) > 0):
        private = None
    only_public = len(unlimited) <= int(np.any(np.asarray(public_rows_of_owner) > 0))
    return Guarantee(
        private=private,
        epsilon_true=epsilon,
        delta=accountant.delta,
        bound_exceeded=_exceeded(gradients, xi),
        because=tuple(notes),
        remarks=_large_delta(privacy, accountant.delta, records),
        at_least=gradients is not None,
        unseen=unseen,
        times=factor if only_public and not one_draw else inf,
    )


def foreseen(
    privacy: Privacy,
    n_owners: int,
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
    n_owners : int
        N.
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
    as_published = privacy.noise == "scalar-as-published" or _in_another_norm(privacy)
    if leaks_beyond_answers or as_published or np.isinf(privacy.asked(n_owners)).any():
        return False
    return None if privacy.on_trust or len(outside) > 0 else True


def _in_another_norm(privacy: Privacy) -> bool:
    """Return whether Laplace noise is scaled to a bound in L2, as published."""
    return privacy.sensitivity is not None and privacy.sensitivity.norm == "l2-as-published"


def _limited(
    privacy: Privacy,
    accountant: Accountant,
    gradients: ObservedMax | None,
    xi: float,
    factor: float,
    numbers: OwnerNumbers,
) -> Iterator[Noted]:
    """Yield the reasons why a claim does not hold, though some larger ε may."""
    if privacy.noise == "scalar-as-published":
        yield reason(_REASONS["one_draw"])
    if _in_another_norm(privacy):
        yield reason(_REASONS["other_norm"], factor=factor)
    if gradients is not None and _exceeded(gradients, xi):
        worst, largest = int(np.argmax(gradients.largest)), float(gradients.largest.max())
        norm, owner = privacy.norm.upper(), int(numbers[worst])
        yield reason(_REASONS["exceeded"], bound=xi, norm=norm, largest=largest, owner=owner)
    without, n_owners = numbers[np.isinf(accountant.epsilon)], len(accountant.epsilon)
    if len(without) > 0:
        published = len(without) == 1 < n_owners
        plays = ", as published, where it plays the learner itself" if published else ""
        yield reason(_REASONS["infinite"] + plays, owners=Listed.from_numbers(without.tolist()))


def _unlimited(
    privacy: Privacy,
    accountant: Accountant,
    noise: AnswerNoise,
    numbers: OwnerNumbers,
    diverged: int,
    unsound: str | None,
) -> Iterator[Noted]:
    """Yield the reasons why no finite ε holds: answers reveal records."""
    with np.errstate(over="ignore"):  # for the least ε that there are
        noiseless = ~(np.asarray(noise.variance) > 0)
    allotment = privacy.allotment(len(numbers))
    if allotment is not None:
        noiseless = allotment.of_any(noiseless)
    exact = numbers[np.isfinite(accountant.epsilon) & noiseless]
    if len(exact) > 0:
        owners = Listed.from_numbers(exact.tolist())
        yield reason(_REASONS["noiseless"], mechanism=privacy.mechanism.kind, owners=owners)
    if diverged > 0:
        yield reason(_REASONS["diverged"], replicates=diverged)
    if unsound is not None:
        yield reason("{why}", why=unsound)


def _large_delta(privacy: Privacy, delta: float, records: Ints) -> tuple[Noted, ...]:
    """Return the note that δ is not below 1/n, for n protected records or owners, if so."""
    count, protected = ("N", len(records)) if privacy.per_owner else ("n", int(records.max()))
    if delta * protected < 1:
        return ()
    sentence = (
        f"δ = {{delta:g}} is not below 1/{count} = {{share:.2g}}: a mechanism that shows one "
        f"{privacy.noun}, drawn at random, would pass with it"
    )
    return (reason(sentence, delta=delta, share=1 / protected),)


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
        answered = gradients.seen + gradients.unseen
        return [
            reason(_REASONS["unchecked"], queries=gradients.unseen, answered=answered, bound=xi)
        ]
    return [] if broken else [reason(_REASONS["on_trust"], bound=xi, queries=gradients.seen)]


def _public(rows_of_owner: tuple[int, ...], numbers: OwnerNumbers) -> Sequence[Noted]:
    """Return the reason that owners' records are public, if any."""
    shared = numbers[np.asarray(rows_of_owner) > 0]
    if len(shared) == 0:
        return []
    owners = Listed.from_numbers(shared.tolist())
    return [reason(_REASONS["public"], rows=sum(rows_of_owner), owners=owners)]


@dataclass(frozen=True, eq=False)
class Ledger:
    """The spending of the owners of R replicates, folded from their traces.

    Attributes
    ----------
    accountant : Accountant
    released : array of int (R, N)
        Distinct noisy answers whose first transmission began. A retransmission does not count; an
        answer that is computed again does.
    spent : array (R, N)
        ε spent; infinite where records of the owner are public.
    zcdp : array (R, N), optional
        ρ spent; None of mechanisms that are not Gaussian.
    median : array (R, N), optional
        ε against the median of several observers; None for a single observer of all answers.
    """

    accountant: Accountant
    released: Ints
    spent: Array
    zcdp: Array | None = None
    median: Array | None = None

    @classmethod
    def from_traces(
        cls,
        accountant: Accountant,
        traces: Sequence[Trace],
        public: Sequence[int] = (),
        observer: Listener | None = None,
    ) -> "Ledger":
        """Fold traces; ``public`` has the number of each owner's records that the learner knows.

        ``observer`` is the attacker that ε is stated for; absent, one that receives every answer.

        Raises
        ------
        InvariantError
            If an owner spent more than its budget.
        """
        released = np.stack([trace.released for trace in traces])
        learned = (observer or TranscriptObserver()).learned(accountant, traces)
        charged = learned.most
        _require_within(accountant.epsilon, charged)
        if len(public) > 0:
            charged = np.where(np.array(public) > 0, np.inf, charged)
        return cls(accountant, released, charged, learned.zcdp, learned.median)

    def attacker(self, owners: int, times: float) -> Attacker:
        """Return the rates of an attacker that uses all it receives, (R, N).

        The record is held by the owner and κ − 1 others, those that spent the most.

        Parameters
        ----------
        owners : int
            κ, owners that hold the record.
        times : float
            True cost of answers over their charge; ∞ if they may reveal anything.
        """
        unprotected = np.isinf(self.spent) | np.isinf(times)
        if self.zcdp is not None:  # Gaussian noise, whose ``times`` is 1 or ∞
            # ρ of the answers that the observer receives, not of all released ones
            rho = np.where(unprotected, np.inf, self.zcdp)
            return of_gaussian(np.sqrt(2 * _shared(rho, owners)))
        if owners == 1 and times == 1:
            limits = self.accountant.attacker(self.released)
            return Attacker(
                np.where(unprotected, 1.0, limits.power),
                np.where(unprotected, 1.0, limits.advantage),
            )
        with np.errstate(invalid="ignore"):  # 0 · ∞
            cost = np.where(unprotected, np.inf, self.spent * times)
        return of_pure(_shared(cost, owners), self.accountant.delta)

    def ratio(self) -> float | None:
        """Return the largest spent share of a finite budget; None if no budget is finite."""
        finite = np.isfinite(self.accountant.epsilon)
        if not finite.any():
            return None
        return float((self.spent[:, finite] / self.accountant.epsilon[finite]).max())

    def shared(self, owners: int) -> float:
        """Return the largest ε, over replicates, of a record that so many owners (κ) share."""
        if np.isinf(self.spent).any():
            return np.inf
        return max(self.accountant.together(released, owners) for released in self.released)


def _shared(cost: Array, owners: int) -> Array:
    """Return the joint spending of each owner and the κ − 1 others that spent the most."""
    dearest = np.sort(cost, axis=-1)[..., ::-1]
    other_costs = dearest[..., : owners - 1].sum(axis=-1, keepdims=True)
    return np.asarray(other_costs + np.minimum(cost, dearest[..., owners - 1 : owners]))


def _require_within(budget: Array, charged: Array) -> None:
    """Raise if more was charged than an owner's budget, up to the rounding of sums."""
    above = np.argwhere(charged > budget * (1 + 1e-9))
    if len(above) > 0:
        row, owner = above[0]
        sentence = f"owner {owner + 1} spent ε = {charged[row, owner]:g} of {budget[owner]:g}"
        raise InvariantError(f"the ledger is above a budget: {sentence} (row {row + 1})")
