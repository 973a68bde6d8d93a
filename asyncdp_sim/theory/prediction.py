"""One prediction, or the reason why there is none."""

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

SPREADS = 5.0
"""A count so many standard deviations from its mean is never met."""


@dataclass(frozen=True)
class Unknown:
    """A value that is not known, and why.

    Attributes
    ----------
    reason : str
        In plain words; it may stand after "since".
    """

    reason: str

    def __str__(self) -> str:
        """Return the reason."""
        return self.reason


class NoFormulaError(Exception):
    """No formula is known: raised where a value is worked out, with the reason in plain words."""


def no_formula_if(doubt: object, reason: str = "") -> None:
    """Raise where there is a doubt that a formula holds: a reason, or a condition with its reason.

    Parameters
    ----------
    doubt : object
        A text, empty where there is none; or a condition.
    reason : str
        Why no formula holds, where the condition is met.
    """
    if doubt:
        raise NoFormulaError(reason or str(doubt))


def known(of: Callable[_P, _T], *given: _P.args, **named: _P.kwargs) -> _T | Unknown:
    """Return a value that is worked out, or why it is not known."""
    try:
        return of(*given, **named)
    except NoFormulaError as error:
        return Unknown(str(error))


def required(result: _T | Unknown) -> _T:
    """Return a value that is needed for another one."""
    if isinstance(result, Unknown):
        raise NoFormulaError(result.reason)
    return result


@dataclass(frozen=True)
class Prediction:
    """The long-run value of one figure of a run's summary, while no budget is spent.

    Attributes
    ----------
    quantity : str
        Its key in the summary.
    value : float or None
        None where the formula does not hold for this network.
    formula : str
        The formula, with what it assumes.
    reason : str
        Why it does not hold; empty where it does.
    low, high : float or None
        Between what it lies all the same, where the value is None; None where nobody knows.
    """

    quantity: str
    value: float | None
    formula: str
    reason: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def between(self) -> tuple[float, float] | None:
        """Low and high, where there are such bounds."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def either(
    quantity: str,
    found: float | Unknown,
    formula: str,
    bounds: tuple[float, float] | tuple[None, None] = (None, None),
) -> Prediction:
    """Return a prediction from its value, or from why there is none and what it lies between."""
    if isinstance(found, Unknown):
        return Prediction(quantity, None, formula, found.reason, *bounds)
    return Prediction(quantity, found, formula)


def each_of(
    quantities: tuple[str, ...], found: tuple[float | Unknown, ...] | Unknown, formula: str
) -> Iterator[Prediction]:
    """Yield predictions from their values, or from the one reason why there are none."""
    values = (found,) * len(quantities) if isinstance(found, Unknown) else found
    return (either(name, value, formula) for name, value in zip(quantities, values, strict=True))


@cache
def phrases() -> dict[str, str]:
    """Return what a person reads in place of recorded phrases."""
    return tomllib.loads(files(__package__).joinpath("plain.toml").read_text("utf-8"))


def plain(text: str) -> str:
    """Return a recorded formula or reason as a person reads it."""
    for recorded, clear in phrases().items():
        text = text.replace(recorded, clear)
    return text
