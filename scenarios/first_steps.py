"""The library from Python, typed: ``python -m scenarios.first_steps DIR`` leaves pictures there."""

import sys
from pathlib import Path
from typing import assert_type

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import asyncdp_sim as ad


def main(folder: Path) -> list[str]:
    """Run, forecast, sweep and compare a private scenario; return what the comparison says."""
    small = {"run": {"updates": 30, "replicates": 4}, "owners": {"records": 1000}}
    scenario = ad.load("lending-sound").replace(**small)
    looser = scenario.replace(privacy={"epsilon": 3.0})

    expected = ad.forecast(looser)
    strict, loose = ad.run(scenario), ad.run(looser, out=folder / "loose", events=True)
    sweep = ad.sweep(scenario.replace(sweep={"privacy.epsilon": [0.5, 5.0]}))
    found = ad.compare(strict, loose, names=["strict", "loose"])

    assert_type(scenario, ad.Scenario)
    assert_type(expected, ad.Forecast)
    assert_type(loose, ad.Result)
    assert_type(sweep[0], ad.Result)
    assert_type(ad.open(folder / "loose"), ad.Result | ad.Sweep)
    assert_type(ad.simulate(scenario), ad.Trace)
    assert_type(found.plot.convergence(), Axes)
    assert_type(found, ad.Comparison)

    axes = assert_type(sweep.plot.convergence(by="time"), Axes)
    keep(axes, folder / "epsilon.png")
    keep(loose.plot.spacetime()[0], folder / "messages.png")
    return found.lines()


def keep(axes: Axes, file: Path) -> None:
    """Write the figure of some axes; untyped code says ``axes.figure.savefig(file)``."""
    if isinstance(axes.figure, Figure):
        axes.figure.savefig(file)


if __name__ == "__main__":
    sys.stdout.write("\n".join([*main(Path(sys.argv[1])), ""]))
