"""Many small cases in one test, all of which are tried and told: a test of its own costs more.

Under xdist a test takes some 5 ms of two processes, whatever it does.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import signature
from itertools import product
from typing import Any

import pytest

PARAM = type(pytest.param())
Case = tuple[str, dict[str, Any]]
"""What a case is called, and its arguments."""


def together(test: Callable[..., None]) -> Callable[..., None]:
    """Return a parametrised test as a single one, which fails with all cases that fail.

    It stands above ``pytest.mark.parametrize``, and is for cases of some milliseconds, without
    fixtures that one case could leave changed for the next.

    Raises
    ------
    ValueError
        If there is no case.
    """
    marks = list(getattr(test, "pytestmark", ()))
    parameters = [mark for mark in marks if mark.name == "parametrize"]
    cases = [_joined(parts) for parts in product(*(list(_cases(mark)) for mark in parameters))]
    if len(parameters) == 0 or len(cases) == 0:
        raise ValueError(f"{test.__name__} has no case; allowed is a parametrised test with some")

    @wraps(test)
    def whole(*args: Any, **fixtures: Any) -> None:
        wrong: list[BaseException] = []
        for name, given in cases:
            try:
                test(*args, **fixtures, **given)
            except (Exception, pytest.fail.Exception) as error:
                error.add_note(f"in the case {name}")
                wrong.append(error)
        if len(wrong) > 0:
            raise BaseExceptionGroup(f"{len(wrong)} of {len(cases)} cases", wrong)

    asked = signature(test)
    others = [each for name, each in asked.parameters.items() if name not in cases[0][1]]
    whole.__signature__ = asked.replace(parameters=others)  # type: ignore[attr-defined]
    whole.pytestmark = [mark for mark in marks if mark.name != "parametrize"]  # type: ignore[attr-defined]
    return whole


def _cases(mark: pytest.Mark) -> Iterator[Case]:
    """Give what ``pytest.mark.parametrize(names, values, ids=…)`` asks for."""
    names, values = mark.args
    keys = [each.strip() for each in names.split(",")] if isinstance(names, str) else list(names)
    ids = mark.kwargs.get("ids")
    listed = list(values)
    called = [None] * len(listed) if ids is None or callable(ids) else list(ids)
    for value, name in zip(listed, called, strict=True):
        if isinstance(value, PARAM):
            given, name = value.values, value.id if name is None else name
        else:
            given = (value,) if len(keys) == 1 else tuple(value)
        if name is None:
            name = "-".join(str(ids(each)) if callable(ids) else repr(each) for each in given)
        yield name, dict(zip(keys, given, strict=True))


def _joined(parts: tuple[Case, ...]) -> Case:
    names = "-".join(name for name, _ in parts)
    return names, {key: value for _, given in parts for key, value in given.items()}
