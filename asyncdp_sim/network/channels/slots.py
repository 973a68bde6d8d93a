"""Access at the beginning of slots: the next one for everybody, or one's own in each frame."""

from collections.abc import Callable

from typing_extensions import override

from asyncdp_sim.errors import Fault
from asyncdp_sim.kernel import TRANSMISSION_BEGINS, Waiting
from asyncdp_sim.network.channels.air import Air, Fate, Medium, Port
from asyncdp_sim.units import to_ticks


def too_long(slot: float, airtime: float) -> list[Fault]:
    """Return a fault where a slot is shorter than what is sent in it."""
    if to_ticks(airtime) <= to_ticks(slot):
        return []
    return [Fault("slot", f"{slot:g}", f"allowed is a number ≥ the airtime {airtime:g}")]


class SlottedMedium(Medium):
    """A channel on which transmissions begin with a slot.

    Parameters
    ----------
    air : Air
    slot : int
        Ticks; slot j is [j·slot, (j+1)·slot).
    frame : int, optional
        Slots in a frame, each of one owner; without frames every slot is everybody's.
    """

    def __init__(self, air: Air, slot: int, frame: int | None = None) -> None:
        super().__init__(air)
        self._air = air
        self._slot = slot
        self._frame = frame

    @override
    def port(self, owner: int) -> Port:
        if self._frame is None:
            return SlottedPort(self._air, self._slot)
        return SlottedPort(self._air, self._slot * self._frame, self._slot * (owner - 1), own=True)


class SlottedPort:
    """An owner that sends when its next slot begins, now if it does so now.

    Parameters
    ----------
    air : Air
    period, offset : int
        Its slots begin at offset + j·period, in ticks.
    own : bool
        Whether the slots are its own, so that one that it has claimed for another message is taken.
    """

    def __init__(self, air: Air, period: int, offset: int = 0, *, own: bool = False) -> None:
        self._air = air
        self._period = period
        self._offset = offset
        self._own = own
        self._free = 0

    def transmit(
        self,
        ticks: int,
        begun: Callable[[], bool],
        deferred: Callable[[], None],  # noqa: ARG002
    ) -> Waiting[Fate]:
        """Wait for the slot, then transmit."""
        kernel = self._air.kernel
        now = max(kernel.tick, self._free)
        start = now + (self._offset - now) % self._period
        if self._own:
            self._free = start + self._period
        if start > kernel.tick:
            yield start, TRANSMISSION_BEGINS
        fate = yield from self._air.attempt(ticks, begun)
        if fate is Fate.kept and self._free == start + self._period:
            self._free = start  # the slot is not used after all, and no later one is claimed
        return fate
