"""What a run guarantees, said precisely: the label that follows a result everywhere."""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from asyncdp_sim.privacy.accounting import Gaussian, Pure
from asyncdp_sim.privacy.label import UNTIMED
from asyncdp_sim.privacy.sensitivity import Declared
from asyncdp_sim.privacy.spec import Privacy

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Guarantee:
    """The privacy of a run's answers under replacement of one record.

    Attributes
    ----------
    private : bool or None
        Whether every owner's answers, and when they come, are (ε_i, δ)-differentially private as
        the scenario claims; None where that is not shown, since queries were not looked at.
    epsilon_true : float
        The largest ε over records that the noise really gives; ∞ where there is none.
    delta : float or None
        δ at which ε is stated, 0 of pure mechanisms; None where nothing is hidden.
    bound_exceeded : bool or None
        Whether a record gradient exceeded the declared bound; None where the bound is enforced, or
        where none did and queries were not looked at.
    reasons : tuple of str
        Why it is not private, or what the claim rests on.
    at_least : bool
        Whether ``epsilon_true`` is of the table's own records alone, and the least that ε may be:
        over all records a declared bound may be exceeded by any factor.
    unseen : int or None
        Answered queries at which a declared bound was not looked at; None where it is enforced.
    """

    private: bool | None
    epsilon_true: float
    delta: float | None
    bound_exceeded: bool | None
    reasons: tuple[str, ...]
    at_least: bool = False
    unseen: int | None = None


@dataclass(frozen=True, eq=False)
class Look:
    """What was seen of record gradients where a bound was declared.

    Attributes
    ----------
    largest : array (N,)
        The largest record gradient met, per owner, in the norm of the declared bound.
    seen, unseen : int
        Answered queries that were looked at, and that were not.
    """

    largest: Array
    seen: int
    unseen: int = 0


def guarantee(
    privacy: Privacy,
    accountant: Pure | Gaussian,
    xi: float,
    n_features: int,
    look: Look | None,
    public_rows_of_owner: tuple[int, ...],
    records: npt.NDArray[np.int64],
    *,
    diverged: int = 0,
    obfuscated: bool = False,
    timing: str | None = None,
    unsound: str | None = None,
) -> Guarantee:
    """Judge a run's privacy.

    Parameters
    ----------
    privacy : Privacy
        What the scenario asks for.
    accountant : Pure or Gaussian
        What all answers that owners may release cost.
    xi : float
        Ξ, the bound that the noise was scaled for.
    n_features : int
        p.
    look : Look or None
        None where the bound is enforced.
    public_rows_of_owner : tuple of int
        How many of each owner's records the learner knows.
    records : array of int (N,)
        n_i.
    diverged : int
        In how many replicates the model became infinite; answers there may tell records by being
        finite or not, and no bound holds for them.
    obfuscated : bool
        Whether owners perturb their answers so that all perturbations cancel (POLAR).
    timing : str, optional
        What timing tells of records that nobody pays for: who speaks, and when, has no finite ε.
    unsound : str, optional
        Why one private record has a say in what is made of others, where it has.

    Raises
    ------
    ValueError
        If a bound was declared and nobody has looked.
    """
    untimed = [] if timing is None else [f"{UNTIMED}{timing}"]
    if privacy.mechanism == "none":
        exact = "mechanism none: the answers are exact"
        hidden = "obfuscated, no DP guarantee: perturbations that cancel have no finite ε"
        breaks = [hidden if obfuscated else exact, *_public(public_rows_of_owner), *untimed]
        return Guarantee(False, inf, None, None, tuple(breaks))
    if isinstance(privacy.sensitivity, Declared) and look is None:
        raise ValueError("a declared bound needs a look at the queries that were answered")
    breaks, factor = _published(privacy, n_features)
    factors = np.full(len(records), factor)
    exceeded = _exceeded(look, xi)
    if look is not None and exceeded is True:
        worst = int(np.argmax(look.largest)) + 1
        breaks.append(
            f"the declared bound {xi:g} on a record gradient's {privacy.norm.upper()} norm is "
            f"exceeded: {look.largest.max():.4g} at owner {worst}"
        )
    if look is not None:
        factors *= np.maximum(1, look.largest / xi)
    silent = np.flatnonzero(np.isinf(accountant.epsilon)) + 1
    if len(silent) > 0:
        published = len(silent) == 1 < len(records)
        plays = ", as published, where it plays the learner itself" if published else ""
        whose = "its" if len(silent) == 1 else "their"
        breaks.append(f"ε = ∞ for {_owners(silent)}: {whose} answers are exact{plays}")
    true = accountant.together(accountant.answers, privacy.overlap, factors)
    open_to_all = _public(public_rows_of_owner)
    if diverged > 0:
        breaks.append(
            f"the model diverged in {diverged} replicates: no bound holds for gradients at an "
            "infinite model, and which answers are finite tells records"
        )
    recoded = [] if unsound is None else [unsound]
    breaks += [*recoded, *open_to_all, *untimed]
    endless = len(recoded) + len(open_to_all) + len(untimed) + diverged
    if endless > 0 or privacy.noise == "scalar-as-published":
        true = inf
    notes = list(breaks)
    if look is not None:
        notes += _resting(look, xi, broken=len(breaks) > 0)
    largest_n = int(records.max())
    if accountant.delta * largest_n >= 1:
        notes.append(
            f"δ = {accountant.delta:g} is not below 1/n = {1 / largest_n:.2g}: a mechanism that "
            "shows one record, drawn at random, would pass with it"
        )
    unseen = None if look is None else look.unseen
    shown = unseen is None or unseen == 0
    private = False if len(breaks) > 0 else True if shown else None
    delta = accountant.delta
    return Guarantee(private, true, delta, exceeded, tuple(notes), look is not None, unseen)


