"""Whatever one private cell holds, no other record changes by a bit, and nothing ends.

Over every kind of table and every encoding that is called private, in every form of file: a cell of
a private row is emptied, or filled with what its column does not expect.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from asyncdp_sim.audits.neighbours import write_neighbour
from asyncdp_sim.core.specification import members, parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import Dataset, FraudData, HospitalData, LendingData, TableData
from asyncdp_sim.data.tables import read
from asyncdp_sim.data.tables.encodings import Encoding
from asyncdp_sim.data.tables.file_form import MISSING, PLAIN
from asyncdp_sim.data.tables.read import read_csv
from asyncdp_sim.data.tables.table_recipe import TableRecipe
from asyncdp_sim.data.tables.text_columns import cell_or_nan, cells, map_text
from tests.tables import table
from tests.unit.data.discharges import many as discharges
from tests.unit.data.loans import many as loans

TABLE = table(__file__, "one_private_cell.toml")
OWNERS, PUBLIC = (5, 4), 9
ROWS = sum(OWNERS) + PUBLIC
CELLS = (None, *TABLE["cells"])
IDS = TABLE["ids"]
ENCODINGS = {name: parse(Encoding, fields) for name, fields in TABLE["encodings"].items()}
COLUMNS: dict[str, Callable[[int], list[object]]] = {
    "numbers": lambda _: [0.1 * j for j in range(ROWS)],
    "wholes": lambda _: list(range(ROWS)),
    "large": lambda _: [9007199254740993 + j for j in range(ROWS)],
    "short": lambda _: np.linspace(0, 1, ROWS).astype(np.float32).tolist(),
    "truths": lambda shift: [(j + shift) % 3 == 0 for j in range(ROWS)],
    "all true": lambda _: [j % 2 == 0 or j >= sum(OWNERS) for j in range(ROWS)],
    "texts": lambda shift: ["abc"[(j + shift) % 3] for j in range(ROWS)],
    "codes": lambda _: [f"{j % 4:03d}" for j in range(ROWS)],
    "codes and texts": lambda _: [
        "x" if j % 4 == 0 and j != 4 else f"{j % 4:02d}" for j in range(ROWS)
    ],
    "dates": lambda _: pd.date_range("2019-12-30 10:00", periods=ROWS).tolist(),
    "days": lambda _: [date(1969, 12, 25 + j % 7) for j in range(ROWS)],
    "amounts": lambda _: [Decimal(j) / 8 for j in range(ROWS)],
    "gaps": lambda shift: [None if (j + shift) % 4 == 0 else float(j) for j in range(ROWS)],
    "nothing": lambda _: [None] * ROWS,
    "mixed": lambda _: ["1", "true", "2020-01-01", "3.5", ""] * (ROWS // 5 + 1),
}  # fmt: skip
WIDE = str(2**64 - 1)
"""A whole number that is one of 8 bytes, without a sign."""
PROJECTIONS = ("none", "pca", "eigen-uncentred")


@dataclass(frozen=True)
class Change:
    """A cell of a private row."""

    row: int
    column: int
    cell: str | float | None


CHANGES = st.builds(
    Change, st.integers(0, sum(OWNERS) - 1), st.integers(0, 99), st.sampled_from(CELLS)
)
EXAMPLES = pytest.mark.parametrize(
    "examples", [12, pytest.param(1500, marks=pytest.mark.nightly)], ids=["few", "many"]
)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read, and types guessed, piece by piece: here a cell's piece is a few rows."""
    monkeypatch.setattr(read, "BLOCK", 2**12)


def often(examples):
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
    how = {"deadline": None, "suppress_health_check": quiet, "database": None}
    return settings(max_examples=examples, **how)


def save(frame: pd.DataFrame, folder: Path, form: str) -> str:
    path = folder / f"table.{form}"
    if form == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
    return str(path)


