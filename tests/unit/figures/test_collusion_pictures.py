"""Pictures of what colluders know, and the programs that measure it."""

import tomllib
from pathlib import Path

import numpy as np
import pytest
from made import made, scenario

from analysis.privacy.collusion import Learned, averaging, by_epsilon
from analysis.privacy.curious_servers import by_servers, one_more
from analysis.privacy.recovered import advantage_bound
from asyncdp_sim.figures import Result
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.spec.base import parse
from asyncdp_sim.sweeps import sweep
from scenarios import collusion, curious_servers
from scenarios.studies import study

INF = float("inf")
SWEPT = """
schema = 1
id = "collude"
[run]
updates = 40
replicates = 2
[owners]
count = 2
records = 10
[data]
kind = "gaussian"
features = 2
[model]
kind = "ridge"
regularisation = 0.1
[protocol]
kind = "rounds"
[algorithm]
kind = "collab-1"
rho = 20.0
[privacy]
epsilon = 1.0
sensitivity = { kind = "clip", bound = 5.0 }
[sweep]
"privacy.epsilon" = [[1.0, 1.0], [inf, 1.0]]
[[sweep.variant]]
name = "rounds"
[[sweep.variant]]
name = "gossip"
"protocol.kind" = "request"
algorithm = { kind = "async-gossip", rho = 9.0 }
"""


def row(name: str, epsilon: float, error: float, noise: float) -> Learned:
    return Learned(name, epsilon, 9.0, error, error / 3, noise, noise / 3)


def test_errors_against_epsilon_with_infinity_at_the_end(tmp_path: Path) -> None:
    rows = [row("a", 1.0, 2.0, 2.1), row("a", INF, 1e-15, 0.0), row("a", 10.0, 0.2, 0.21)]
    picture = by_epsilon(rows, [Result.read(made(tmp_path / "r", (), scenario()))])
    single, mean = picture.figure.axes
    markers, exact, line = single.lines[:3]
    assert list(markers.get_xdata()) == [1, 10]
    assert list(markers.get_ydata()) == [2.0, 0.2]
    assert (list(exact.get_xdata()), exact.get_marker()) == ([100], "v")
    assert single.get_ylim()[0] > 1e-3  # what rounding leaves does not squeeze the rest
    assert [each.get_text() for each in single.texts] == ["rounding alone: at most 1e-15"]
    assert [each.get_text() for each in mean.texts] == ["rounding alone: at most 3e-16"]
    assert list(line.get_ydata()) == [2.1, 0.21]
    picture.figure.canvas.draw()
    assert [tick.get_text() for tick in single.get_xticklabels()] == ["1", "10", "∞"]
    assert single.get_ylim() == mean.get_ylim()
    assert list(picture.table["single"]) == [2.0, 1e-15, 0.2]


def test_averaging_stays_below_what_epsilon_allows(tmp_path: Path) -> None:
    picture = averaging([0.5, 2.0], [Result.read(made(tmp_path / "r", (), scenario()))])
    assert picture.table["answers"][0] == 1
    for epsilon in (0.5, 2.0):
        assert (picture.table[f"advantage_{epsilon:g}"] < advantage_bound(epsilon)).all()


@pytest.mark.long
def test_a_sweep_is_run_again_and_drawn(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SWEPT)
    sweep(load(tmp_path / "s.toml")[0], tmp_path / "sweep")
    drawn, notes = study("owner-learner-collude", tmp_path / "sweep")
    assert ([path.name for path in drawn], notes) == (["collusion.png", "averaging.png"], [])
    lines = (tmp_path / "sweep" / "figures" / "collusion.csv").read_text().splitlines()
    assert len(lines) == 5
    exact = [columns for columns in (line.split(",") for line in lines) if columns[1] == "inf"]
    assert len(exact) > 0
    assert all(float(columns[3]) < 1e-11 for columns in exact)
    assert (tmp_path / "sweep" / "figures" / "captions-of-collusion.md").is_file()


def test_nothing_worked_out_is_no_error() -> None:
    short: Scenario = parse(Scenario, tomllib.loads(SWEPT.replace("updates = 40", "updates = 1")))
    found = collusion.learned(short, "one update")
    assert found.answers == 0
    assert np.isnan([found.single, found.mean, found.noise]).all()


def test_curious_servers() -> None:
    rows = [r for n in (2, 3) for r in curious_servers.measured(4, n, clients=300)]
    assert [r.error for r in rows if r.servers == r.uploads] == [0.0] * 4
    assert all(abs(r.error - r.expected) < 0.1 for r in rows)
    assert all(r.cosine > 1 - 1e-12 for r in rows if r.additive == 0)
    chosen = [r for r in rows if r.additive == 1]
    picture = by_servers(chosen)
    assert list(picture.table["servers"]) == [1, 2, 1, 2, 3]
    errors, cosines = picture.figure.axes
    assert list(errors.lines[2].get_xdata()) == [1, 2, 3]
    assert np.all(np.asarray(cosines.lines[1].get_ydata()) <= 1)
    more = one_more(rows)
    assert list(more.table["uploads"] - more.table["servers"]) == [1] * 4
