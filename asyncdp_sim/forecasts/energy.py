"""Energy that a run is expected to take, in closed form where occupation times are known."""

from asyncdp_sim.decision.forecast import EnergyForecast
from asyncdp_sim.measures.energy import expected
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.theory.prediction import Unknown


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
