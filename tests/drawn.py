"""Members of families, drawn from their unions: each field from its own domain.

Whoever chooses may be a generator of random numbers or hypothesis: see :class:`Domain`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import Spec, Variant, members
from asyncdp_sim.network.clocks import Clock, ScriptedClock
from asyncdp_sim.network.laws import Law, LawKind
from asyncdp_sim.scenario.fields import examples_of

TRIES = 20


class NothingFitsError(Exception):
    """No member was found that fits so many owners."""


@dataclass(frozen=True)
class Domain:
    """What fields may be.

    Attributes
    ----------
    choose : callable
        From several things to one of them.
    n_owners : int
        N; lists have one value per owner, or one, and whole numbers are 0 to N.
    numbers : tuple of float
        For fields that are numbers, where their own bounds allow them.
    law : callable, optional
        Returns a law for a field that is one; without it laws have fields of this domain too.
    """

    choose: Callable[[Sequence[Any]], Any]
    n_owners: int
    numbers: tuple[float, ...]
    law: Callable[[], Law] | None = None

    def of(self, family: Any, wanted: Callable[[Any], bool] = lambda _: True) -> Any:
        """Return a member of a family that fits the number of owners.

        Raises
        ------
        NothingFitsError
            If none was found.
        """
        kinds = [member for member in members(family) if wanted(member)]
        for _ in range(TRIES):
            found = self.member(self.choose(kinds))
            if not hasattr(found, "faults") or found.faults(self.n_owners) == []:
                return found
        raise NothingFitsError

    def clock(self, script: Callable[[], Clock], wanted: Callable[[Any], bool]) -> Clock:
        """Return a clock of any wanted kind that ticks, of each owner's own.

        A script of ticks is in order, which numbers that are drawn for its fields are not: it is
        handed in.
        """
        ticks = [each for each in members(Clock) if wanted(each) and not each.saturated]
        kind = self.choose(ticks)
        while True:
            found: Clock = script() if kind is ScriptedClock else self.of(kind)
            if not found.superposed:
                return found

    def member(self, member: type[Spec]) -> Any:
        """Return a member with fields of their domains, or an example if these do not fit."""
        for _ in range(TRIES):
            try:
                return member(**self._fields(member))
            except SpecError:
                continue
            except LookupError:  # a field of a type that is not drawn
                break
        if not issubclass(member, Variant):
            raise NothingFitsError
        return self.choose(examples_of(member))

    def _fields(self, member: type[Spec]) -> dict[str, Any]:
        return {
            name: self.value(field.annotation, field.metadata)
            for name, field in member.model_fields.items()
            if name != "kind"
        }

    def value(self, kind: Any, bounds: Sequence[Any] = ()) -> Any:
        """Return a value of a field's type, within its bounds.

        Raises
        ------
        LookupError
            If there is nothing to choose from.
        """
        if get_origin(kind) is Annotated:
            return self.value(get_args(kind)[0], [*get_args(kind)[1:], *bounds])
        if get_origin(kind) is Literal:
            return self.choose(get_args(kind))
        if get_origin(kind) in (Union, UnionType):
            return self._one_of(get_args(kind), bounds)
        if get_origin(kind) is tuple:
            length = self.choose((self.n_owners, 1))
            return tuple(self.value(get_args(kind)[0]) for _ in range(length))
        if kind is NoneType:
            return None
        if isinstance(kind, type) and issubclass(kind, Spec):
            return self.member(kind)
        several = {
            bool: (False, True),
            int: tuple(range(self.n_owners + 1)),
            float: self.numbers,
        }[kind]
        return self.choose([value for value in several if _within(value, bounds)])

    def _one_of(self, kinds: Sequence[Any], bounds: Sequence[Any]) -> Any:
        laws = all(isinstance(kind, type) and issubclass(kind, LawKind) for kind in kinds)
        if laws and self.law is not None:
            return self.law()
        return self.value(self.choose(kinds), bounds)


def _within(value: float, bounds: Sequence[Any]) -> bool:
    return all(
        value > getattr(bound, "gt", value - 1)
        and value >= getattr(bound, "ge", value)
        and value < getattr(bound, "lt", value + 1)
        and value <= getattr(bound, "le", value)
        for bound in _flat(bounds)
    )


def _flat(bounds: Sequence[Any]) -> Iterator[Any]:
    """Yield bounds, and those that stand within a pydantic field."""
    for bound in bounds:
        yield from _flat(bound.metadata) if hasattr(bound, "metadata") else (bound,)