def same_but(before: Dataset, after: Dataset, row: int) -> None:
    """Check that no record differs but that of one row."""
    assert after.records == before.records
    for owner, rows in enumerate(before.rows):
        assert np.array_equal(after.rows[owner], rows)
        others = rows != row
        assert np.array_equal(before.features[owner][others], after.features[owner][others])
        y, t = before.targets[owner][others], after.targets[owner][others]
        assert np.array_equal(y, t, equal_nan=True)
        assert np.isfinite(after.features[owner]).all()


def both(
    spec: TableRecipe, row: int, column: str, cell: Any, owners: int, records: Any = None
) -> tuple[Dataset, Dataset]:
    """Return what is built of a table, and of a copy in which one cell is another."""
    path = str(spec.model_dump()["path"])
    copy = write_neighbour(path, Path(path).with_name("copy"), row, cell, column.__ne__, spec.form)
    other = spec.model_copy(update={"path": str(copy)})
    return spec.build(owners, records, Streams(1)), other.build(owners, records, Streams(1))


def check(spec: TableRecipe, change: Change, columns: list[str]) -> None:
    column = columns[change.column % len(columns)]
    assert spec.unsound is None
    same_but(*both(spec, change.row, column, change.cell, len(OWNERS), OWNERS), change.row)


@EXAMPLES
def test_a_cell_says_the_same_whatever_is_beside_it(examples, tmp_path, record_property):
    said = [str(cell) for cell in CELLS if cell is not None and "," not in str(cell)]
    path = tmp_path / "table.csv"

    def read(texts: list[str]) -> list[tuple[float, bool, bool]]:
        path.write_text("\n".join(["a,b", *(f"{text},0" for text in texts)]) + "\n")
        column = read_csv(str(path), form=PLAIN)["a"]
        values, none = cells(column)
        return list(zip(np.nan_to_num(values, nan=-7.0), none, column.isna(), strict=True))

    alone = {text: read([text])[0] for text in {*said, *MISSING, WIDE}}

    @often(examples)
    @given(st.lists(st.sampled_from(sorted(alone)), min_size=2, max_size=9))
    @example([WIDE, "", "7"])
    @example(["1" * 30, "NA", "2.5"])
    def holds(texts: list[str]) -> None:
        assert read(texts) == [alone[text] for text in texts]

    holds()
    record_property("tried", examples)


@EXAMPLES
def test_in_tables_of_any_columns(examples, tmp_path, record_property):
    @often(examples)
    @given(
        st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=4, unique=True),
        st.sampled_from(["csv", "parquet"]),
        st.sampled_from(["in-order", "shuffled"]),
        st.integers(0, 3),
        st.booleans(),
        CHANGES,
    )
    @example(["all true"], "csv", "in-order", 0, True, Change(3, 0, "maybe"))
    @example(["all true"], "parquet", "in-order", 0, True, Change(3, 0, None))
    @example(["codes and texts"], "csv", "in-order", 0, True, Change(5, 0, "1" * 30))
    @example(["mixed"], "csv", "in-order", 0, True, Change(8, 0, "1" * 30))
    @example(["numbers"], "csv", "shuffled", 0, True, Change(5, 1, None))
    @example(["wholes"], "csv", "in-order", 0, True, Change(5, 1, "many"))
    def holds(names, form, split, shift, public, change):
        frame = pd.DataFrame({name: COLUMNS[name](shift)[:ROWS] for name in names})
        frame["y"] = np.cos(np.arange(ROWS))
        spec = TableData(
            path=save(frame, tmp_path, form), target="y", features=len(names), split=split,
            public_records=PUBLIC if public else 0, preprocessing="none",
        )  # fmt: skip
        check(spec, change, list(frame.columns))

    holds()
    record_property("tried", examples)


COLUMNS_MORE = {
    "money": [f"$ {j},{j:03d}.50" for j in range(ROWS)],
    "points and commas": [f"{j}.{j:03d},5" if j % 2 == 0 else f"{j},25" for j in range(ROWS)],
    "points": [f"{j}.{j:03d}" for j in range(ROWS)],
}


def test_every_encoding_is_among_those_that_are_tried():
    assert {type(each) for each in ENCODINGS.values()} == set(members(Encoding))


