"""Rates near the resolution of time, and runs that last as long as it can count."""

from pathlib import Path

import numpy as np
import pytest

import asyncdp_sim as ad
from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.units import LAST_TICK, TICKS_PER_UNIT, total_units
from asyncdp_sim.network import Network
from asyncdp_sim.network.clocks import DeterministicClock, GammaClock, PoissonClock, SaturatedClock
from asyncdp_sim.network.laws import Constant
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.network.spec import NOTICED, REFUSED, meeting
from tests.cli.command import Command
from tests.cli.scenes import SMALL

FASTEST = REFUSED * TICKS_PER_UNIT


def of(clock: object, **parts: object) -> Network:
    return Network(answers_allowed=(5,) * 4, updates=5, clock=clock, **parts)


@pytest.mark.parametrize(
    "clock",
    [
        lambda rate: PoissonClock(rate=rate / 4),
        lambda rate: PoissonClock(rate=rate / 4, population="superposed"),
        lambda rate: PoissonClock(rate=(rate - 3.0, 1.0, 1.0, 1.0)),
        lambda rate: GammaClock(rate=rate / 4, cv=2.0),
        lambda rate: DeterministicClock(rate=rate / 4),
    ],
)
def test_clocks_are_refused_by_the_sum_of_their_rates(clock: object) -> None:
    assert callable(clock)
    assert meeting(4, of(clock(FASTEST))) == pytest.approx(REFUSED)
    with pytest.raises(SpecError, match=r"clock.rate: given owners whose clocks tick 1.01e\+07"):
        of(clock(1.01 * FASTEST))


def test_jobs_without_a_clock_too() -> None:
    saturated = {"clock": SaturatedClock(), "protocol": Push()}
    of(compute=Constant(value=4.01 / FASTEST), **saturated)
    with pytest.raises(SpecError, match="compute: given owners whose jobs end"):
        of(compute=Constant(value=3.99 / FASTEST), **saturated)


@pytest.mark.long
def test_a_reader_is_told_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Command(monkeypatch, capsys)
    rate = 2 * NOTICED * TICKS_PER_UNIT / 3
    said = "0.20% of the clocks' ticks share a time step with another tick"
    file = tmp_path / "fast.toml"
    file.write_text(SMALL.replace("rate = 1.0", f"rate = {rate}"), encoding="utf-8")
    assert f"resolution: {said}" in command.done("check", file).out
    assert f"note: {said}" in command.done("run", file, "--out", tmp_path / "r").err
    assert "resolution" not in command.done("check", file, "--set", "clock.rate=1").out


def test_a_run_as_long_as_time_is_counted() -> None:
    """The sum over replicates is beyond 64 bits, and so are sums of waits within one."""
    asked = ad.load("vary-availability").replace(
        clock={"kind": "poisson", "rate": 1e-8},
        run={"updates": 500, "until": 1e9, "replicates": 10},
    )
    result = ad.run(asked)
    summary = result.manifest["summary"]
    assert summary["simulated_time"] == pytest.approx(1e9)
    assert summary["updates"] > 0


def test_sums_of_times_beyond_64_bits() -> None:
    assert total_units(np.full(5, LAST_TICK)) == 5 * LAST_TICK / TICKS_PER_UNIT
    assert total_units(np.array([3, -5])) == -2e-9
    assert total_units(np.array([], dtype=np.int64)) == 0.0
