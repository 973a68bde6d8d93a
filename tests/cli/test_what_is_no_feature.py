"""Leaks, ids, names of owners and numbers that stand for a missing one are named."""

import tomllib

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import TableData
from asyncdp_sim.data.column_profile import looked_at, target_looked_at
from asyncdp_sim.data.table_profile import OWNERS, TARGETS, likely, look
from asyncdp_sim.data.tables.column_type import Beside
from tests.together import together

N = 400
DRAWS = np.random.default_rng(6)
X = DRAWS.normal(size=N)
CLASSES = np.where(X + DRAWS.normal(size=N) > 0.8, 1.0, -1.0)
POSITIVE = CLASSES > 0
NUMBERS = np.exp(DRAWS.normal(size=N))
OWNER = pd.Series([f"site {row % 5}" for row in range(N)])


def seen(values, name="x", target=CLASSES, classes=("no", "yes")):
    series = pd.Series(list(values), dtype=object)
    return looked_at(series, name, Beside(target=target, classes=classes, owners=OWNER))


DATES = [f"2024-{1 + row % 12:02}-{1 + row % 28:02}" for row in range(N)]


def filled(cells):
    """Return dates where cells are true, and nothing elsewhere."""
    return [day if there else None for day, there in zip(DATES, cells, strict=True)]


EVEN = np.arange(N) % 2 == 0
LEAKS = {
    "a date filled for one class": (filled(POSITIVE), "only where the target is 'yes'"),
    "half of them": (filled(POSITIVE & EVEN), "it is filled only where the target is 'yes'"),
    "an amount above 0 for one class": (
        np.where(POSITIVE, 100 * NUMBERS, 0).round(2),
        "AUC 1.000",
    ),
    "some amounts above 0": (
        np.where(POSITIVE & (X > 0.7), 100 * NUMBERS, 0).round(2),
        "it is not '0' only where the target is 'yes'",
    ),
    "a code for a class": (np.where(POSITIVE, "B", "A"), "AUC 1.000"),
    "a score from later": ((10 * CLASSES + DRAWS.normal(size=N)).round(3), "AUC 1.000"),
}


@together
@pytest.mark.parametrize("name", LEAKS)
def test_what_reveals_a_class_is_a_leak(name):
    values, said = LEAKS[name]
    found = seen(values)
    assert (found.dropped, found.encoding.kind) == ("leak", "drop")
    assert said in found.suspicious[0]


@together
@pytest.mark.parametrize(
    "values", [X.round(3), [None if row % 4 else NUMBERS[row].round(3) for row in range(N)],
               [d if row % 3 == 0 else None for row, d in enumerate(DATES)]],
)  # fmt: skip
def test_what_goes_with_a_class_or_is_often_missing_is_no_leak(values):
    assert seen(values).dropped == ""


IDS = {
    "spread evenly": DRAWS.permutation(np.arange(N) * 977 + DRAWS.integers(0, 900, N)).tolist(),
    "consecutive": range(1000, 1000 + N),
    "texts": [f"P-{row:05}" for row in range(N)],
}  # fmt: skip
AMOUNTS = {
    "skewed": [int(1e4 * x) for x in NUMBERS],
    "Brazilian": [f"R$ {1e5 * x:,.2f}".translate(str.maketrans(",.", ".,")) for x in NUMBERS],
    "Swiss": [f"{1e5 * x:,.2f}".replace(",", "’") for x in NUMBERS],
    "even, and it goes with the target": (1e6 * (X.argsort().argsort() + 0.5) / N).astype(int),
}  # fmt: skip


@together
@pytest.mark.parametrize("name", IDS)
def test_ids_are_named(name):
    assert seen(IDS[name], target=NUMBERS, classes=()).dropped == "id"


@together
@pytest.mark.parametrize("name", AMOUNTS)
def test_amounts_are_no_ids(name):
    assert seen(AMOUNTS[name]).dropped == ""


def test_what_names_the_owner_is_no_feature():
    address = seen(OWNER.str.replace("site", "Street"))
    assert (address.dropped, address.encoding.kind) == ("owner", "drop")
    assert seen([f"Street {row % 7}" for row in range(N)]).dropped == ""


def with_sentinel(values, sentinel, share):
    made = list(values)
    for row in range(0, N, int(1 / share)):
        made[row] = sentinel
    return made


