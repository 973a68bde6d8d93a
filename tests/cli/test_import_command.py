"""``asyncdp import``: what it prints and writes, and how it refuses."""

import json
import pickle
from pathlib import Path

import pytest

from asyncdp_sim.network import Network
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.scenario import load
from tests.cli.command import Command
from tests.unit.imports.measure import measured, shuffled


@pytest.fixture(autouse=True)
def folder(here: Path) -> Path:
    device = {"active": [0, 50], "inactive": [40, 60], "finish_time": 100, "duration": 50}
    (here / "devices.pkl").write_bytes(pickle.dumps({9: device, 4: device}))
    log = "2020-01-28 10:00:00\twifi\n2020-01-28 10:01:00\t4G"
    (here / "states.json").write_text(json.dumps({"a": {"messages": log}}))
    return here


def test_devices_become_a_table(command: Command, folder: Path) -> None:
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


def test_a_topology_becomes_a_graph_file_that_runs(command: Command, folder: Path) -> None:
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


WRONG = {
    "fedscale no.pkl -o a.csv": "given 'no.pkl'; there is no such file; allowed",
    "fedscale states.json -o a.csv": "given 'states.json'; the file is not a whole",
    "fedscale devices.pkl -o a.txt": "devices.pkl: -o: given 'a.txt'; allowed is",
    "flash devices.pkl -o a.csv": "given 'devices.pkl'; the file is not UTF-8",
    "flash states.json -o a.csv --needs wifi,sun": "given --needs wifi,sun; allowed: charging,wifi",
    "trace states.json -o a.toml": "given a trace; add --fit",
    "trace states.json -o a.toml --fit": "states.json: given the header",
    "flash states.json -o a.csv --unit s": "given --unit; allowed with topology",
    "ping states.json -o a.toml": "asyncdp: Invalid value for",
    "fedscale devices.pkl -o no/a.csv": "No such file or directory",
    "topology c.graphml --unit h -o n.graphml": "c.graphml: --unit: given 'h'; allowed:",
    "topology c.graphml --unit 0 -o n.graphml": "c.graphml: --unit: given '0'; allowed:",
    "topology c.graphml --missing -1 -o n.graphml": "allowed is a number ≥ 0",
    "topology c.graphml --learner Pisa -o n.graphml": "a node: Oslo, Rome, Bern",
    "topology c.graphml -o n.csv": "c.graphml: -o: given 'n.csv'; allowed is a name that ends",
    "topology c.graphml -o ./c.graphml": "c.graphml: -o: given 'c.graphml'; allowed is a name",
    "topology no.graphml -o n.graphml": "no.graphml: given 'no.graphml'; there is no such file",
    "topology c.gml -o n.graphml": "nx.write_graphml(nx.read_gml('c.gml', label='id'), ",
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_one_line(words, command, folder):
    (folder / "c.graphml").write_text(WEIGHTS, encoding="utf-8")
    before = sorted(folder.iterdir())
    assert WRONG[words] in command.refused("import", *words.split())
    assert sorted(folder.iterdir()) == before


ROW = "owner,request,read,release,end\n"
LOG = "client,sent,received\n"
ASSIGNED = "2026-03-01 10:00:00,000 - assigned task to client a: name=train, id=1\n"
UNTIMED = "INFO :      SuperNode ID: 5\nINFO :      Receiving: train message (ID: 1)\n"
NO_CLIENTS = "INFO flower 2022-01-06 09:21:15,045 | server.py:148 | fit progress: (4, 2.3)\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (ROW + "a,1,2,1.5,3\n", "given a,1,2,1.5,3 (t.csv, line 2); allowed are times"),
        (ROW + "a,1,,2,3\n", "given a,1,,2,3 (t.csv, line 2); allowed are times"),
        (ROW + "a,soon,,,\n", "given a,soon,,, (t.csv, line 2); allowed are times"),
        (ROW + "a,-1,,,\n", "given a,-1,,, (t.csv, line 2); allowed are times"),
        (ROW + "a,,,,\n", "given a,,,, (t.csv, line 2); allowed are times"),
        (
            ROW + "a,1,2,3,4\na,5,6,7,8\n",
            "given a first half with 1 answer, and 1 owner with fewer",
        ),
        (
            ROW + "a,1,,,\na,2,,,\n",
            "given no request with an answer; allowed are 20 answers in each",
        ),
        (ROW + "a,1,2,3\n", "given 4 values (t.csv, line 2); allowed are 5, one per column"),
        (LOG + "a,2,1\n", "given a,2,1 (t.csv, line 2); allowed are sent and"),
        (LOG + ",1,2\n", "given ,1,2 (t.csv, line 2); allowed are sent and"),
        (LOG + "a,soon,2\n", "given a,soon,2 (t.csv, line 2); allowed are"),
        (
            LOG + "a,1,2\na,2026-03-01T10:00,\n",
            "given a,2026-03-01T10:00, (t.csv, line 3); allowed are",
        ),
        (LOG + "a,1,2e9\n", "given 2e+09 s between first and last (t.csv)"),
        ("client,sent\na,1\n", "given the header 'client,sent' (t.csv, line 1); allowed"),
        (ASSIGNED, "given no request with an answer; allowed are 20 answers in each half"),
        (ASSIGNED.replace("train", "validate"), "given no task named train (t.csv); allowed"),
        (
            UNTIMED,
            "given no time: 'INFO : Receiving: train message (ID: 1)' (t.csv, line 2); "
            "allowed are lines with a time (Flower: FLWR_LOG_LEVEL=DEBUG)",
        ),
        (NO_CLIENTS, "given a log without clients: 'INFO flower 2022-01-06"),
    ],
)
def test_a_wrong_trace_or_log_is_one_line(text, line, command, folder):
    (folder / "t.csv").write_text(text)
    assert line in command.refused("import", "trace", "t.csv", "--fit", "-o", "t.toml")
    assert not (folder / "t.toml").exists()


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
