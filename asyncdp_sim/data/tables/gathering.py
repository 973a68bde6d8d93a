"""All that is wrong with a table, step by step, and said at once."""

from collections.abc import Iterable
from types import TracebackType
from typing import Self

from asyncdp_sim.errors import DataError, Fault


class Gathering:
    """Goes on past wrong input, as far as the next step does not need what the last one lacks.

    Each step stands in a ``with`` block of its own; :meth:`end` raises what was found.
    """

    def __init__(self) -> None:
        self._found: list[Fault] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if isinstance(error, DataError):
            self.add(error.faults)
            return True
        return False

    def add(self, faults: Iterable[Fault]) -> None:
        """Note faults."""
        self._found += faults

    def end(self) -> None:
        """Raise a :class:`~asyncdp_sim.errors.DataError` if anything was wrong."""
        if len(self._found) > 0:
            raise DataError(dict.fromkeys(self._found))