@pytest.mark.long
@EXAMPLES
def test_under_any_encoding_and_in_any_form(examples, tmp_path, record_property):
    names = [*COLUMNS, *COLUMNS_MORE]

    @often(examples)
    @given(
        st.lists(st.sampled_from(sorted(names)), min_size=1, max_size=4, unique=True),
        st.lists(st.sampled_from(list(ENCODINGS.values())), min_size=4, max_size=4),
        st.sampled_from(["csv", "parquet"]),
        st.sampled_from([",", ";"]),
        st.sampled_from([".", ",", None]),
        st.booleans(),
        CHANGES,
    )
    @example(["points"], [ENCODINGS["money"]] * 4, "csv", ";", ",", False, Change(3, 0, "maybe"))
    @example(["points"], [ENCODINGS["money"]] * 4, "csv", ";", ".", False, Change(3, 0, "maybe"))
    @example(["texts"], [ENCODINGS["one-hot"]] * 4, "csv", ",", None, True, Change(3, 0, "z"))
    @example(["wholes"], [ENCODINGS["ordinal"]] * 4, "csv", ",", None, True, Change(3, 0, "many"))
    @example(["wholes"], [ENCODINGS["ordinal"]] * 4, "csv", ",", ",", True, Change(3, 0, "007"))
    @example(["codes"], [ENCODINGS["by order"]] * 4, "csv", ",", ".", False, Change(0, 0, " "))
    @example(["all true"], [ENCODINGS["classes"]] * 4, "parquet", ",", ".", False, Change(0, 0, ""))
    def holds(chosen, how, form, separator, decimal, apart, change):
        cells = {**{name: made(1) for name, made in COLUMNS.items()}, **COLUMNS_MORE}
        frame = pd.DataFrame({name: cells[name][:ROWS] for name in chosen})
        frame["y"] = np.cos(np.arange(ROWS)).round(6)
        frame["other"] = np.arange(ROWS)
        rows = (frame.head(sum(OWNERS)), frame.tail(PUBLIC)) if apart else (frame,)
        paths = [tmp_path / f"{name}.{form}" for name in ("table", "public")]
        for each, path in zip(rows, paths, strict=False):
            if form == "parquet":
                each.to_parquet(path, index=False)
            else:
                each.to_csv(path, index=False, sep=separator, decimal=decimal or ".")
        kinds = dict(zip(chosen, how, strict=False))
        spec = TableData(
            path=str(paths[0]), target="y", public_records=PUBLIC, preprocessing="eigen-uncentred",
            features=1, public_path=str(paths[1]) if apart else None, columns=kinds,
            decimal=decimal, separator=separator if form == "csv" else None,
        )  # fmt: skip
        copied = [name for name in frame.columns if name != "other"]
        column = copied[change.column % len(copied)]
        told = column in kinds and kinds[column].kind not in ("number", "classes", "drop")
        if form == "parquet" and told and not all(isinstance(c, str) for c in frame[column]):
            change = replace(change, cell=None)  # types stand in the header, which is public
        check(spec, change, copied)

    holds()
    record_property("tried", examples)


@EXAMPLES
def test_of_the_owners_column(examples, tmp_path, record_property):
    """The record changes owner, or has none; no other record does, and no owner's name."""
    private = 12

    @often(examples)
    @given(
        st.lists(st.sampled_from(IDS), min_size=2, max_size=3, unique=True),
        st.sampled_from(["csv", "parquet"]),
        st.booleans(),
        st.integers(0, private - 1),
        st.sampled_from([None, "somebody else", "0x1A", *IDS]),
    )
    @example(["9007199254740992", "9007199254740993"], "csv", True, 3, None)
    @example(["1", "01", "1.0"], "csv", False, 0, "North")
    def holds(ids: list[str], form: str, public: bool, row: int, cell: str | None) -> None:
        rows = private + (PUBLIC if public else 0)
        frame = pd.DataFrame({"x": np.arange(rows) / 8, "y": np.cos(np.arange(rows))})
        frame["site"] = [ids[place % len(ids)] for place in range(rows)]
        spec = TableData(
            path=save(frame, tmp_path, form), target="y", features=1, preprocessing="none",
            split={"column": "site", "least": 2}, public_records=PUBLIC if public else 0,
        )  # fmt: skip
        one, two = both(spec, row, "site", cell, len(ids))
        assert one.owner_names == two.owner_names
        assert sorted(one.owner_names or ()) == sorted(ids)
        for before, after in zip(_by_row(one, row), _by_row(two, row), strict=True):
            assert before == after

    holds()
    record_property("tried", examples)


