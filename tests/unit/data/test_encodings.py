"""Cells by each encoding, dates among them, and Parquet columns of every type."""

from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.specification import members, parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import TableData
from asyncdp_sim.data.column_profile import looked_at
from asyncdp_sim.data.tables.amounts import notation_of
from asyncdp_sim.data.tables.column_type import Beside, forms_of, other_times
from asyncdp_sim.data.tables.encodings import Date, Drop, Encoding, Money, Number, Ordinal, usual
from asyncdp_sim.data.tables.text_columns import cell_or_nan
from tests.one_in import one_in
from tests.tables import table
from tests.together import together

# Cells by each encoding, and what stands in place of those that do not fit.

CASES = table(__file__, "encodings.toml")


def codes(encoding, cells, public, decimal="."):
    """Return the encoded columns of cells, the last of which are public, and what was said."""
    column = pd.Series(cells, dtype=object)
    learned = encoding.learn(column.iloc[len(column) - public :], "c", decimal)
    pairs = zip(learned.read(column).values, learned.unknown, strict=True)
    return learned.names, [np.where(np.isnan(v), u, v).tolist() for v, u in pairs]


@pytest.mark.oracle("encoded cells")
@together
@pytest.mark.parametrize("case", CASES["become"], ids=str)
def test_what_cells_become(case):
    encoding = parse(Encoding, case["encoding"])
    names, columns = codes(encoding, case["cells"], case["public"])
    assert list(names) == case.get("names", ["c"])
    assert columns == case["columns"]


@together
@pytest.mark.parametrize(("text", "decimal", "value"), CASES["amounts"])
def test_amounts(text, decimal, value):
    read = notation_of({text: 1}, decimal).read(text)
    assert np.array_equal([read.value], [value], equal_nan=True)


def test_a_decimal_comma_is_one_in_numbers_too():
    assert codes(Number(), ["1,5", "1.5", "1.234,5", "2"], 1, ",")[1] == [[1.5, 1.5, 2, 2]]
    assert codes(Number(), ["1.234", "1,5", "2"], 2, ",")[1] == [[1.75, 1.5, 2]]
    for kind in (object, "str", "category"):  # thousands that end with 0 are thousands, too
        column = pd.Series(["1.300", "10.000", "1,5", "2"], dtype=kind)
        read = Number().learn(column.iloc[2:], "c", ",").read(column)
        np.testing.assert_array_equal(read.values[0], [np.nan, np.nan, 1.5, 2])
        assert read.misfits.tolist() == [True, True, False, False]
    floats = pd.Series([1.5, None, 2.5])  # as of a Parquet file
    assert not Money().learn(floats, "x", ",").read(floats).misfits.any()


@together
@pytest.mark.parametrize(("text", "value"), CASES["decimal_commas"])
def test_blanks_around_a_decimal_comma_change_nothing(text, value):
    assert np.array_equal([cell_or_nan(text, ",")], [value], equal_nan=True)
    assert np.isnan(cell_or_nan("1,5", "."))


def test_the_usual_encoding_is_for_public_cells_to_say():
    assert usual(pd.Series(["1", None, "true"]), ".") == Number()
    assert usual(pd.Series([], dtype=object), ".") == Number()
    assert usual(pd.Series(["1", "one"]), ".") == Ordinal()
    assert usual(pd.Series(["1,5"]), ".") == Ordinal()
    assert usual(pd.Series(["1,5"]), ",") == Number()


TABLE = CASES["messes"]


def spec(path, **fields):
    return parse(TableData, {"path": str(path), **CASES["of_messes"], **fields})


def build(given):
    return given.build(2, None, Streams(1))


def test_a_table_of_all_messes(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TABLE, encoding="cp1252")
    found = build(spec(path))
    assert found.columns == ("sex = F", "sex = M", "stay", "paid", "risk", "day")
    assert found.features[0].tolist() == [[1, 0, 1.5, 1000.5, 0, 0], [0, 1, 2.5, 2000, 3, 1]]
    assert found.features[1].tolist() == [[1, 0, 4, 4000, 1, 4], [0, 0, 4, 4000, 1, 4]]
    assert found.public_targets.tolist() == [5.5, 6.5]
    assert found.owner_names == ("a", "b")
    assert found.notes[1:7] == tuple(CASES["notes"])


