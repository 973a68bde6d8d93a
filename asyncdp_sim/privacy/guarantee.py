"""The ledger and the guarantee: ε that each owner has spent, and whether a run is private.

The ledger charges answers at their release, delivered or not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.core.arrays import Array, Ints
from asyncdp_sim.core.errors import InvariantError
from asyncdp_sim.core.messages import Listed, Noted, Number
from asyncdp_sim.privacy.accountants.own import Accountant
from asyncdp_sim.privacy.accountants.pairs import Attacker, of_gaussian, of_pure
from asyncdp_sim.privacy.mechanisms import AnswerNoise
from asyncdp_sim.privacy.observers import Listener, TranscriptObserver
from asyncdp_sim.privacy.spec import Privacy
from asyncdp_sim.trace import Trace


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
        listener = TranscriptObserver() if observer is None else observer
        learned = listener.learned(accountant, traces)
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
        bare = np.isinf(self.spent) | np.isinf(times)
        if (
            self.zcdp is not None
        ):  # of the answers that the observer receives, not of all released ones
            return of_gaussian(np.sqrt(2 * _shared(np.where(bare, np.inf, self.zcdp), owners)))
        if owners == 1 and times == 1:
            curve = self.accountant.attacker(self.released)
            power, advantage = (np.where(bare, 1.0, e) for e in (curve.power, curve.advantage))
            return Attacker(power, advantage)
        with np.errstate(invalid="ignore"):  # 0 · ∞
            cost = np.where(bare, np.inf, self.spent * times)
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


BROKEN = "not private: "
"""Prefix of warnings that state why a result is not private as claimed."""
UNSHOWN = "not shown: "
"""Prefix of reasons if some queries were not checked and there is no other reason."""
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


Numbers = npt.NDArray[np.integer]


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
    at_least : bool
        Whether ``epsilon_true`` covers only the table's own records and is a lower bound: other
        records may exceed a declared bound by any factor.
    unseen : int or None
        Answered queries at which a declared bound was not checked; None if it is enforced.
    times : float
        True cost of every owner's answers over their charge, if a bound is enforced; ∞ if they may
        reveal more than public records, of which ``Ledger.spent`` is ∞. Without noise: not used.
    """

    private: bool | None
    epsilon_true: float | None
    delta: float | None
    bound_exceeded: bool | None
    because: tuple[Noted, ...]
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
    look: ObservedMax | None,
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
    look : ObservedMax or None
        None if the bound is enforced.
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

    Raises
    ------
    ValueError
        If a bound was declared and no gradients were observed.
    """
    untimed = [] if timing is None else [reason(f"{UNTIMED}{{why}}", why=timing)]
    called = np.arange(1, len(records) + 1) if owners is None else np.array(owners)
    public = _public(public_rows_of_owner, called)
    settings = [reason(CHOSEN)] if chosen else []
    if not privacy.hides:
        bare = "answers are exact: no noise is added"
        if obfuscated:
            bare = "obfuscated, no DP guarantee: perturbations that cancel have no finite ε"
        return Guarantee(False, inf, None, None, (reason(bare), *settings, *public, *untimed))
    if privacy.on_trust and look is None:
        raise ValueError("a declared bound needs a look at the queries that were answered")
    scaled, factor = _published(privacy, n_features)
    excess = np.ones(len(records)) if look is None else np.maximum(1, look.largest / xi)
    factors = factor * excess  # how many times as long as the bound record gradients are
    lost = [] if diverged == 0 else [reason(_DIVERGED, replicates=diverged)]
    recoded = [] if unsound is None else [reason("{why}", why=unsound)]
    moved = [*lost, *recoded, *settings, *public, *untimed]
    endless = [*_without_noise(noise, accountant, privacy, called), *moved]
    breaks = [
        *scaled,
        *_beyond(look, xi, privacy.norm, called),
        *_without_budget(accountant, called),
        *endless,
    ]
    one_draw = privacy.noise == "scalar-as-published"
    private_leak = one_draw or len(endless) > len(public)  # more than public records
    infinite = one_draw or len(endless) > 0
    true = inf if infinite else _true_epsilon(privacy, accountant, factors, observed, outside)
    notes = breaks.copy()
    if len(breaks) == 0 and len(outside) > 0:
        notes.append(not_vouched_for(outside))
    if look is not None:
        notes += _resting(look, xi, broken=len(breaks) > 0)
    of_how_many = len(records) if privacy.per_owner else int(records.max())
    notes += _large_delta(accountant.delta, of_how_many, privacy.noun)
    unseen = None if look is None else look.unseen
    shown = unseen in (None, 0) and len(outside) == 0
    return Guarantee(
        private=False if len(breaks) > 0 else True if shown else None,
        epsilon_true=true,
        delta=accountant.delta,
        bound_exceeded=_exceeded(look, xi),
        because=tuple(notes),
        at_least=look is not None,
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

    None if it depends on custom code.
    """
    of_all = accountant.together(accountant.answers, privacy.overlap, factors)
    return None if len(outside) > 0 else of_all if observed is None else observed


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
        What timing tells of records that nobody pays for.
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
    moved = timing is not None or len(unsound) > 0
    exposed = bool(np.isinf(privacy.asked(n_owners)).any())
    if moved or exposed or len(_published(privacy, n_features)[0]) > 0:
        return False
    return None if privacy.on_trust or len(outside) > 0 else True


