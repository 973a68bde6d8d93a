"""Charges of answers whose losses compose: those that a budget allows, and answers that fit it."""

from decimal import ROUND_DOWN, Context
from functools import lru_cache
from math import inf, sqrt

from asyncdp_sim.privacy.accountants.gaussian_law import mu_of
from asyncdp_sim.privacy.accountants.losses import together, unlike
from asyncdp_sim.privacy.accountants.pairs import PurePair

DIGITS = 6
"""A charge is rounded down to so many decimals: the same on machines that round otherwise."""
_NEAR = 1.05
"""How far apart first guesses of a charge are."""


@lru_cache(maxsize=4096)
def charge_of(
    kind: type[PurePair],
    epsilon: float,
    delta: float,
    answers: int,
    relative: tuple[float, ...] | None = None,
) -> float:
    """Return ε₀, hardly less than the largest of which K answers are (ε, δ)-private together.

    Parameters
    ----------
    kind : type of PurePair
        The pair of an answer of charge ε₀.
    epsilon : float
        ε > 0, finite.
    delta : float
        δ in (0, 1).
    answers : int
        K ≥ 1.
    relative : tuple of float, optional
        How many times ε₀ each costs, where they cost unequally much: 1 in the mean.
    """
    least = epsilon / answers
    if answers == 1:  # δ of one answer is worked out to the last digit, and gives 2δ at most
        return least

    def fits(charge: float) -> bool:
        if relative is None:
            return _fits(kind, charge, epsilon, delta, answers)
        return together(unlike(kind, charge, relative), delta).epsilon(delta) <= epsilon

    low = max(least, mu_of(epsilon, delta) / sqrt(answers))
    while low > least and not fits(low):
        low = max(least, low / _NEAR)
    high = low * _NEAR
    while fits(high):
        low, high = high, high * _NEAR
    while high > low * (1 + 10.0**-DIGITS):
        middle = sqrt(low * high)
        inside = fits(middle)
        low, high = (middle, high) if inside else (low, middle)
    rounded = down(low)
    while rounded > least and not fits(rounded):
        rounded = down(rounded * (1 - 10.0**-DIGITS))
    return max(least, rounded)


def down(number: float) -> float:
    """Return a number rounded down to :data:`DIGITS` digits."""
    return float(Context(prec=DIGITS, rounding=ROUND_DOWN).create_decimal(repr(number)))


@lru_cache(maxsize=4096)
def answers_of(kind: type[PurePair], charge: float, epsilon: float, delta: float) -> int:
    """Return how many answers of ε₀ each are (ε, δ)-private together; at least those that add up.

    Parameters
    ----------
    kind : type of PurePair
    charge, epsilon : float
        ε₀ and ε ≥ ε₀, finite.
    delta : float
        δ in (0, 1).
    """
    low, high = max(1, int(epsilon / charge)), inf
    while high - low > 1:
        middle = 2 * low if high == inf else (low + int(high)) // 2
        inside = _fits(kind, charge, epsilon, delta, middle)
        low, high = (middle, high) if inside else (low, middle)
    return low


def _fits(kind: type[PurePair], charge: float, epsilon: float, delta: float, answers: int) -> bool:
    return together(((kind(charge), answers),), delta).epsilon(delta) <= epsilon


__all__ = ["answers_of", "charge_of", "down"]
