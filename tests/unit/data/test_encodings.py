"""Cells by each encoding, and what stands in place of those that do not fit."""

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import TableData
from asyncdp_sim.data.tables.amounts import notation_of
from asyncdp_sim.data.tables.encodings import Encoding, Ordinal, usual
from asyncdp_sim.data.tables.quantities import Number
from asyncdp_sim.data.tables.text_columns import cell_or_nan
from tests.one_in import one_in
from tests.tables import table
from tests.together import together

CASES = table(__file__, "encodings.toml")


def codes(encoding, cells, public, decimal="."):
    """Return the encoded columns of cells, the last of which are public, and what was said."""
    column = pd.Series(cells, dtype=object)
    learned = encoding.learn(column.iloc[-public:] if public else column.iloc[:0], "c", decimal)
    found = learned.read(column)
    filled = [
        np.where(np.isnan(v), u, v).tolist()
        for v, u in zip(found.values, learned.unknown, strict=True)
    ]
    return learned.names, filled


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


TABLE = """sex;stay;paid;risk;day;who;y
F;1,5;1.000,50 €;Minor;01.05.2020;a;1,0
M;2,5;2.000,00 €;Extreme;02.05.2020;a;2,0
F;;;;;b;3,0
X;x;x;x;x;b;4,0
F;3,5;3.000,00 €;Major;03.05.2020;;5,5
M;4,5;5.000,00 €;Minor;07.05.2020;;6,5
"""
COLUMNS = {
    "sex": "one-hot",
    "paid": "money",
    "risk": {"kind": "ordinal", "order": ["Minor", "Moderate", "Major", "Extreme"]},
    "day": {"kind": "date", "format": "%d.%m.%Y", "since": "2020-05-01"},
}


def spec(path, **fields):
    asked = {"kind": "table", "path": str(path), "target": "y", "owner_column": "who"}
    asked |= {"features": 6, "public_records": 2, "preprocessing": "none", "columns": COLUMNS}
    return parse(TableData, {**asked, **fields})


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
    assert found.notes[1:7] == (
        "sex: 2 columns of 0 and 1; 0 in all for unseen values.",
        "From private rows: sex: 1 unseen value became 0 in all columns.",
        "From private rows: stay: 2 missing values became the public mean 4, 1 cell that cannot be "
        "read as numbers among them.",
        "From private rows: paid: 2 missing values became the public mean 4000, 1 cell that cannot "
        "be read as amounts among them.",
        "From private rows: risk: 2 missing or unseen values became 1, the public mean.",
        "From private rows: day: 2 missing values became the public mean 4, 1 cell that cannot be "
        "read as %d.%m.%Y among them.",
    )


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
    for x, z in zip(one.features, two.features, strict=True):
        assert np.array_equal(x, z)
    assert two.notes[0].startswith("Public rows: the last 2 of public.csv.")
    assert two.source.name == "private.csv"


@pytest.mark.parametrize("case", CASES["wrong"], ids=lambda case: case["line"])
def test_wrong_encodings_in_one_line(case):
    with pytest.raises(SpecError) as caught:
        spec("t.csv", columns=case["columns"])
    assert str(caught.value) == case["line"]


@pytest.mark.parametrize(
    ("text", "part"),
    [("12:00", 0.5), ("0:00", 0.0), ("18:00:00", 0.75), ("00:00:43.2", 43.2 / 86_400)],
)
def test_a_time_without_seconds_has_none(text, part):
    assert cell_or_nan(text) == pytest.approx(part, abs=1e-12)
