"""Notices on results from tables: their origin, and whether a guarantee covers them."""

import json
from pathlib import Path
from typing import Any

import pytest

from asyncdp_sim.figures.picture import run_settings
from asyncdp_sim.forecasts import forecast
from asyncdp_sim.results import Result, open_directory
from asyncdp_sim.runs import run, write
from asyncdp_sim.scenario import load
from asyncdp_sim.sentences.forecast import lines
from asyncdp_sim.sentences.scenario import describe
from tests.manifests import changed
from tests.scenes import text
from tests.unit.data.discharges import many as discharges
from tests.unit.data.loans import many as loans

TABLE = {"kind": "table", "path": "discharges.csv", "target": "Length of Stay"}
HOSPITAL = {"kind": "hospital", "path": "discharges.csv"}
PUBLISHED = {"encoding": "as-published", "preprocessing": "pca"}


@pytest.fixture
def folder(tmp_path):
    discharges(60).to_csv(tmp_path / "discharges.csv", index=False)
    loans(60).to_csv(tmp_path / "loans.csv", index=False)
    return tmp_path


def opened(folder: Path) -> Result:
    found = open_directory(folder)
    assert isinstance(found, Result)
    return found


def written(folder: Path, data: dict[str, Any], **more: Any) -> Path:
    rows = {} if data["kind"] == "gaussian" else {"public_records": 20}
    parts = {
        "run": {"seed": 1, "updates": 3},
        "owners": {"count": 2, "records": 10},
        "data": {**data, "features": 2, **rows},
        "algorithm": {"kind": "async-gossip", "rho": 1.0},
    }
    (folder / "s.toml").write_text(text(id="real", **parts, **more))
    return folder / "s.toml"


@pytest.mark.parametrize(
    ("data", "named", "source"),
    [
        ({"kind": "lending"}, {}, "synthetic twin of lending"),
        ({"kind": "hospital"}, {}, "synthetic twin of hospital"),
        ({"kind": "fraud"}, {}, "synthetic twin of fraud"),
        ({"kind": "lending"}, {"source": "synthetic"}, "synthetic"),
        (HOSPITAL, {}, "hospital table discharges.csv"),
        (HOSPITAL, {"source": "synthetic"}, "hospital table discharges.csv"),
        (HOSPITAL, {"source": "Async, figure 8"}, "Async, figure 8"),
        (TABLE, {}, "table discharges.csv"),
    ],
)
def test_the_source_is_where_records_come_from(folder, data, named, source):
    scenario, _ = load(written(folder, data, **named))
    assert scenario.source == source
    assert scenario.plain()["source"] == source


def test_drawn_features_are_synthetic(folder):
    assert load(written(folder, {"kind": "gaussian"}))[0].source == "synthetic"


def test_each_cell_names_its_own_table(folder):
    swept = {"data.path": ["loans.csv", "more.csv"]}
    scenario, _ = load(written(folder, {"kind": "lending"}, sweep=swept))
    cells = [scenario.cell(chosen).source for chosen in scenario.grid()]
    assert cells == ["lending table loans.csv", "lending table more.csv"]


def test_a_caption_and_a_manifest_say_whose_rows_they_show(folder):
    scenario, _ = load(written(folder, HOSPITAL, source="synthetic"))
    out = folder / "out"
    write(run(scenario), out)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["scenario"]["source"] == "hospital table discharges.csv"
    assert manifest["summary"]["private"] is True
    assert "(source: hospital table discharges.csv)" in run_settings([opened(out)])
    with changed(out) as older:
        del older["scenario"]["source"]
    assert "(source: hospital, file discharges.csv)" in run_settings([opened(out)])


def test_an_encoding_in_which_records_move_others_is_not_private(folder):
    scenario, _ = load(written(folder, HOSPITAL | PUBLISHED))
    found = run(scenario)
    summary = found.summary
    assert (summary["private"], summary["epsilon_true"]) == (False, float("inf"))
    assert any(
        said.startswith("not private: encoding as-published of a file: rows with anything missing")
        for said in found.warnings
    )
    why = f"not private, no finite ε: {scenario.data.unsound}"
    assert why in describe(scenario)
    assert not any(line.startswith("this holds for") for line in describe(scenario))
    foreseen = lines(forecast(scenario))
    assert any(line.split(maxsplit=1) == ["private", "NO (no finite ε)"] for line in foreseen)
    assert sum(str(scenario.data.unsound) in line for line in foreseen) == 1
