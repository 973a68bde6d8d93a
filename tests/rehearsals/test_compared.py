"""The printed comparison of a rehearsal with its simulation: the time of the machine itself."""

from types import SimpleNamespace
from typing import Any

import numpy as np

from asyncdp_sim.rehearsals.compare import cost


def rehearsal(unit: float, excess: list[float], time_unit: str | None = None) -> Any:
    run = SimpleNamespace(time_unit=time_unit)
    simulated = SimpleNamespace(scenario=SimpleNamespace(run=run))
    measured = SimpleNamespace(measured={"null_excess_ms": 7.0})
    return SimpleNamespace(
        unit=unit, excess=np.array(excess), simulated=simulated, measured=measured
    )


def test_the_machines_time_is_printed_in_milliseconds_and_in_units():
    short, long = cost(rehearsal(0.01, [0.002, 0.004])), cost(rehearsal(0.1, [0.002, 0.004], "day"))
    assert short == [
        "a time unit took 0.01 s",
        "an exchange took 3 ms longer than simulated (median 3 ms, at most 4 ms)",
        "this is 0.3 units; a longer --unit makes it smaller",
        "an exchange of empty messages, before the run, took 7 ms",
    ]
    assert long[2] == "this is 0.03 days; a longer --unit makes it smaller"


def test_without_an_answer_there_is_no_mean_of_exchanges():
    assert len(cost(rehearsal(0.01, []))) == 2
