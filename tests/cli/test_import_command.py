"""``asyncdp import``: what it prints and writes, and how it refuses."""

import json
import pickle
from pathlib import Path

import pytest

from asyncdp_sim.network import Network
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.scenario import load
from tests.tables import table
from tests.unit.imports.measure import measured, shuffled


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    device = {"active": [0, 50], "inactive": [40, 60], "finish_time": 100, "duration": 50}
    (here / "devices.pkl").write_bytes(pickle.dumps({9: device, 4: device}))
    log = "2020-01-28 10:00:00\twifi\n2020-01-28 10:01:00\t4G"
    (here / "states.json").write_text(json.dumps({"a": {"messages": log}}))
    return here


def test_devices_become_a_table(command, folder):
    said = command.done("import", "fedscale", "devices.pkl", "-o", "online.csv", "--first", 1)
    assert said.out.splitlines() == [
        "1 device, 2 intervals (seconds)",
        "online 50 % of the time",
        'availability = { kind = "intervals", path = "online.csv", period = 100.0 }  # for '
        "a scenario with owners.count = 1",
        "written to online.csv",
    ]
    said = command.done("import", "flash", "states.json", "-o", "on.parquet", "--needs", "wifi")
    assert said.out.splitlines()[1] == "online 100 % of the time"
    assert (folder / "on.parquet").exists()


WEIGHTS = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="w" for="edge" attr.name="weight" attr.type="double"/>
<graph edgedefault="directed"><node id="Oslo"/><node id="Rome"/><node id="Bern"/>
<edge source="Oslo" target="Rome"><data key="w">10</data></edge>
<edge source="Rome" target="Oslo"><data key="w">12</data></edge>
<edge source="Oslo" target="Bern"><data key="w">40</data></edge>
</graph></graphml>
"""
RUN = """schema = 1
id = "two-cities"
owners = { count = 2, records = 50 }
run = { updates = 20 }
data = { kind = "gaussian", features = 2 }
model = { kind = "ridge", regularisation = 1e-3 }
algorithm = { kind = "async-gossip", rho = 10.0 }
privacy = { epsilon = 1.0, sensitivity = { kind = "clip", bound = 1.0 } }
"""


def test_a_topology_becomes_a_graph_file_that_runs(command, folder):
    (folder / "clouds.graphml").write_text(WEIGHTS, encoding="utf-8")
    (folder / "direct.toml").write_text(
        RUN + 'topology = { kind = "file", path = "clouds.graphml" }\n', encoding="utf-8"
    )
    line = command.refused("check", "direct.toml")
    assert line.endswith("convert it: asyncdp import topology clouds.graphml -o NEW.graphml")
    said = command.done(
        "import", "topology", "clouds.graphml", "--unit", "ms", "-o", "net.graphml"
    ).out.splitlines()
    assert said[-1] == "written to net.graphml"
    assert said[4] == "learner: 'Oslo', the first node of the file; --learner NODE takes another"
    (folder / "s.toml").write_text(f"{RUN}{said[-2]}\n", encoding="utf-8")
    command.done("run", "s.toml")
    scenario, _ = load(folder / "s.toml")
    assert scenario.topology.distances(2) == (0.011, 0.04)
    before = (folder / "net.graphml").read_bytes()
    command.done("import", "topology", "clouds.graphml", "--unit", "ms", "-o", "net.graphml")
    assert (folder / "net.graphml").read_bytes() == before


REFUSED = table(__file__, "refused.toml")


@pytest.mark.parametrize("words", REFUSED["imports"])
def test_what_is_wrong_is_one_line(words, command, folder):
    (folder / "c.graphml").write_text(WEIGHTS, encoding="utf-8")
    before = sorted(folder.iterdir())
    assert REFUSED["imports"][words] in command.refused("import", *words.split())
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("text", REFUSED["traces"])
def test_a_wrong_trace_or_log_is_one_line(text, command, folder):
    (folder / "t.csv").write_text(text)
    said = command.refused("import", "trace", "t.csv", "--fit", "-o", "t.toml")
    assert REFUSED["traces"][text] in said
    assert not (folder / "t.toml").exists()


@pytest.mark.long
def test_a_trace_becomes_a_scenario_whatever_the_order_of_its_rows(command, folder):
    network = Network(
        answers_allowed=(10**6,) * 2,
        updates=10**6,
        until=300.0,
        compute=Exponential(mean=0.1),
        protocol=Push(),
    )
    measured(network, folder / "t.csv")
    first = command.done("import", "trace", "t.csv", "--fit", "-o", "t.toml")
    text = (folder / "t.toml").read_text()
    shuffled(folder / "t.csv", 3)
    again = command.done("import", "trace", "t.csv", "--fit", "-o", "t.toml").out
    schema = "also written: asyncdp.schema.json; editors use it to complete and check the file\n"
    assert again + schema == first.out
    assert (folder / "t.toml").read_text() == text
    assert "#   1: bank 1" in text
    scenario, _ = load(folder / "t.toml")
    assert abs(scenario.compute.mean - 0.1) < 0.02
    assert scenario.latency.answer.instant
    command.done("run", "t.toml", "--set", "run.updates=20")