def _exceeded(look: Look | None, xi: float) -> bool | None:
    """Return whether the declared bound was exceeded, as far as is known."""
    if look is None:
        return None
    if np.any(look.largest > xi):
        return True
    return None if look.unseen > 0 else False


def _resting(look: Look, xi: float, *, broken: bool) -> list[str]:
    """Return what a claim that is not broken rests on, and what was left out."""
    if look.unseen > 0:
        total = look.seen + look.unseen
        return [
            f"{look.unseen} of {total} answered queries were not looked at: the declared bound "
            f"{xi:g} may be exceeded there"
        ]
    if broken:
        return []
    return [
        f"the claim rests on the declared bound {xi:g}: no record of this table exceeded it at "
        f"{look.seen} answered queries, at the start, at θ* or at the final models; other records "
        "may"
    ]


def _published(privacy: Privacy, n_features: int) -> tuple[list[str], float]:
    """Return how the noise is not what is claimed, and how many times ε that makes it."""
    breaks, factor = [], 1.0
    if privacy.noise == "scalar-as-published":
        breaks.append(
            "noise scalar-as-published: one draw on all coordinates is not private for any ε, "
            "since differences between coordinates leak exactly"
        )
    if privacy.sensitivity is not None and privacy.sensitivity.norm == "l2-as-published":
        factor = sqrt(n_features)
        breaks.append(
            "norm l2-as-published: Laplace noise scaled to an L2 bound gives up to "
            f"√p = {factor:.3g} times the claimed ε"
        )
    return breaks, factor


def _public(rows_of_owner: tuple[int, ...]) -> list[str]:
    """Return that owners' records are public, if they are."""
    shared = np.flatnonzero(np.asarray(rows_of_owner) > 0) + 1
    if len(shared) == 0:
        return []
    rows = sum(rows_of_owner)
    return [f"public overlap: {rows} public rows are records of {_owners(shared)}, ε = ∞ there"]


def _owners(numbers: npt.NDArray[np.int64]) -> str:
    listed = ", ".join(str(n) for n in numbers[:5])
    more = "" if len(numbers) <= 5 else f" and {len(numbers) - 5} more"
    return f"owner {listed}" if len(numbers) == 1 else f"owners {listed}{more}"