@one_in(4, "charset", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_public_rows_of_a_file_of_their_own_are_the_same(tmp_path, charset):
    head, *lines = TABLE.splitlines(keepends=True)
    (tmp_path / "t.csv").write_text(TABLE, encoding=charset)
    (tmp_path / "private.csv").write_text("".join([head, *lines[:4]]), encoding=charset)
    (tmp_path / "public.csv").write_text("".join([head, *lines[4:]]), encoding=charset)
    one = build(spec(tmp_path / "t.csv"))
    path = str(tmp_path / "public.csv")
    declared = {"charset": "cp1252"} if charset == "cp1252" else {}
    two = build(spec(tmp_path / "private.csv", public_path=path, **declared))
    np.testing.assert_equal(one.features, two.features)
    assert two.notes[0].startswith("Public rows: the last 2 of public.csv.")
    assert two.source.name == "private.csv"


@pytest.mark.parametrize("case", CASES["wrong"], ids=lambda case: case["line"])
def test_wrong_encodings_in_one_line(case):
    with pytest.raises(SpecError) as caught:
        spec("t.csv", columns=case["columns"])
    assert str(caught.value) == case["line"]


@pytest.mark.parametrize(("text", "part"), CASES["times"])
def test_a_time_without_seconds_has_none(text, part):
    assert cell_or_nan(text) == pytest.approx(part, abs=1e-12)


# Dates: a form that cells show is read, two that fit are a question, another is no date.

CELLS = 200
DAYS = [date(2021, 1, 1) + timedelta(days=7 * row % 700) for row in range(CELLS)]
EARLY = [day for day in DAYS if day.day <= 12]


def column(texts):
    made = [texts[row % len(texts)] for row in range(CELLS)]
    target = np.random.default_rng(1).normal(size=CELLS)
    return looked_at(pd.Series(made, dtype=object), "admitted", Beside(target=target))


@together
@pytest.mark.parametrize("form", CASES["shown"])
def test_a_form_that_cells_show_is_read_back_to_the_day(form):
    texts = [f"{day:{form}}" for day in DAYS]
    found = column(texts)
    assert (found.type, found.encoding.format) == ("date", form)
    since = date.fromisoformat(found.encoding.since)
    read = found.encoding.quantities(pd.Series(texts, dtype=object)).values[0]
    assert np.floor(read).tolist() == [(day - since).days for day in DAYS]
    assert found.span == (str(min(DAYS)), str(sorted(DAYS)[(CELLS - 1) // 2]), str(max(DAYS)))


@together
@pytest.mark.parametrize(("one", "two"), [("%m/%d/%Y", "%d/%m/%Y"), ("%d-%m-%Y", "%m-%d-%Y")])
def test_days_up_to_12_fit_two_forms_and_are_asked(one, two):
    found = column([f"{day:{one}}" for day in EARLY])
    assert (found.type, found.dropped, found.encoding.kind) == ("question", "question", "drop")
    [line] = found.suspicious
    for form in (one, two):
        assert f"""--column 'admitted = {{ kind = "date", format = "{form}" }}'""" in line
    assert line.count(" may be ") == 1
    one_day = f"{date(2021, 5, 30):{one}}"
    assert column([*(f"{day:{one}}" for day in EARLY), one_day]).encoding.format == one


def test_the_same_day_and_month_is_no_question():
    texts = {f"{month:02}/{month:02}/2021": 1 for month in range(1, 13)}
    assert len(forms_of(texts)) == 1


def test_two_digits_for_the_year_are_asked():
    found = column([f"{day:%d.%m.%y}" for day in DAYS])
    assert found.dropped == "question"
    assert 'format = "%d.%m.%y"' in found.suspicious[0]


def test_a_cell_outside_the_form_is_counted_as_such():
    dates = Date(format="%d/%m/%Y", since="2021-01-01")
    codes = dates.learn(pd.Series(["03/01/2021", "05/01/2021"]), "admitted", ".")
    read = codes.read(pd.Series(["13/13/2021", None, "04/01/2021"], dtype=object))
    assert read.misfits.tolist() == [True, False, False]
    said = "2 missing values became the public mean 3, 1 cell that cannot be read as %d/%m/%Y"
    assert said in codes.said(2, 1)
    few = column([*(f"{day:%d.%m.%Y}" for day in DAYS[:60]), "unknown"])
    assert few.type == "date"
    assert "of the cells are dates; the others (3) count as missing: 'unknown'" in few.suspicious[1]


@together
@pytest.mark.parametrize(("texts", "kind"), CASES["other_times"])
def test_other_times_are_texts_and_named(texts, kind):
    assert other_times(dict.fromkeys(texts, 1))[0] == kind
    assert column(texts).type == kind
    assert "are not read: write them " in column(texts).suspicious[0]


@together
@pytest.mark.parametrize(("mark", "characters"), CASES["scripts"].values(), ids=CASES["scripts"])
def test_digits_of_other_scripts_and_marked_texts_are_numbers(mark, characters):
    numbers = np.arange(-50.0, 50) / 4
    digits = str.maketrans("0123456789.-", characters)
    texts = [mark.format(repr(x).translate(digits)) for x in numbers.tolist()]
    assert (column(texts).type, column(texts).encoding) == ("number", Number())
    read = Number().learn(pd.Series(["1", "2"]), "x", ".").read(pd.Series(texts))
    np.testing.assert_array_equal(read.values[0], numbers)


def test_a_date_or_a_time_among_numbers_is_none_of_them():
    codes = Number().learn(pd.Series(["3", "5"]), "x", ".")
    read = codes.read(pd.Series(["2024-05-17", "12:30", "true", "7"], dtype=object))
    np.testing.assert_array_equal(read.values[0], [np.nan, np.nan, np.nan, 7])
    assert read.misfits.tolist() == [True, True, True, False]
    codes = Number().learn(pd.Series(["12:00", "18:00"]), "x", ".")
    np.testing.assert_array_equal(codes.read(pd.Series(["06:00", "7"])).values[0], [0.25, np.nan])


# Parquet columns of every type, under every encoding: a private cell changes its own row alone.

OWNERS, PUBLIC, ROW = (4, 3), 7, 2
COUNT = sum(OWNERS) + PUBLIC
PLACES = range(COUNT)
TIMES = [time(j, 7 * j % 60, j) for j in PLACES]
EACH_DAY = [date(2020, 1, 1 + j) for j in PLACES]
INSTANTS = [datetime(2020, 1, 1 + j, tzinfo=UTC) for j in PLACES]
ENDS = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)]
SPANS = [timedelta(seconds=j) for j in PLACES]
OF_TYPES = {
    "times": (TIMES, pa.time32("s"), [time(23, 59, 59)]),
    "fine times": (TIMES, pa.time64("us"), [time(23, 59, 59, 999_999)]),
    "days": (EACH_DAY, pa.date32(), [date(1, 1, 1), date(9999, 12, 31)]),
    "instants": (INSTANTS, pa.timestamp("us", "UTC"), ENDS),
    "durations": (SPANS, pa.duration("us"), [timedelta(days=9999)]),
    "truths": ([j % 3 == 0 for j in PLACES], pa.bool_(), [True]),
    "nothing": ([None] * COUNT, pa.null(), []),
    "bytes": ([b"ab%d" % (j % 3) for j in PLACES], pa.binary(), [b"\xff\x00", b"ab2"]),
    "texts": (["abc"[j % 3] for j in PLACES], pa.string(), ["c", "z", "7"]),
}
"""Cells of a column, their type, and other cells."""
ENCODINGS = [None, *(parse(Encoding, each) for each in CASES["tried"])]


def test_all_encodings_are_tried():
    assert {type(each) for each in ENCODINGS[1:]} == set(members(Encoding))


def built(folder, columns, encoding):
    """Return the records of a table of these columns, all under one encoding, and another one."""
    numbers = np.arange(float(COUNT))
    path = folder / "t.parquet"
    pq.write_table(pa.table({**columns, "other": numbers, "y": np.cos(numbers)}), path)
    how = {} if encoding is None else dict.fromkeys(columns, encoding)
    data = TableData(path=str(path), target="y", features=1, public_records=PUBLIC, columns=how)
    return data.build(len(OWNERS), OWNERS, Streams(1))


def test_a_private_row_of_cells_of_any_type_changes_itself_alone(tmp_path):
    def holding(cell):
        """The columns, with one of the other cells in the row, or as they are."""
        made = {}
        for name, (cells, held, others) in OF_TYPES.items():
            put = [None, *others][cell % (1 + len(others))] if cell is not None else cells[ROW]
            made[name] = pa.array([put if row == ROW else cells[row] for row in PLACES], held)
        return made

    for encoding in ENCODINGS:
        before = built(tmp_path, holding(None), encoding)
        others = np.concatenate(before.rows) != ROW
        for cell in range(3):
            after = built(tmp_path, holding(cell), encoding)
            assert after.columns == before.columns
            x, z = np.concatenate(before.features), np.concatenate(after.features)
            assert np.isfinite(z).all()
            assert np.array_equal(x[others], z[others]), (encoding, cell)


@pytest.mark.parametrize(
    ("cells", "told"),
    [([[1]] * COUNT, "list<element: int64>"), ([{"a": 1}] * COUNT, "struct<a: int64>")],
)
def test_lists_in_cells_are_refused_in_one_line_unless_dropped(tmp_path, cells, told):
    column = pa.array(cells)
    for encoding in ENCODINGS[:-1]:
        with pytest.raises(DataError) as caught:
            built(tmp_path, {"x": column}, encoding)
        [line] = caught.value.lines()
        assert line.startswith(f"data.path: given '{tmp_path / 't.parquet'}', whose column 'x' ")
        assert line.endswith(CASES["several"].format(told))
    assert built(tmp_path, {"x": column}, Drop()).columns == ("other",)
