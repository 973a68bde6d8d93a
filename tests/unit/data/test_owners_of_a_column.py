"""Owners of a column: it is read alone, and says what the whole table says."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from of_frames import of_frame

from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import FraudData, TableData
from asyncdp_sim.data.tables.rows import nearest
from asyncdp_sim.scenario import Scenario, dump, load
from tests import tables
from tests.one_in import one_in

WHO = ["B", "A", None, "B", "C", "C", "A", "B", "only public"]
SCENARIO = Path(__file__).with_name("derived.toml").read_text("utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    table = pd.DataFrame({"x": range(9), "who": WHO, "y": range(9)})
    table.to_csv(tmp_path / "t.csv", index=False)
    cards = {"V1": range(9), "Amount": range(9), "Class": [0, 1] * 4 + [0], "who": WHO}
    pd.DataFrame(cards).to_parquet(tmp_path / "cards.parquet")
    (tmp_path / "s.toml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path


def changed(folder, owner_column, more=""):
    """Write the scenario with other words in place of its column of owners, and more behind it."""
    file = folder / "changed.toml"
    text = SCENARIO.replace('owner_column = "who"', owner_column) + more
    file.write_text(text, encoding="utf-8")
    return file


TABLE = tables.table(__file__, "owners_of_a_column.toml")


@pytest.mark.parametrize(("fields", "names"), TABLE["it_is_what_the_whole_table_says"])
def test_it_is_what_the_whole_table_says(folder, fields, names):
    given = {"public_records": 1, "features": 1, **fields}
    kinds = [TableData(path=str(folder / "t.csv"), target="y", **given)]
    if "owner_column" not in fields:
        kinds.append(FraudData(path=str(folder / "cards.parquet"), **given))
    for spec in kinds:
        assert list(spec.owner_names()) == names
        if len(names) > 0:
            assert spec.build(len(names), None, Streams(1)).owner_names == tuple(names)


def test_a_scenario_need_not_count_its_owners(folder):
    scenario, _ = load(folder / "s.toml")
    assert scenario.owners.count == 3
    assert scenario.plain()["owners"]["count"] == 3
    least = changed(folder, 'split = { column = "who", least = 3 }')
    assert load(least)[0].owners.count == 1
    named = changed(folder, "", '[owners]\nrecords = 2\nnames = ["A", "B"]\n')
    assert load(named)[0].owners.count == 2


def test_a_count_that_is_given_is_taken_and_no_table_is_read(folder):
    (folder / "t.csv").unlink()
    assert load(folder / "s.toml", ["owners.count=7"])[0].owners.count == 7
    with pytest.raises(DataError, match=r"s.toml: data.path: given '.*t.csv'; there is no such f"):
        load(folder / "s.toml")


def test_what_is_wrong_besides_is_said_as_ever(folder):
    with pytest.raises(SpecError, match=r"data.features: given 0; allowed is a whole number ≥ 1"):
        load(folder / "s.toml", ["data.features=0"])
    with pytest.raises(SpecError, match="owners: given nothing; this field is required"):
        load(changed(folder, ""))


def test_each_cell_of_a_sweep_counts_its_own(folder):
    """Over files and over columns; a count that is given, or swept, stays as it is."""
    table = pd.read_csv(folder / "t.csv")
    table["half"] = [*["p", "q"] * 4, "p"]
    table.to_csv(folder / "t.csv", index=False)
    table[table["who"] != "C"].to_csv(folder / "few.csv", index=False)
    swept = """
        [sweep]
        "data.path" = ["t.csv", "few.csv"]
        "data.split" = [{ column = "who" }, { column = "half" }, { dirichlet = 9.0 }]
    """
    file = changed(folder, 'drop = ["half", "who"]\nsplit = { column = "who" }', swept)
    base, _ = load(file)

    def counts(swept: Scenario) -> list[int]:
        return [swept.cell(chosen).owners.count for chosen in swept.grid()]

    assert (base.base().owners.counted, base.owners.count) == (None, 3)
    assert counts(base) == [3, 2, 3, 2, 2, 3]  # no table says how many share it: as many as before
    (folder / "again.toml").write_text(dump(base, folder), encoding="utf-8")
    assert counts(load(folder / "again.toml")[0]) == [3, 2, 3, 2, 2, 3]
    given = 'sweep.variant=[{ name = "two", "owners.count" = 2 }]'
    assert counts(load(file, [given])[0]) == [2] * 6
    assert counts(load(file, ["owners.count=3"])[0]) == [3] * 6
    (folder / "few.csv").unlink()
    with pytest.raises(SpecError, match=r"sweep.data.path: given '.*few.csv'; there is no such"):
        load(file)


@pytest.mark.parametrize("asked", ["Rate", "INTEREST RATE", "interest"])
def test_a_column_is_found_by_a_word_of_its_name_in_any_case(asked):
    names = ["Bank name", "Interest rate", "Yearly income"]
    assert nearest(asked, names) == "nearest columns: Interest rate"


# Owners are texts, as written: no other cell decides which rows are whose.

SETS = TABLE["sets"]
EACH = pytest.mark.parametrize("names", SETS.values(), ids=SETS)
ROWS, PUBLIC = 24, 6


def table(names):
    """Return rows of owners in turn."""
    rows = range(ROWS)
    who = [names[row % len(names)] for row in rows]
    x, y = ([str(row % period) for row in rows] for period in (5, 7))
    return pd.DataFrame({"who": who, "x": x, "y": y})


def owners(folder, rows, form, public=PUBLIC):
    """Return the owners of a file, in order, with their records."""
    data = of_frame(folder, rows, f"t.{form}", owner_column="who", public_records=public)
    if form == "parquet":  # without what pandas notes of its own types, as others write it
        bare = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata()
        pq.write_table(bare, data.path)
    names = data.owner_names()
    built = data.build(len(names), None, Streams(1))
    assert built.owner_names == names
    return dict(zip(names, built.records, strict=True))


@EACH
@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
@one_in(2, "public", [0, PUBLIC])
def test_each_text_is_an_owner_in_any_file(tmp_path, names, form, public):
    rows = table(names)
    counts = rows["who"].head(ROWS - public).value_counts()
    found = owners(tmp_path, rows, form, public)
    assert list(found.items()) == [(name, int(counts[name])) for name in names]


@EACH
@one_in(3, "form", ["csv", "csv.gz", "parquet"])
def test_an_empty_cell_is_nobodys_and_changes_no_other_owner(tmp_path, names, form):
    before, rows = owners(tmp_path, table(names), form), table(names)
    rows.loc[0, "who"] = None
    assert owners(tmp_path, rows, form) == before | {names[0]: before[names[0]] - 1}


@EACH
@one_in(5, "cell", [None, "x", "1e400", "7.5", "9" * 30])
def test_a_cell_of_another_column_changes_no_owner(tmp_path, names, cell):
    before, rows = owners(tmp_path, table(names), "csv"), table(names)
    rows.loc[1, "x"] = cell
    assert owners(tmp_path, rows, "csv") == before


def test_whole_numbers_of_a_parquet_stay_whole_beside_a_gap(tmp_path):
    ids = [int(name) for name in SETS["long ids"]]
    rows = table(("a",)).assign(who=[ids[row % 3] for row in range(ROWS)])
    whole = owners(tmp_path, rows, "parquet")
    assert list(whole) == SETS["long ids"]
    rows["who"] = rows["who"].astype("Int64")
    rows.loc[0, "who"] = pd.NA
    assert owners(tmp_path, rows, "parquet") == whole | {str(ids[0]): whole[str(ids[0])] - 1}
