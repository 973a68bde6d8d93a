"""The privacy label goes where a result goes: every table, and the screen."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from asyncdp_sim.results import read_manifest, read_table
from asyncdp_sim.results.write import Writer
from asyncdp_sim.runs import run, write
from asyncdp_sim.scenario import load
from asyncdp_sim.sentences.label import Label, label
from asyncdp_sim.sentences.result import result_lines
from asyncdp_sim.sweeps import sweep
from tests.manifests import changed
from tests.scenes import text

SCENARIO = text(
    id="labelled",
    run={"updates": 12, "replicates": 2, "alone": True},
    owners={"count": 2, "records": 30},
    model={"kind": "ridge", "regularisation": 0.01},
    algorithm={"kind": "async-gossip", "rho": 1.0},
    privacy={
        "delta": 1e-05,
        "mechanism": "laplace",
        "sensitivity": {"kind": "declared", "bound": 0.001},
    },
    sweep={"privacy.mechanism": ["laplace", "gaussian"]},
)

SAID = Label("Private: ε = 1.", True, 1.0, 0.0, True, False)


@pytest.fixture
def file(tmp_path):
    (tmp_path / "s.toml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path / "s.toml"


def said_by(table: Path) -> dict[str, str]:
    """Return the label in a table's metadata."""
    found = pq.read_schema(table).metadata or {}
    said = {key.decode(): value.decode() for key, value in found.items()}
    return {key: value for key, value in said.items() if key.startswith("asyncdp.")}


def test_every_table_of_a_result_says_that_it_is_not_private(file, tmp_path):
    write(run(load(file)[0], events=True), tmp_path / "result")
    expected = label([read_manifest(tmp_path / "result")])
    assert expected.text.startswith("NOT PRIVATE as claimed")
    tables = sorted((tmp_path / "result").glob("*.parquet"))
    assert len(tables) == 7
    for table in tables:
        if table.name in ("events.parquet", "updates.parquet"):
            said = expected.metadata_of_network()
        else:
            released = table.name == "models.parquet"
            said = expected.metadata() if released else expected.metadata_of_exact()
        assert said_by(table) == said, table.name


@pytest.mark.parametrize(
    ("settings", "owners"),
    [
        (("run.alone=false",), {"owners": "true"}),
        (("run.alone=false", "data.held_out=0.25"), {"owners": "false"}),
        ((), {"owners": "false", "alone": "false"}),
    ],
    ids=["neither", "held out", "alone"],
)
def test_a_files_metadata_speaks_of_that_file(file, tmp_path, settings, owners):
    """Of a private run models alone are released: ψ, optima and losses are the simulator's."""
    private = 'privacy.sensitivity={kind="clip",bound=1.0}'
    write(run(load(file, [private, *settings])[0]), tmp_path / "result")
    found = {
        table.stem: said_by(table)["asyncdp.private"]
        for table in (tmp_path / "result").glob("*.parquet")
        if table.name != "updates.parquet"
    }
    assert found == {"models": "true", "curve": "false", "optimum": "false"} | owners


def test_every_table_of_a_sweep_has_its_label(file, tmp_path):
    sweep(load(file)[0], tmp_path / "sweep")
    cells = sorted((tmp_path / "sweep").glob("cell-*"))
    manifests = [read_manifest(cell) for cell in cells]
    for cell, manifest in zip(cells, manifests, strict=True):
        assert said_by(tmp_path / "sweep" / cell.name / "curve.parquet") == (
            label([manifest]).metadata_of_exact()
        )
    of_all = said_by(tmp_path / "sweep" / "cells.parquet")
    assert of_all == label(manifests).metadata_of_exact()
    for shared in (tmp_path / "sweep" / "traces").rglob("*.parquet"):
        assert said_by(shared) == label(manifests).metadata_of_network()


def test_a_label_is_written_as_it_is_and_the_same_bytes_each_time(tmp_path):
    for name in ("first", "second"):
        with Writer(tmp_path / name, SAID) as writer:
            writer.table("some.parquet", {"x": [1, 2]})
    first, second = (tmp_path / name / "some.parquet" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()
    assert said_by(first) == SAID.metadata()
    assert said_by(first)["asyncdp.label"] == "Private: ε = 1."
    assert list(read_table(first.parent, "some")["x"]) == [1, 2]


def made(directory: Path, file: Path, **summary: Any) -> list[str]:
    """Return the screen of a result whose manifest's summary is changed so."""
    write(run(load(file)[0]), directory)
    with changed(directory) as manifest:
        manifest["summary"] |= summary
        manifest["scenario"]["data"]["owner_column"] = "who"
    return result_lines(directory)


def test_the_screen_says_why_and_what_is_true(file, tmp_path):
    said = made(tmp_path / "result", file, delta=1e-5, timing_accounted=False)
    [private] = [line for line in said if line.startswith("private ")]
    assert private.split(maxsplit=1)[1].startswith("NO (no finite ε, δ = ")
    assert private.endswith(", δ = 1e-05)")
    first, second = (line for line in said if line.startswith("because"))
    assert "the declared bound 0.001 on a record gradient's L1 norm is exceeded: " in first
    assert said.index(first) == said.index(private) + 1
    assert second.split(maxsplit=1)[1] == "timing not accounted: the manifest gives no reason"
    assert any(line.split() == ["timing", "NOT", "accounted"] for line in said)
    assert any(
        line.endswith("a person with m records is protected only at mε and a larger δ")
        for line in said
    )


def test_a_sweep_on_the_screen_states_delta(file, tmp_path):
    sweep(load(file)[0], tmp_path / "sweep")
    *_, shared, header, pure, gaussian, together = result_lines(tmp_path / "sweep")
    assert shared.endswith("private = NO")
    assert header.split()[-2:] == ["ε", "δ"]
    assert [pure.split()[k] for k in (-3, -1)] == ["≥", "0"]
    assert [gaussian.split()[k] for k in (-3, -1)] == ["≥", "1e-05"]
    assert together == (
        "ε holds for each replicate of each cell; cells share noise: publish only one"
    )
    assert len(together) <= 80
