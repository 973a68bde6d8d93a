"""Charges of answers whose losses compose: those that a budget allows, and answers that fit it."""

from decimal import ROUND_DOWN, Context
from functools import lru_cache
from math import inf, sqrt

from asyncdp_sim.privacy.accountants.gaussian_law import mu_of
from asyncdp_sim.privacy.accountants.losses import together
from asyncdp_sim.privacy.accountants.pairs import PurePair

DIGITS = 6
"""A charge is rounded down to so many decimals: the same on machines that round otherwise."""
_NEAR = 1.05
"""How far apart first guesses of a charge are."""


@lru_cache(maxsize=4096)
def charge_of(kind: type[PurePair], epsilon: float, delta: float, answers: int) -> float:
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
    """
    least = epsilon / answers
    if answers == 1:  # δ of one answer is worked out to the last digit, and gives 2δ at most
        return least
    low = max(least, mu_of(epsilon, delta) / sqrt(answers))
    while low > least and not _fits(kind, low, epsilon, delta, answers):
        low = max(least, low / _NEAR)
    high = low * _NEAR
    while _fits(kind, high, epsilon, delta, answers):
        low, high = high, high * _NEAR
    while high > low * (1 + 10.0**-DIGITS):
        middle = sqrt(low * high)
        inside = _fits(kind, middle, epsilon, delta, answers)
        low, high = (middle, high) if inside else (low, middle)
    rounded = down(low)
    while rounded > least and not _fits(kind, rounded, epsilon, delta, answers):
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
