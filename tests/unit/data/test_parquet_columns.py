"""Parquet columns of every type, under every encoding: a private cell changes its own row alone."""

from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.specification import members
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import Dataset, TableData
from asyncdp_sim.data.tables.encodings import ClassLabels, Drop, Encoding, OneHot, Ordinal
from asyncdp_sim.data.tables.quantities import Date, Money, Number

OWNERS, PUBLIC, ROW = (4, 3), 7, 2
ROWS = range(sum(OWNERS) + PUBLIC)
TIMES = [time(j, 7 * j % 60, j) for j in ROWS]
DAYS = [date(2020, 1, 1 + j) for j in ROWS]
COLUMNS: dict[str, tuple[list[Any], Any, list[Any]]] = {
    "times": (TIMES, pa.time32("s"), [time(23, 59, 59)]),
    "fine times": (TIMES, pa.time64("us"), [time(23, 59, 59, 999_999)]),
    "days": (DAYS, pa.date32(), [date(1, 1, 1), date(9999, 12, 31)]),
    "instants": (
        [datetime(2020, 1, 1 + j, tzinfo=UTC) for j in ROWS],
        pa.timestamp("us", "UTC"),
        [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)],
    ),
    "durations": (
        [timedelta(seconds=j) for j in ROWS],
        pa.duration("us"),
        [timedelta(days=9999)],
    ),
    "truths": ([j % 3 == 0 for j in ROWS], pa.bool_(), [True]),
    "nothing": ([None for _ in ROWS], pa.null(), []),
    "bytes": ([b"ab%d" % (j % 3) for j in ROWS], pa.binary(), [b"\xff\x00", b"ab2"]),
    "texts": (["abc"[j % 3] for j in ROWS], pa.string(), ["c", "z", "7"]),
}
ENCODINGS: tuple[Encoding | None, ...] = (
    None,
    Number(),
    Money(),
    OneHot(),
    Ordinal(),
    Date(),
    Date(parts=("year", "weekday")),
    ClassLabels(values=("a", "7")),
    Drop(),
)


def test_all_encodings_are_tried() -> None:
    assert {type(each) for each in ENCODINGS if each is not None} == set(members(Encoding))


def built(folder: Path, columns: dict[str, pa.Array], encoding: Encoding | None) -> Dataset:
    """Return the records of a table of these columns, all under one encoding, and another one."""
    numbers = np.arange(len(ROWS), dtype=float)
    path = folder / "t.parquet"
    pq.write_table(pa.table({**columns, "other": numbers, "y": np.cos(numbers)}), path)
    how = {} if encoding is None else dict.fromkeys(columns, encoding)
    data = TableData(path=str(path), target="y", features=1, public_records=PUBLIC, columns=how)
    return data.build(len(OWNERS), OWNERS, Streams(1))


def test_a_private_row_of_cells_of_any_type_changes_itself_alone(tmp_path: Path) -> None:
    def holding(cell: int | None) -> dict[str, pa.Array]:
        """The columns, with one of the other cells in the row, or as they are."""
        made = {}
        for name, (cells, held, others) in COLUMNS.items():
            put = [None, *others][cell % (1 + len(others))] if cell is not None else cells[ROW]
            made[name] = pa.array([put if row == ROW else cells[row] for row in ROWS], held)
        return made

    for encoding in ENCODINGS:
        before = built(tmp_path, holding(None), encoding)
        for cell in range(3):
            after = built(tmp_path, holding(cell), encoding)
            assert after.columns == before.columns
            for x, z, rows in zip(before.features, after.features, before.rows, strict=True):
                assert np.isfinite(z).all()
                assert np.array_equal(x[rows != ROW], z[rows != ROW]), (encoding, cell)


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([[j] for j in ROWS], "list<element: int64>"),
        ([{"a": j} for j in ROWS], "struct<a: int64>"),
    ],
)
def test_lists_in_cells_are_refused_in_one_line_unless_dropped(
    tmp_path: Path, cells: list[Any], told: str
) -> None:
    column = pa.array(cells)
    for encoding in ENCODINGS[:-1]:
        with pytest.raises(DataError) as caught:
            built(tmp_path, {"x": column}, encoding)
        [line] = caught.value.lines()
        assert line == (
            f"data.path: given '{tmp_path / 't.parquet'}', whose column 'x' holds several values "
            f"in a cell ({told}); allowed is one; data.drop (of asyncdp data: --drop x) leaves a "
            "column out"
        )
    assert built(tmp_path, {"x": column}, Drop()).columns == ("other",)
