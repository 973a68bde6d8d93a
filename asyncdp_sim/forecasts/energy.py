"""Energy that a run is expected to take, in closed form where occupation times are known."""

from dataclasses import dataclass

from asyncdp_sim.core.words import extent, figure, number
from asyncdp_sim.measures.energy import expected
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.prediction import Unknown, plain


@dataclass(frozen=True)
class EnergyForecast:
    """The energy that owners will use.

    Attributes
    ----------
    joules : float or None
        All owners' expected energy until the last update; None where it is not known.
    joules_half_width : float
        Of its 95 % interval, as that of the time; 0 where that is exact.
    watts : tuple of float
        Mean power of each owner, its bytes included; empty where it is not known.
    bytes_sent, bytes_received : float or None
        Of all owners until the last update; None where they are not known.
    reason : str
        Why it is not known; empty where it is.
    """

    joules: float | None
    joules_half_width: float
    watts: tuple[float, ...]
    bytes_sent: float | None
    bytes_received: float | None
    reason: str

    def describe(self) -> str:
        """Return it in words."""
        if self.joules is None:
            return f"no formula applies, because {plain(self.reason)}; a run measures it"
        half = f" ± {figure(self.joules_half_width)}" if self.joules_half_width > 0 else ""
        moved = f"{_bytes(self.bytes_sent)} bytes sent, {_bytes(self.bytes_received)} received"
        return f"{figure(self.joules)}{half} J of all owners, {extent(self.watts)} W each; {moved}"


def energy_forecast(scenario: Scenario, time: float, half_width: float) -> EnergyForecast | None:
    """Return the energy of a run of this expected duration; None where none is specified.

    Parameters
    ----------
    scenario : Scenario
        Without a sweep.
    time, half_width : float
        Until the last update (time units), and of its 95 % interval.
    """
    if scenario.energy is None:
        return None
    result = expected(scenario.energy, scenario.network)
    if isinstance(result, Unknown):
        return EnergyForecast(None, 0.0, (), None, None, result.reason)
    per_unit, updates = float(result.watts.sum()) * scenario.energy.seconds, result.updates * time
    return EnergyForecast(
        joules=per_unit * time,
        joules_half_width=per_unit * half_width,
        watts=tuple(result.watts.tolist()),
        bytes_sent=result.sent * updates,
        bytes_received=result.received * updates,
        reason="",
    )


def _bytes(count: float | None) -> str:
    return figure(None) if count is None else number(round(count))