def _beyond(look: ObservedMax | None, xi: float, norm: str, called: Numbers) -> list[Noted]:
    """Return the reason that a declared bound is exceeded, if it is."""
    if look is None or not _exceeded(look, xi):
        return []
    worst = int(called[np.argmax(look.largest)])
    sentence = (
        "the declared bound {bound:g} on a record gradient's {norm} norm is exceeded: "
        "{largest:.4g} at owner {owner}"
    )
    largest = float(look.largest.max())
    return [reason(sentence, bound=xi, norm=norm.upper(), largest=largest, owner=worst)]


def _without_budget(accountant: Accountant, called: Numbers) -> list[Noted]:
    """Return the reason that owners have infinite ε, if any."""
    unlimited, n_owners = called[np.isinf(accountant.epsilon)], len(accountant.epsilon)
    if len(unlimited) == 0:
        return []
    published = len(unlimited) == 1 < n_owners
    plays = ", as published, where it plays the learner itself" if published else ""
    sentence = f"ε = ∞ for {{owners}}: {{owners:their}} answers are exact{plays}"
    return [reason(sentence, owners=Listed.from_numbers(unlimited.tolist()))]


def _without_noise(
    noise: AnswerNoise, accountant: Accountant, privacy: Privacy, called: Numbers
) -> list[Noted]:
    """Return the reason that owners claim an ε without noise, if any."""
    with np.errstate(over="ignore"):  # for the least ε that there are
        noiseless, allotment = ~(np.asarray(noise.variance) > 0), privacy.allotment(len(called))
        if allotment is not None:
            noiseless = allotment.of_any(noiseless)
        exact = np.isfinite(accountant.epsilon) & noiseless
    if not exact.any():
        return []
    sentence = "mechanism {mechanism} adds no noise for {owners}: answers are exact"
    owners = Listed.from_numbers(called[exact].tolist())
    return [reason(sentence, mechanism=privacy.mechanism.kind, owners=owners)]


def _large_delta(delta: float, largest: int, noun: str) -> list[Noted]:
    """Return the note that δ is not below 1/n, for n records or owners, if so."""
    count = "N" if noun == "owner" else "n"
    sentence = (
        f"δ = {{delta:g}} is not below 1/{count} = {{share:.2g}}: a mechanism that shows one "
        f"{noun}, drawn at random, would pass with it"
    )
    return [reason(sentence, delta=delta, share=1 / largest)] if delta * largest >= 1 else []


def _exceeded(look: ObservedMax | None, xi: float) -> bool | None:
    """Return whether the declared bound was exceeded; None if that is not known."""
    if look is None:
        return None
    if np.any(look.largest > xi):
        return True
    return None if look.unseen > 0 else False


def _resting(look: ObservedMax, xi: float, *, broken: bool) -> list[Noted]:
    """Return the conditions of a claim that is not broken, and unchecked queries."""
    if look.unseen > 0:
        sentence = (
            "{queries} of {answered} answered queries were not checked: the declared bound "
            "{bound:g} may be exceeded there"
        )
        answered = look.seen + look.unseen
        return [reason(sentence, queries=look.unseen, answered=answered, bound=xi)]
    sentence = (
        "the claim rests on the declared bound {bound:g}: no record of this table exceeded it at "
        "{queries} answered queries, at the start, at θ* or at the final models; other records may"
    )
    return [] if broken else [reason(sentence, bound=xi, queries=look.seen)]


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


def _public(rows_of_owner: tuple[int, ...], called: Numbers) -> Sequence[Noted]:
    """Return the reason that owners' records are public, if any."""
    shared = called[np.asarray(rows_of_owner) > 0]
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
