"""The audit reads neighbouring files by the scenario's own loader: a recoding one is refuted."""

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.audits import audit
from asyncdp_sim.audits.neighbours import neighbours
from asyncdp_sim.core.errors import DataError, Fault
from asyncdp_sim.data.tables import encoded_columns
from asyncdp_sim.data.tables.encoded_columns import encoded, learned
from asyncdp_sim.data.tables.encodings import Number, Ordinal
from asyncdp_sim.data.tables.text_columns import cells
from asyncdp_sim.scenario import load
from tests import scenes
from tests.unit.data.discharges import many as discharges

pytestmark = [pytest.mark.long, pytest.mark.no_evidence]

PUBLIC, RECORDS = 40, 600
FORMS = ["csv", pytest.param("parquet", marks=pytest.mark.nightly)]


def flags(folder, form):
    """Return a scenario on true and false: all true in public rows, and telling of the target."""
    draw = np.random.default_rng(3)
    rows = 2 * RECORDS + PUBLIC
    flag = draw.random(rows) < 0.5
    flag[-PUBLIC:] = True
    table = pd.DataFrame({"flag": flag, "x": draw.normal(size=rows)})
    table["y"] = 2.0 * flag + table["x"]
    return written(folder, table, form, PLAIN)


def written(folder, table, form, data, **owners):
    getattr(table, f"to_{form}")(folder / f"t.{form}", index=False)
    text = scenes.text(
        id="files",
        run={"seed": 1, "updates": 6},
        owners={"count": 2, "records": RECORDS} | owners,
        data=data | {"path": f"t.{form}", "public_records": PUBLIC},
        model={"regularisation": 1e-2},
    )
    (folder / "s.toml").write_text(text)
    return folder / "s.toml"


PLAIN = {"kind": "table", "features": 2, "target": "y", "preprocessing": "none"}
HOSPITAL = {"kind": "hospital", "features": 4}


def audited(path):
    return audit(load(path)[0], answers=100, runs=120, confidence=0.999)


@pytest.mark.parametrize("form", FORMS)
def test_a_loader_that_asks_public_rows_alone_is_not_refuted(tmp_path, form):
    found = audited(flags(tmp_path, form))
    assert not found.exceeded, found.lines()
    assert "in every cell" not in found.pair


def over_all_rows(frame, codes, first_public, *rest):
    """Encode a column as one of texts where any cell is one, a private one too."""
    texts = {name: cells(frame[name], ".")[1].any() for name in codes}
    chosen = {name: Ordinal() if there else Number() for name, there in texts.items()}
    changed = learned(frame[[*codes]].iloc[first_public:], chosen, ".")
    return encoded(frame, changed, first_public, *rest)


def without_rows(frame, name, *_):
    """Return targets of a loader that lets the rows that have none slip out of their places."""
    values, _ = cells(frame[name])
    return np.concatenate([values[~np.isnan(values)], values[np.isnan(values)]]), ()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("where", "name", "planted"),
    [
        (encoded_columns, "encoded", over_all_rows),
        pytest.param(encoded_columns, "target_of", without_rows, marks=pytest.mark.nightly),
    ],
)
def test_a_loader_that_asks_all_rows_is_refuted(
    tmp_path, form, where, name, planted, monkeypatch, command
):
    monkeypatch.setattr(where, name, planted)
    asked = ("--thorough", "--runs", 120, "--answers", 100, "--details")
    said = command("audit", flags(tmp_path, form), *asked)
    assert said.code == 3, said.out
    assert f"row 1 of t.{form} holds" in said.out
    assert "so that 1200 records differ" in said.out


def test_a_loader_that_refuses_a_private_cell_is_refuted(tmp_path, monkeypatch, command):
    def strict(frame, *rest):
        if (frame.astype(str) == "maybe").any(axis=None):
            raise DataError([Fault("data.path", "'maybe'", "allowed is a number")])
        return encoded(frame, *rest)

    monkeypatch.setattr(encoded_columns, "encoded", strict)
    said = command("audit", flags(tmp_path, "csv"), "--thorough", "--runs", 100, "--answers", 100)
    assert said.code == 3, said.out
    assert "changing one record stops the run: data.path: given 'maybe'" in said.out


def test_who_owns_a_row_is_public_whatever_the_column_is_called(tmp_path):
    """Else a row without a hospital would be one owner's less, and a sound file be refuted."""
    renamed = {"Facility Id": "Permanent.Facility.Id"}
    table = discharges(2 * RECORDS + PUBLIC).rename(columns=renamed)
    data = HOSPITAL | {"split": {"column": "Facility Id"}}
    found = neighbours(load(written(tmp_path, table, "csv", data, count=3, records=None))[0])
    assert found.error is None
    assert "of the file" not in found.words


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("charset", ["utf-8", "utf-8-sig", "utf-16"])
def test_marks_before_the_header_and_long_cells_refute_nothing(tmp_path, charset, seed):
    """Found by attack: the mark was part of the first column's name, which says whose a row is."""
    x = np.random.default_rng(1).normal(size=(60, 2))
    table = pd.DataFrame({"who": ["a", "b"] * 30, "note": "", "x": x[:, 0], "y": x.sum(axis=1)})
    table.loc[1, "note"] = "long" * 50_000
    data = PLAIN | {"features": 1, "drop": ["note"], "split": {"column": "who"}}
    data |= {} if seed is None else {"public_seed": seed}
    path = written(tmp_path, table, "csv", data, records=None)
    table.to_csv(tmp_path / "t.csv", index=False, encoding=charset)
    found = neighbours(load(path)[0])
    assert found.error is None
    assert "in every cell" not in found.words


def test_dropping_rows_as_published_is_refuted(tmp_path):
    table = discharges(2 * RECORDS + PUBLIC)
    data = HOSPITAL | {"encoding": "as-published", "preprocessing": "pca"}
    found = audited(written(tmp_path, table, "csv", data))
    assert found.exceeded, found.lines()
