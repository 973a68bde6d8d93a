"""A column of a table is read as its public cells say; leaks, ids, names of owners, numbers that
stand for a missing one and numbers that count a date are named.
"""

from itertools import cycle, islice

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.data.column_profile import looked_at, target_looked_at
from asyncdp_sim.data.table_profile import look
from asyncdp_sim.data.tables.column_type import Beside
from tests import tables
from tests.together import together

N, PUBLIC = 400, 120
DRAWS = np.random.default_rng(6)
X = DRAWS.normal(size=N)
CLASSES = np.where(X + DRAWS.normal(size=N) > 0.8, 1.0, -1.0)
POSITIVE = CLASSES > 0
NUMBERS = np.exp(DRAWS.normal(size=N))
OWNER = pd.Series([f"site {row % 5}" for row in range(N)])
DATES = [f"2024-{1 + row % 12:02}-{1 + row % 28:02}" for row in range(N)]
EVEN = np.arange(N) % 2 == 0


def seen(cells, called="x"):
    """Return what is made of a column of up to N cells, beside classes and owners."""
    n, series = len(cells), pd.Series(list(cells), dtype=object)
    return looked_at(
        series, called, Beside(target=CLASSES[:n], classes=("no", "yes"), owners=OWNER[:n])
    )


def of_day(day):
    return pd.Timestamp("1970-01-01") + pd.Timedelta(days=int(day))


def filled(cells):
    """Return dates where cells are true, and nothing elsewhere."""
    return [day if there else None for day, there in zip(DATES, cells, strict=True)]


def with_sentinel(values, sentinel, share):
    made = list(values)
    for row in range(0, N, int(1 / share)):
        made[row] = sentinel
    return made


TABLE = tables.table(__file__, "what_a_table_says.toml")
READ = {
    name: ([*first, *(eval(cell, {"n": n}) for n in range(*of))], kind, said)
    for name, (cell, of, first, kind, said) in TABLE["read"].items()
}


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
IDS = {
    "spread evenly": DRAWS.permutation(np.arange(N) * 977 + DRAWS.integers(0, 900, N)).tolist(),
    "consecutive": range(1000, 1000 + N),
    "texts": [f"P-{row:05}" for row in range(N)],
}
DIGITS = np.random.default_rng(61).integers(10**9, 10**10, N)
PHONES = [f"{(1, 49, 44, 91, 33)[row % 5]}{digits}" for row, digits in enumerate(DIGITS)]
NOT_SAID = {
    "a leak": {
        "it goes with a class": X.round(3),
        "numbers, often missing": [
            None if row % 4 else x.round(3) for row, x in enumerate(NUMBERS)
        ],
        "dates, often missing": [None if row % 3 else day for row, day in enumerate(DATES)],
    },
    "an id": {
        "skewed": [int(1e4 * x) for x in NUMBERS],
        "Brazilian": [f"R$ {1e5 * x:,.2f}".translate(str.maketrans(",.", ".,")) for x in NUMBERS],
        "Swiss": [f"{1e5 * x:,.2f}".replace(",", "’") for x in NUMBERS],
        "even, and it goes with the target": (1e6 * (X.argsort().argsort() + 0.5) / N).astype(int),
    },
    "--missing": {
        "ages": AGES,
        "a top": np.minimum(100 * NUMBERS, 300).round(1),
        "zeros": np.where(X > 0, NUMBERS, 0).round(3),
        "dates": DATES,
        "normal": X.round(2),
        "a scale": SCALE,
        "three numbers": np.sign(X.round()).astype(int),
        "counts": DRAWS.poisson(2, N),
        "6 beside a scale": with_sentinel(SCALE, "6", 0.05),
        "2 beside 0 and 1": with_sentinel(EVEN.astype(int), "2", 0.05),
    },
    "would be": {
        "phone": PHONES,
        "daytime_phone": PHONES,
        "income": DRAWS.integers(20_000, 60_000, N).astype(str),
        "day": DRAWS.integers(1, 32, N).astype(str),
        "time_to_event": DRAWS.exponential(30_000, N).round(1).astype(str),
        "ts_id": DRAWS.integers(10**12, 2 * 10**12, N).astype(str),
    },
}
"""Columns of which something is not said; some by the name that they have in the table."""


@together
@pytest.mark.parametrize("name", READ)
def test_a_column_is_what_its_public_cells_say(name):
    cells, kind, said = READ[name]
    found = seen(cells)
    assert (found.dropped or found.encoding.kind) == kind
    assert said in "; ".join(found.suspicious)


@together
@pytest.mark.parametrize("name", TABLE["counted"])
def test_numbers_that_count_a_date_are_named(name):
    said, called, cell = TABLE["counted"][name]
    days = [18_262 + row * row % 900 + row % 48 / 48 for row in range(PUBLIC)]  # from 2020 on
    found = seen([eval(cell, {"day": day, "date": of_day}) for day in days], called)
    assert found.suspicious[0 if found.type == "number" else 1].startswith(said)
    assert "would be 202" in "; ".join(found.suspicious)
    assert found.dropped == ""


