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
"""Standard deviations from its mean at which a count is taken never to be: of a normal one, with
probability 3·10⁻⁷."""


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


def known(formula: Callable[_P, _T], *given: _P.args, **named: _P.kwargs) -> _T | Unknown:
    """Return the value of a formula, or why it does not hold."""
    try:
        return formula(*given, **named)
    except NoFormulaError as error:
        return Unknown(str(error))


def required(result: _T | Unknown) -> _T:
    """Return a value that another formula needs; raise :class:`NoFormulaError` if unknown."""
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
        Bounds of the value, where it is None; None where no bound is known.
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
    value: float | Unknown,
    formula: str,
    bounds: tuple[float, float] | tuple[None, None] = (None, None),
) -> Prediction:
    """Return the prediction of a value, or of bounds where the value is not known."""
    if isinstance(value, Unknown):
        return Prediction(quantity, None, formula, value.reason, *bounds)
    return Prediction(quantity, value, formula)


def each_of(
    quantities: tuple[str, ...], values: tuple[float | Unknown, ...] | Unknown, formula: str
) -> Iterator[Prediction]:
    """Return the predictions of several values, or of none of them for one common reason."""
    values = (values,) * len(quantities) if isinstance(values, Unknown) else values
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
