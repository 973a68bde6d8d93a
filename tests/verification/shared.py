"""Scores are worked out once in a test run, also where several processes share it.

The check of their spread needs every score again; under ``pytest -n`` it may run in a process
other than the one that has it.
"""

import pickle
from collections.abc import Callable
from functools import cache, wraps
from hashlib import sha256
from pathlib import Path
from typing import Any

place: Path | None = None
"""Where the processes of this run leave results for each other; None where there is only one."""


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Remember what a function of hashable arguments returns, for all processes of this run."""

    @cache
    @wraps(function)
    def remembered(*arguments: Any, **named: Any) -> Any:
        if place is None:
            return function(*arguments, **named)
        said = repr((function.__module__, function.__qualname__, arguments, sorted(named.items())))
        path = place / f"{sha256(said.encode()).hexdigest()[:32]}.scores"
        if path.exists():
            return pickle.loads(path.read_bytes())
        found = function(*arguments, **named)
        unfinished = path.with_suffix(f".{id(found)}.tmp")
        unfinished.write_bytes(pickle.dumps(found))
        unfinished.replace(path)
        return found

    return remembered
