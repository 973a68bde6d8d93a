"""A test of many cases alike: some run by default, the others are long."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def one_in(
    n: int,
    names: str | Sequence[str],
    cases: Iterable[Any],
    *,
    ids: Iterable[str] | Callable[[Any], object] | None = None,
) -> pytest.MarkDecorator:
    """Parametrise a test as pytest does, and mark all cases but each n-th, from the first, long.

    Cases that are marked already keep their marks besides.
    """
    alone = isinstance(names, str)
    marked = []
    for place, case in enumerate(cases):
        found = case if hasattr(case, "marks") else None
        values = found.values if found else (case,) if alone else case
        marks = [*(found.marks if found else ()), *([pytest.mark.long] if place % n else [])]
        marked.append(pytest.param(*values, marks=marks, id=found.id if found else None))
    return pytest.mark.parametrize(names, marked, ids=ids)
