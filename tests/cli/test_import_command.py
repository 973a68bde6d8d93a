"""``asyncdp import``: what it prints and writes, and how it refuses."""

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
    (here / "t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    return here


REFUSED = table(__file__, "refused.toml")


@pytest.mark.parametrize("words", REFUSED["imports"])
def test_what_is_wrong_is_one_line(words, command, folder):
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
    assert "#   1: 'bank 1'" in text
    scenario, _ = load(folder / "t.toml")
    assert abs(scenario.compute.mean - 0.1) < 0.02
    assert scenario.latency.answer.instant
    command.done("run", "t.toml", "--set", "run.updates=20")
