"""The clock, latency and availability of owners, as a person states them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from asyncdp_sim.core.units import ROUNDS, SECONDS, duration, in_unit
from asyncdp_sim.proposals.block import commented


@dataclass(frozen=True)
class Timing:
    """The pace of owners: how often they can answer, how long that takes, when they are online.

    Attributes
    ----------
    unit : str or None
        Of all times; None where nothing is said of the clock.
    every, exchange : float or None
        Mean time between an owner's answers, and time that an exchange takes, in that unit.
    online : float or None
        The share of its ticks at which an owner is online.
    """

    unit: str | None = None
    every: float | None = None
    exchange: float | None = None
    online: float | None = None

    @classmethod
    def read(cls, every: str | None, exchange: str | None, online: float | None) -> Self:
        """Read durations; times are in the unit of ``every``.

        Raises
        ------
        ValueError
            If one is no duration, or an exchange is given without a clock.
        """
        if every is None:
            if exchange is not None:
                raise ValueError("--exchange goes with --every, whose unit all times are in")
            return cls(online=online)
        number, unit = duration(every)
        if exchange is None:
            return cls(unit, number, None, online)
        length, other = duration(exchange)
        return cls(unit, number, length * SECONDS[other] / SECONDS[unit], online)

    def run_lines(self) -> list[tuple[str, str]]:
        """Return what stands in [run]."""
        if self.unit is None:
            return []
        return [(f'time_unit = "{self.unit}"', "unit of printed times")]

    def tables(self) -> list[str]:
        """Return [clock], [latency] and [availability], of which something is said."""
        return [line for table in self._tables() for line in ("", *table)]

    def _tables(self) -> Iterator[list[str]]:
        if self.every is not None:
            comment = in_unit(f"every {self.every:.6g} units", self.unit)
            rate = (f"rate = {1 / self.every:.6g}", f"an owner can answer {comment} on average")
            yield ["[clock]", *commented(('kind = "poisson"', "at random"), rate)]
        if self.exchange is not None:
            value = f"{self.exchange:.6g}"
            law = f'answer = {{ kind = "constant", value = {value} }}'
            comment = in_unit(f"an exchange takes {value} units", self.unit)
            yield ["[latency]", *commented((law, comment))]
        if self.online is not None:
            share = (f"probability = {self.online:g}", "share of its ticks that an owner is online")
            yield ["[availability]", *commented(('kind = "bernoulli"', ""), share)]

    def describe(self) -> str:
        """Return what times mean."""
        if self.unit is None:
            return f'time: {ROUNDS}; --every "1 day" sets it to days'
        return f"time: in {self.unit}s"
