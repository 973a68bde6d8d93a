"""Pictures of what colluders know, and the programs that measure it."""

import tomllib
from math import inf

import numpy as np
import pytest

from analysis.privacy.curious_servers import by_servers, one_more
from analysis.studies import collusion
from asyncdp_sim.core.specification import parse
from asyncdp_sim.results import Sweep
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sweeps import sweep
from scenarios import curious_servers
from tests.scenes import text

INF = float("inf")
SWEPT = text(
    id="collude",
    run={"updates": 40, "replicates": 2},
    owners={"count": 2, "records": 10},
    protocol={"kind": "rounds"},
    algorithm={"kind": "collab-1", "rho": 20.0},
    privacy={"sensitivity": {"kind": "clip", "bound": 5.0}},
    sweep={
        "privacy.epsilon": [[1.0, 1.0], [inf, 1.0]],
        "variant": [
            {"name": "rounds"},
            {
                "name": "gossip",
                "protocol.kind": "request",
                "algorithm": {"kind": "async-gossip", "rho": 9.0},
            },
        ],
    },
)


@pytest.mark.long
def test_a_sweep_is_run_again_and_drawn_with_infinity_at_the_end(tmp_path):
    (tmp_path / "s.toml").write_text(SWEPT)
    sweep(load(tmp_path / "s.toml")[0], tmp_path / "sweep")
    picture = collusion.FIGURE.picture(Sweep.read(tmp_path / "sweep"))
    table, single = picture.table, picture.figure.axes[0]
    assert table["name"].tolist() == ["rounds"] * 2 + ["gossip"] * 2
    assert table["epsilon"].tolist() == [1.0, INF] * 2
    exact = table["single"][np.isinf(table["epsilon"])]
    assert (exact < 1e-11).all()
    assert [tick.get_text() for tick in single.get_xticklabels()] == ["1", "∞"]
    assert single.get_ylim()[0] > 1e-3  # what rounding leaves does not squeeze the rest
    assert single.texts[0].get_text() == f"▾ rounding error ≤ {exact.max():.0e}"
    assert len({axes.get_ylim() for axes in picture.figure.axes}) == 1


def test_nothing_worked_out_is_no_error():
    short: Scenario = parse(Scenario, tomllib.loads(SWEPT.replace("updates = 40", "updates = 1")))
    found = collusion.learned(short)
    assert found.answers == 0
    assert np.isnan([found.single, found.mean, found.noise]).all()


def test_curious_servers():
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
