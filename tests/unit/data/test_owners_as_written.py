"""Owners are texts, as written: no other cell decides which rows are whose."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import TableData
from tests.one_in import one_in

SETS = {
    "long ids": ("9007199254740992", "9007199254740993", "9007199254740994"),
    "spellings of one": ("1", "1.0", "01"),
    "numbers by size": ("2", "10", "100"),
    "words that may mean nothing": ("NA", "None", "n/a", "null"),
    "capitals and spaces": ("North", "St. Maria Köln ", "north "),
    "numbers and a text": ("7", "70", "seven"),
}
EACH = pytest.mark.parametrize("names", SETS.values(), ids=SETS)
FORMS = pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
ROWS, PUBLIC = 24, 6


def table(names: tuple[str, ...]) -> pd.DataFrame:
    """Return rows of owners in turn."""
    who = [names[row % len(names)] for row in range(ROWS)]
    return pd.DataFrame({"who": who, "x": [str(row % 5) for row in range(ROWS)],
                         "y": [str(row % 7) for row in range(ROWS)]})  # fmt: skip


def owners(folder: Path, rows: pd.DataFrame, form: str, public: int = PUBLIC) -> dict[str, int]:
    """Return the owners of a file, in order, with their records."""
    path = folder / f"t.{form}"
    if form == "parquet":
        # without what pandas notes of its own types, as others write it
        pq.write_table(
            pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata(), path
        )
    else:
        rows.to_csv(path, index=False)
    data = TableData(
        path=str(path), target="y", features=1, public_records=public, owner_column="who",
        preprocessing="none",
    )  # fmt: skip
    names = data.owner_names()
    built = data.build(len(names), None, Streams(1))
    assert built.owner_names == names
    return dict(zip(names, built.records, strict=True))


@EACH
@FORMS
@one_in(2, "public", [0, PUBLIC])
def test_each_text_is_an_owner_in_any_file(
    tmp_path: Path, names: tuple[str, ...], form: str, public: int
) -> None:
    rows = table(names)
    counts = rows["who"].head(ROWS - public).value_counts()
    found = owners(tmp_path, rows, form, public)
    assert list(found.items()) == [(name, int(counts[name])) for name in names]


@EACH
@one_in(3, "form", ["csv", "csv.gz", "parquet"])
def test_an_empty_cell_is_nobodys_and_changes_no_other_owner(
    tmp_path: Path, names: tuple[str, ...], form: str
) -> None:
    before, rows = owners(tmp_path, table(names), form), table(names)
    rows.loc[0, "who"] = None
    assert owners(tmp_path, rows, form) == before | {names[0]: before[names[0]] - 1}


@EACH
@one_in(5, "cell", [None, "x", "1e400", "7.5", "9" * 30])
def test_a_cell_of_another_column_changes_no_owner(
    tmp_path: Path, names: tuple[str, ...], cell: str | None
) -> None:
    before, rows = owners(tmp_path, table(names), "csv"), table(names)
    rows.loc[1, "x"] = cell
    assert owners(tmp_path, rows, "csv") == before


def test_whole_numbers_of_a_parquet_stay_whole_beside_a_gap(tmp_path: Path) -> None:
    ids = [int(name) for name in SETS["long ids"]]
    rows = table(("a",)).assign(who=[ids[row % 3] for row in range(ROWS)])
    whole = owners(tmp_path, rows, "parquet")
    assert tuple(whole) == SETS["long ids"]
    rows["who"] = rows["who"].astype("Int64")
    rows.loc[0, "who"] = pd.NA
    assert owners(tmp_path, rows, "parquet") == whole | {str(ids[0]): whole[str(ids[0])] - 1}
