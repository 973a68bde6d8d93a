"""Objects that the Python door returns: results, forecasts and traces with their pictures.

Wrong arguments and attributes are answered with what is allowed.
"""

import os
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from asyncdp_sim.core.errors import Fault, SpecError
from asyncdp_sim.core.validation import show


def as_path(given: object, name: str, allowed: str) -> Path:
    """Return a path.

    Parameters
    ----------
    given : object
    name : str
        The argument's.
    allowed : str
        What it may be, in words.

    Raises
    ------
    SpecError
        If it is no path.
    """
    if not isinstance(given, str | os.PathLike):
        raise wrong_type(name, given, allowed)
    return Path(given)


def as_count(given: object, name: str, least: int = 1) -> int:
    """Return a whole number ≥ ``least``, or raise a SpecError."""
    if isinstance(given, bool) or not hasattr(given, "__index__") or given.__index__() < least:
        raise SpecError([Fault(name, show(given), f"allowed is a whole number ≥ {least}")])
    return int(given.__index__())


def as_number(given: object, name: str, allowed: str, fits: Callable[[Any], bool]) -> float:
    """Return a number that ``fits``, or raise a SpecError that says which are allowed.

    A whole number may be too large for a float until it fits.
    """
    if isinstance(given, bool) or not isinstance(given, Real) or not fits(given):
        raise SpecError([Fault(name, show(given), f"allowed is {allowed}")])
    return float(given)


def as_names(given: object, name: str, count: int) -> list[str]:
    """Return ``count`` different texts, or raise a SpecError."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise wrong_type(name, given, f"a list of {count} different texts")
    texts = list(given)
    if not (all(isinstance(text, str) for text in texts) and len({*texts}) == len(texts) == count):
        raise SpecError([Fault(name, show(texts), f"allowed is a list of {count} different texts")])
    return texts


def wrong_type(name: str, given: object, allowed: str) -> SpecError:
    """Return the error for an argument of another type."""
    kind = type(given).__name__
    return SpecError([Fault(name, f"a value of type {kind}", f"allowed is {allowed}")])


def no_attribute(owner: str, name: str, public: Iterable[str]) -> AttributeError:
    """Return the error for a name that is not there, with the nearest one that is."""
    names = sorted(key for key in public if not key.startswith("_"))
    near = get_close_matches(name, names, n=1, cutoff=0.5)
    meant = f"did you mean {near[0]!r}? " if len(near) > 0 else ""
    return AttributeError(
        f"{owner} has no attribute {name!r}; {meant}known: {', '.join(names)}", name=name
    )


class Named:
    """Answers a misspelt attribute with the nearest one."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            raise no_attribute(type(self).__name__, name, dir(self))