AGES = DRAWS.integers(18, 95, N)
SCALE = DRAWS.integers(1, 6, N)
SENTINELS = {
    "-200": (with_sentinel((300 * NUMBERS).round(1), "-200", 0.05), "-200"),
    "999": (with_sentinel(AGES, "999", 0.05), "999"),
    "365243": (with_sentinel([-int(5000 * x) for x in NUMBERS], "365243", 0.2), "365243"),
    "-99": (with_sentinel(AGES, "-99", 0.02), "-99"),
    "9999-12-31": (with_sentinel(DATES, "9999-12-31", 0.1), "9999-12-31"),
    "a date as written": (
        with_sentinel(
            [f"{1 + row % 28:02}.{1 + row % 12:02}.2024" for row in range(N)], "31.12.9999", 0.1
        ),
        "31.12.9999",
    ),
    "-1 below counts": (with_sentinel(DRAWS.poisson(1.5, N), "-1", 0.2), "-1"),
    "-9 below a scale": (with_sentinel(SCALE, "-9", 0.1), "-9"),
    "88 beside 99": (with_sentinel(with_sentinel(SCALE, "88", 0.1), "99", 0.05), "88"),
    "99 beside 98": (with_sentinel(with_sentinel(SCALE, "98", 0.1), "99", 0.05), "99"),
    "8 beside 9": (with_sentinel(with_sentinel(SCALE, "8", 0.1), "9", 0.05), "8"),
    "9 beside 0 and 1": (with_sentinel(EVEN.astype(int), "9", 0.05), "9"),
    "a single 9 beside 0 and 1": ([*EVEN[1:].astype(int), "9"], "9"),
    "-1 beside 0 and 1": (with_sentinel(EVEN.astype(int), "-1", 0.1), "-1"),
    "-1 beside 1 and 2": (with_sentinel(EVEN + 1, "-1", 0.1), "-1"),
    "0 between -1 and 1": (with_sentinel(2 * EVEN - 1, "0", 0.1), "0"),
    "0 among weights": (with_sentinel((31 + 90 * DRAWS.random(N)).round(1), "0.0", 0.2), "0"),
}


@together
@pytest.mark.parametrize("name", SENTINELS)
def test_a_frequent_number_far_outside_is_named_with_its_share(name):
    values, sentinel = SENTINELS[name]
    assert f"add --missing x={sentinel} " in "; ".join(seen(values).suspicious)


@together
@pytest.mark.parametrize(
    "values", [AGES, np.minimum(100 * NUMBERS, 300).round(1), np.where(X > 0, NUMBERS, 0).round(3),
               DATES, X.round(2), SCALE, np.sign(X.round()).astype(int), DRAWS.poisson(2, N),
               with_sentinel(SCALE, "6", 0.05), with_sentinel(EVEN.astype(int), "2", 0.05)],
)  # fmt: skip
def test_tops_and_zeros_are_no_such_numbers(values):
    assert not any("--missing" in line for line in seen(values).suspicious)


def test_a_number_for_a_missing_label_is_named():
    labels = pd.Series([str(each) for each in with_sentinel(EVEN.astype(int), 9, 0.05)])
    found = target_looked_at(labels, "outcome", Beside())
    assert found.type == "number"
    said = "9 in 5 % of the cells is rare beside two labels; add --missing outcome=9 if it means a"
    assert found.suspicious[0].startswith(said)
    assert target_looked_at(labels.mask(labels == "9"), "outcome", Beside()).type == "classes"