@together
@pytest.mark.parametrize("name", LEAKS)
def test_what_reveals_a_class_is_a_leak(name):
    values, said = LEAKS[name]
    found = seen(values)
    assert (found.dropped, found.encoding.kind) == ("leak", "drop")
    assert said in found.suspicious[0]


@together
@pytest.mark.parametrize("name", IDS)
def test_ids_are_named(name):
    assert seen(IDS[name]).dropped == "id"


@together
@pytest.mark.parametrize("name", SENTINELS)
def test_a_frequent_number_far_outside_is_named_with_its_share(name):
    values, sentinel = SENTINELS[name]
    assert f"add --missing x={sentinel} " in "; ".join(seen(values).suspicious)


@together
@pytest.mark.parametrize(
    ("said", "called"), [(said, called) for said, columns in NOT_SAID.items() for called in columns]
)
def test_what_is_usual_is_not_named(said, called):
    found = seen(NOT_SAID[said][called], called)
    assert said not in "; ".join(found.suspicious)
    assert found.dropped == "" or said not in ("a leak", "an id")


def test_what_names_the_owner_is_no_feature():
    address = seen(OWNER.str.replace("site", "Street"))
    assert (address.dropped, address.encoding.kind) == ("owner", "drop")
    assert seen([f"Street {row % 7}" for row in range(N)]).dropped == ""


def test_a_number_for_a_missing_label_is_named():
    labels = pd.Series([str(each) for each in with_sentinel(EVEN.astype(int), 9, 0.05)])
    found = target_looked_at(labels, "outcome", Beside())
    assert found.type == "number"
    said = "9 in 5 % of the cells is rare beside two labels; add --missing outcome=9 if it means a"
    assert found.suspicious[0].startswith(said)
    assert target_looked_at(labels.mask(labels == "9"), "outcome", Beside()).type == "classes"


def test_signs_of_a_gap_are_no_labels():
    labels = pd.Series(with_sentinel(np.where(EVEN, "yes", "no"), ".", 0.05))
    found = target_looked_at(labels, "outcome", Beside())
    assert found.encoding.labels == ("no", "yes")
    assert (
        found.suspicious[1] == "95 % of the cells are labels; the others (20) count as missing: '.'"
    )
    signs = target_looked_at(pd.Series(np.where(EVEN, "+", "-")), "outcome", Beside())
    assert signs.encoding.labels == ("+", "-")


def test_an_index_of_a_parquet_file_is_a_column(tmp_path):
    frame = pd.DataFrame({"bank": OWNER, "x": X, "y": NUMBERS})
    frame.set_index("bank").to_parquet(tmp_path / "t.parquet")
    found = look(str(tmp_path / "t.parquet"), target="y", owner="bank", public=200)
    assert sorted(found.owners) == sorted(set(OWNER))
    frame.set_index(["bank", "x"]).to_parquet(tmp_path / "t.parquet")
    found = look(str(tmp_path / "t.parquet"), target="y", owner="bank", public=200)
    assert [column.name for column in found.columns] == ["y", "x"]


def table(**columns: object) -> pd.DataFrame:
    """Return rows of three sites in turn, with columns changed or added."""
    dose = DRAWS.normal(40, 9, 2 * PUBLIC).round(1)
    made = {
        "site": ["West", "East", "North"] * (2 * PUBLIC // 3),
        "age": DRAWS.integers(20, 90, 2 * PUBLIC).astype(str),
        "dose": dose,
        "days": (dose / 9 + DRAWS.normal(0, 1, 2 * PUBLIC)).round(1),
    }
    return pd.DataFrame(made | columns)


@pytest.mark.long
@pytest.mark.parametrize("name", READ)
def test_what_is_proposed_is_accepted(tmp_path, command, name):
    cells = [*islice(cycle(READ[name][0]), PUBLIC)]
    table(x=[*cells, *cells]).to_csv(tmp_path / "t.csv", index=False)
    asked = ("--target", "days", "--owner", "site", "--public", PUBLIC, "--epsilon", 5)
    command.done("data", tmp_path / "t.csv", *asked, "--write", tmp_path / "s.toml")
    command.done("check", tmp_path / "s.toml")


def test_the_line_merges_names_that_look_alike(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sites = ["Clinic A", "clinic a", "Clinic A "] * (2 * PUBLIC // 3)
    table(site=sites).to_csv("t.csv", index=False)
    asked = {"target": "days", "owner": "site", "public": PUBLIC}
    lines = look("t.csv", **asked).lines()
    [line] = [each for each in lines if each.startswith("to merge them: ")]
    exec(line.partition('python -c "')[2].removesuffix('"'))
    assert look("merged.csv", **asked).owners == {"Clinic A": PUBLIC}