def _by_row(found: Dataset, but: int) -> list[dict[int, tuple[float, ...]]]:
    """Return every owner's records by row of the table, without one row."""
    owned = zip(found.rows, found.features, found.targets, strict=True)
    return [
        {int(r): (*x.tolist(), float(t)) for r, x, t in zip(*each, strict=True) if r != but}
        for each in owned
    ]


@pytest.mark.long
@EXAMPLES
def test_in_lending_hospital_and_fraud(examples, tmp_path, record_property):
    cards = pd.DataFrame(np.random.default_rng(1).normal(size=(ROWS, 4)))
    cards.columns = pd.Index(["V1", "V2", "V3", "Amount"])
    frames = {
        LendingData: loans(ROWS),
        HospitalData: discharges(ROWS),
        FraudData: cards.assign(Amount=cards["Amount"] ** 2, Class=np.arange(ROWS) % 2),
    }
    kinds = [(LendingData, "as-published"), (FraudData, "as-published")]
    kinds += [(kind, "plain") for kind in frames]

    @often(examples)
    @given(
        st.sampled_from(kinds),
        st.sampled_from(["csv", "parquet"]),
        st.sampled_from(PROJECTIONS[1:]),
        st.sampled_from(["in-order", "shuffled"]),
        CHANGES,
    )
    def holds(named, form, fitted, split, change):
        kind, encoding = named
        spec = kind(
            path=save(frames[kind], tmp_path, form), encoding=encoding, features=2, split=split,
            public_records=PUBLIC, preprocessing=fitted,
        )  # fmt: skip
        check(spec, change, list(frames[kind].columns))

    holds()
    record_property("tried", examples)


def test_what_is_published_of_hospitals_is_labelled_for_it_does_recode(tmp_path):
    path = save(discharges(ROWS), tmp_path, "csv")
    spec = HospitalData(
        path=path, encoding="as-published", features=2, public_records=PUBLIC, preprocessing="pca"
    )
    assert "rows with anything missing are dropped" in str(spec.unsound)
    assert HospitalData(features=2, public_records=PUBLIC, encoding="as-published").unsound is None
    one, two = both(spec, 2, "Gender", None, 1, (8,))
    assert not np.array_equal(one.targets[0][3:], two.targets[0][3:])


@pytest.mark.parametrize("text", [str(cell) for cell in CELLS if cell is not None] + ["5", "1."])
def test_a_number_is_one_whatever_else_its_column_holds(tmp_path, text):
    """What pandas takes for a column of numbers, and what is read of a text, agree to the bit."""
    for name, line in (("alone", f'"{text}",0'), ("among", f'"{text}",0\nsome text,1')):
        (tmp_path / f"{name}.csv").write_text(f"x,y\n{line}\n", encoding="utf-8")
    alone, among = (
        map_text(read_csv(str(path), form=PLAIN)["x"], cell_or_nan)[0]
        for path in (tmp_path / "alone.csv", tmp_path / "among.csv")
    )
    assert np.array_equal([alone], [among], equal_nan=True)


@pytest.mark.nightly
def test_any_decimal_is_read_alike_as_a_number_and_as_a_text(tmp_path, record_property):
    @often(3000)
    @given(st.floats(allow_nan=False), st.integers(0, 25), st.sampled_from(["r", "e", "f"]))
    def holds(number: float, digits: int, form: str) -> None:
        text = repr(number) if form == "r" else f"{number:.{digits}{form}}"
        test_a_number_is_one_whatever_else_its_column_holds(tmp_path, text)

    holds()
    record_property("tried", 3000)