def table(folder, form="csv"):
    age = [int(a) for a in AGES]
    age[::10] = [-999] * len(age[::10])
    frame = pd.DataFrame({"site": OWNER, "age": age, "x": X.round(3), "ref": AGES,
                          "days": (X + AGES / 30).round(2)})  # fmt: skip
    path = folder / f"t.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.assign(list=[[1, 2]] * N).to_parquet(path, index=False)
    return path


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_missing_and_drop_are_in_the_scenario(command, tmp_path, form):
    path = table(tmp_path, form)
    out = tmp_path / "s.toml"
    drop = ["--drop", "ref"] + ["--drop", "list"] * (form == "parquet")
    asked = ["--target", "days", "--owner", "site", "--public", 200, "--missing", "-999", *drop]
    said = command.done("data", path, *asked, "--write", out).out
    assert f"{len(drop) // 2} of {3 + (form == 'parquet')} columns dropped" in said
    text = out.read_text(encoding="utf-8")
    data = parse(TableData, tomllib.loads(text)["data"] | {"path": str(path), "features": 2})
    assert isinstance(data, TableData)
    built = data.build(5, None, Streams(1))
    assert not any(name in ("ref", "list") for name in built.columns)
    assert "age: 20 missing values became the public mean" in "; ".join(built.notes)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_text_is_missing_in_one_column_alone(command, tmp_path, form):
    path, out = table(tmp_path, form), tmp_path / "s.toml"
    asked = ["--target", "days", "--owner", "site", "--public", 200, "--drop", "list"]
    asked = asked[: 6 + 2 * (form == "parquet")]
    least = int(AGES[:200].min())
    said = command.done(
        "data", path, *asked, "--missing", "age=-999", "--missing", f"ref={least}", "--write", out
    ).out
    assert "-999" not in said
    data = parse(TableData, tomllib.loads(out.read_text(encoding="utf-8"))["data"] | {
        "path": str(path), "features": 2})  # fmt: skip
    assert isinstance(data, TableData)
    notes = "; ".join(data.build(5, None, Streams(1)).notes)
    gaps = int((AGES[:200] == least).sum())
    assert "age: 20 missing values became" in notes
    assert f"ref: {gaps} missing value" in notes
    assert "--missing: given a column 'aeg'" in command.refused(
        "data", path, *asked, "--missing", "aeg=-999"
    )


def test_signs_of_a_gap_are_no_labels():
    labels = pd.Series(with_sentinel(np.where(EVEN, "yes", "no"), ".", 0.05))
    found = target_looked_at(labels, "outcome", Beside())
    assert found.encoding.labels == ("no", "yes")
    assert (
        found.suspicious[1] == "95 % of the cells are labels; the others (20) count as missing: '.'"
    )
    signs = target_looked_at(pd.Series(np.where(EVEN, "+", "-")), "outcome", Beside())
    assert signs.encoding.labels == ("+", "-")


def test_a_column_is_declared_on_the_command_line(command, tmp_path):
    paid = [f"{row}.5 {'DR' if row % 3 else 'CR'}" for row in range(N)]
    frame = pd.DataFrame({"site": OWNER, "paid": paid,
                          "x": X.round(3), "days": NUMBERS.round(3)})  # fmt: skip
    frame.to_csv(tmp_path / "t.csv", index=False)
    asked = ["data", tmp_path / "t.csv", "--target", "days", "--owner", "site", "--public", 200]
    said = command.done(*asked).out
    assert "1 of 2 columns dropped: 1 question" in said
    [line] = [line for line in said.splitlines() if line.startswith("paid: a question")]
    said = command.done(*asked, "--column", line.partition("--column '")[2].rstrip("'")).out
    assert 'paid = { kind = "money", factors = { CR = 1.0, DR = -1.0 } }' in said
    assert "allowed is 'NAME = ENCODING'" in command.refused(*asked, "--column", "paid: money")


def test_rows_without_an_owner_are_counted(tmp_path):
    frame = pd.DataFrame({"site": OWNER.where(np.arange(N) % 4 > 0), "x": X.round(3), "y": NUMBERS})
    frame.to_csv(tmp_path / "t.csv", index=False)
    lines = look(str(tmp_path / "t.csv"), target="y", owner="site", public=200).lines()
    assert "rows without an owner: 50 private rows, which no model is trained on" in lines


def test_an_index_of_a_parquet_file_is_a_column(tmp_path):
    frame = pd.DataFrame({"bank": OWNER, "x": X, "y": NUMBERS})
    frame.set_index("bank").to_parquet(tmp_path / "t.parquet")
    found = look(str(tmp_path / "t.parquet"), target="y", owner="bank", public=200)
    assert sorted(found.owners) == sorted(set(OWNER))
    frame.set_index(["bank", "x"]).to_parquet(tmp_path / "t.parquet")
    found = look(str(tmp_path / "t.parquet"), target="y", owner="bank", public=200)
    assert [column.name for column in found.columns] == ["y", "x"]


def test_likely_columns_are_proposed_as_a_command(command, tmp_path):
    assert likely(["a", "hospital_id", "los_days"], OWNERS) == "hospital_id"
    assert likely(["a", "hospital_id", "los_days"], TARGETS) == "los_days"
    assert "--target days --owner site --public 80" in command.done("data", table(tmp_path)).out
