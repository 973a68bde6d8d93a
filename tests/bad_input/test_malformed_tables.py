"""Malformed tables: ``check`` and ``run`` refuse them in the same lines, with row and column.

No line quotes a private cell, which all hold the word secret.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.bad_input.transcript import leaked
from tests.cli.command import Command

HEAD = "who,age,pay,rate"
PRIVATE = [f"{'ab'[j % 2]},{30 + 7 * j % 11},{1.5 * j},{j % 4}" for j in range(8)]
PUBLIC = [f",{40 + 5 * j % 7},{2.5 * j * j},{j}" for j in range(4)]
SCENARIO = """schema = 1
id = "table"
[run]
updates = 4
[owners]
count = 2
{records}
[data]
kind = "table"
path = "{path}"
{data}
[model]
{model}
[algorithm]
kind = "async-gossip"
rho = 20.0
[privacy]
epsilon = 1.0
sensitivity = {{ kind = "clip", bound = 1.0 }}
"""


def table(head: str = HEAD, *, private: Any = PRIVATE, public: Any = PUBLIC) -> bytes:
    return "\n".join([head, *private, *public, ""]).encode()


def changed(row: int, line: str) -> bytes:
    """The table with another line for one row, from 1."""
    rows = [*PRIVATE, *PUBLIC]
    rows[row - 1] = line
    return table(private=rows, public=[])


RIDGE = 'kind = "ridge"\nregularisation = 1e-2'


@dataclass(frozen=True)
class Case:
    """A table and its scenario, and what is said; of a line that ends in … the beginning."""

    content: bytes | None
    lines: tuple[str, ...]
    data: dict[str, str] = field(default_factory=dict)
    name: str = "t.csv"
    public: bytes | None = None
    model: str = RIDGE
    records: str = "records = 4"


def case(content: bytes | None, *lines: str, **how: Any) -> Case:
    named = {key: how.pop(key) for key in ("name", "public", "model", "records") if key in how}
    return Case(content, lines, how, **named)


PATH = "data.path: given '{folder}/t.csv'; "
OWN = "data.public_path: given '{folder}/p.csv'; "
LABELS = 'kind = "logistic"\nregularisation = 1e-2'
BY_WHO = {"records": "", "owner_column": '"who"', "drop": "[]"}
CASES = {
    "absent": case(None, PATH + "there is no such file; …"),
    "empty": case(b"", PATH + "the file is empty; …"),
    "blank": case(b"\n\n\n", PATH + "the file has no header with rows below it; …"),
    "header only": case(b"who,age,pay,rate\n", PATH + "the file has no rows; …"),
    "a cell too many": case(
        changed(3, "a,31,secret,1,2"),
        PATH + "row 3 has 5 cells and the header 4: something stands behind the last column; …",
    ),
    "a public cell too many": case(
        changed(11, ",1,2,3,4"),
        PATH + "row 11 has 5 cells and the header 4: something stands behind the last column; …",
    ),
    "cells too many in all rows": case(
        table("who,age,pay"),
        PATH + "row 1 has 4 cells and the header 3: something stands behind the last column; …",
        target='"pay"',
    ),
    "not of its charset": case(
        changed(2, "é,31,secret,1").decode().encode("latin-1"),
        PATH + "row 2, column 1, is not UTF-8 text; …",
    ),
    "not of its charset behind a comma": case(
        changed(4, "b,secret,é,1").decode().encode("latin-1"),
        PATH + "row 4, column 3, is not UTF-8 text; …",
    ),
    "not of its charset behind blank lines and a cell of two lines": case(
        changed(4, "b,secret,é,1").decode().replace("a,30,", '\n\n"a\nb",30,').encode("latin-1"),
        PATH + "row 4, column 3, is not UTF-8 text; …",
    ),
    "a header not of its charset": case(
        table("who,âge,pay,rate").decode().encode("latin-1"),
        PATH + "the header is not UTF-8 text; …",
        charset='"utf-8"',
    ),
    "one feature and it is dropped": case(
        b"who,rate\na,1\nb,2\nc,3\nd,5\n", "data.drop: given all columns; at least one must be …",
        records="records = 1", public_records="2",
    ),
    "one column alone": case(
        b"rate\n1\n2\n3\n5\n", "data.drop: given all columns; at least one must be a feature",
        records="records = 1", public_records="2", drop="[]",
    ),
    "a null byte in a public target": case(
        changed(10, ",1,2,\x00"), "data.target: given the text column 'rate' (row 10 of t.csv); …"
    ),
    "a null byte and a turn of the terminal in the header": case(
        table("who,a\x00g\x1b[31me,pay,rate"),
        "data.drop: given a column 'age'; nearest columns: rate, a\\x00g\\x1b[31me",
        drop='["who", "age"]',
    ),
    "a quote in the header that does not end": case(
        table('who,age,"pay,rate'), PATH + "a quotation mark is open at the end of the file; …"
    ),
    "a quote in a public row that does not end": case(
        changed(11, ',1,"2,3'), PATH + "a quotation mark is open at the end of the file; …"
    ),
    "a quote that does not end": case(
        changed(3, 'a,31,"secret,1'), PATH + "a quotation mark is open at the end of the file; …"
    ),
    "a ZIP archive, as Excel's": case(
        b"PK\x03\x04" + bytes(range(256)),
        PATH + "a ZIP archive, as Excel's .xlsx: save a sheet as CSV; …",
    ),
    "a picture": case(
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20,
        PATH + "the file has null characters: it is no text; …",
    ),
    "no gzip": case(table(), "data.path: given '{folder}/t.csv.gz'; the file is not gzipped; …",
                    name="t.csv.gz"),
    "no Parquet": case(table(), "data.path: given '{folder}/t.parquet'; the file is not Parquet; …",
                       name="t.parquet"),
    "two columns of one name": case(
        table("who,age,age,rate"),
        "data.path: given '{folder}/t.csv', whose columns 2 and 3 have one name; allowed is a name "
        "of its own for each",
    ),
    "two pairs of columns of one name": case(
        table("age,age,rate,rate"),
        "data.path: given '{folder}/t.csv', whose columns 1 and 2 have one name; …",
        "data.path: given '{folder}/t.csv', whose columns 3 and 4 have one name; …",
    ),
    "another separator than declared": case(
        table().replace(b",", b";"),
        "data.target: given a column 'rate'; allowed is one of its 1 column, which asyncdp data …",
        "data.drop: given a column 'who'; …", separator='","',
    ),
    "no target": case(
        table(), "data.target: given a column 'rat'; nearest columns: rate", target='"rat"'
    ),
    "nothing to drop": case(
        table(), "data.drop: given a column 'name'; nearest columns: …", drop='["who", "name"]'
    ),
    "no such column to encode": case(
        table(), "data.columns.wage: given a column 'wage'; nearest columns: age, rate",
        columns='{ wage = "one-hot" }',
    ),
    "no such owner column": case(
        table(), "data.owner_column: given a column 'whose'; nearest columns: who",
        records="", owner_column='"whose"', drop="[]",
    ),
    "no such column to split by": case(
        table(), "data.split: given a column 'hospital'; …",
        records="", split='{ column = "hospital" }', drop="[]",
    ),
    "several columns that are not there": case(
        table(), "data.target: given a column 'rat'; …", "data.drop: given a column 'name'; …",
        "data.columns.wage: given a column 'wage'; …",
        target='"rat"', drop='["name"]', columns='{ wage = "number" }',
    ),
    "a target of texts": case(
        changed(10, ",1,2,much"), "data.target: given the text column 'rate' (row 10 of t.csv); …",
    ),
    "a target of nothing": case(
        table(private=[line[:-1] for line in PRIVATE], public=[line[:-1] for line in PUBLIC]),
        "data.target: given the column 'rate'; allowed is a column of numbers, this one has none",
    ),
    "a target as a date": case(
        table(), "data.target: given the column 'rate'; …", columns='{ rate = "date" }'
    ),
    "a public number too large": case(
        changed(9, ",1e153,2,3"),
        "data.public_records: given 4, with 1e+153 in column 'age' of row 9 of t.csv; allowed are "
        "public rows of numbers up to 1e+50",
    ),
    "a public target too large": case(
        changed(12, ",1,2,-1e60"),
        "data.public_records: given 4, with 1e+60 in the target of row 12 of t.csv; …",
    ),
    "fewer rows than records": case(
        table(),
        "owners.records: given 18 in all; more records than the table has: owners can share 8 "
        "rows, and 4 more are public; lower owners.records or owners.count, or …",
        records="records = 9",
    ),
    "another number of owners": case(
        changed(1, "secret,30,0,0"),
        "owners.count: given 2; allowed is 3, the number of distinct values of 'who'", **BY_WHO,
    ),
    "too few rows of each": case(
        table(), "owners.count: given 2; allowed is 0, the number of distinct values of 'who' with "
        "at least 5 rows", records="", split='{ column = "who", least = 5 }', drop="[]",
    ),
    "more public rows than rows": case(
        table(), "data.public_records: given 40; allowed is at most 12, the number of rows of the "
        "table", public_records="40",
    ),
    "more features than columns": case(
        table(), "data.features: given 4; allowed is at most 2, the number of linearly independent "
        "columns among the public rows", features="4",
    ),
    "features other than columns": case(
        table(), "data.features: given 3; allowed is 2, the number of columns, with preprocessing "
        '= "none"', features="3", preprocessing='"none"',
    ),
    "constant public rows": case(
        table(public=[",1,1,1"] * 4),
        "data.features: given 2; allowed is at most 1, the number of …",
    ),
    "no features": case(
        table(), "data.drop: given all columns; at least one must be a feature",
        drop='["who", "age", "pay"]',
    ),
    "nothing but dropped columns": case(
        table(), "data.drop: given all columns; at least one must be a feature",
        columns='{ age = "drop", pay = "drop" }',
    ),
    "several things at once": case(
        changed(10, ",1,2,much"), "data.target: given the text column 'rate' (row 10 of t.csv); …",
        "owners.records: given 18 in all; …", "data.features: given 4; allowed is at most 2, …",
        records="records = 9", features="4",
    ),
    "no labels": case(
        table(), "data.target: given the column 'rate', with 4 classes in public rows: '0', '1', "
        "'2', '3'; allowed are 2 classes; …", model=LABELS,
    ),
    "no labels among public rows of their own": case(
        table(), "data.target: given the column 'rate', with 3 classes in public rows: '-1', '1', "
        "'2'; …", model=LABELS,
        public_path='"p.csv"', public=table(private=[], public=["a,1,2,1", ",2,3,", "b,3,5,2",
                                                                 "c,5,8,1", "d,8,13,-1"]),
    ),
    "a target of texts in its own file": case(
        table(), "data.target: given the text column 'rate' (row 2 of p.csv); …",
        public_path='"p.csv"', public=table(private=[], public=[",1,2,3", ",2,3,much", *PUBLIC]),
        public_records="5",
    ),
    "a share held out of too few rows": case(
        table(), "data.held_out: given 0.1, which is less than half a row of every owner; …",
        held_out="0.1",
    ),
    "no public file": case(table(), OWN + "there is no such file; …", public_path='"p.csv"'),
    "an empty public file": case(
        table(), OWN + "the file is empty; …", public_path='"p.csv"', public=b""
    ),
    "a public file without a column": case(
        table(), "data.public_path: given '{folder}/p.csv', a table without a column 'pay'; …",
        public_path='"p.csv"', public=b"age,rate\n1,2\n3,4\n5,6\n7,9\n",
    ),
    "a public file of too few rows": case(
        table(), "data.public_records: given 4; allowed is at most 2, the number of rows of "
        "data.public_path", public_path='"p.csv"', public=table(private=[], public=PUBLIC[:2]),
    ),
    "a malformed public file": case(
        table(), OWN + "row 2 has 5 cells and the header 4: something stands behind the last "
        "column; …",
        public_path='"p.csv"', public=table(private=[], public=[*PUBLIC[:1], ",1,2,3,4"]),
    ),
    "a public number too large in its own file": case(
        table(),
        "data.public_records: given 4, with 1e+153 in column 'age' of row 1 of p.csv; …",
        public_path='"p.csv"', public=table(private=[], public=[",1e153,2,3", *PUBLIC[1:]]),
    ),
}  # fmt: skip


LET_PASS = {
    "a private row of another separator": (changed(3, "a;31;secret;1"), "without a target: 1."),
    "a private row that is too short": (changed(3, "a,31"), "1 missing"),
    "a null byte in a private cell": (changed(3, "a,31,sec\x00ret,1"), "1 missing"),
    "a public row that is too short": (changed(10, ",1"), "Public rows: the last 4"),
    "a private number that no float reaches": (changed(3, "a,1e400,2,1"), "1 missing"),
    "a public number that no float reaches": (changed(9, ",1e400,2,3"), "Public rows: the last 4"),
}
"""What is a cell's own matter, and the note that says so."""


def test_there_are_enough_of_them() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("name", CASES)
def test_check_and_run_say_the_same_in_one_line_each(name, command, here):
    case = CASES[name]
    asked = {"target": '"rate"', "features": "2", "public_records": "4", "drop": '["who"]'}
    data = "\n".join(f"{key} = {value}" for key, value in (asked | case.data).items())
    how = {"path": case.name, "data": data, "model": case.model, "records": case.records}
    (here / "s.toml").write_text(SCENARIO.format(**how), encoding="utf-8")
    for file, content in ((case.name, case.content), ("p.csv", case.public)):
        if content is not None:
            (here / file).write_bytes(content)
    checked, ran = command("check", "s.toml"), command("run", "s.toml", "--out", "out")
    assert (checked.code, ran.code, checked.out) == (2, 2, "")
    assert checked.lines == ran.lines
    assert len(ran.lines) == len(case.lines), ran.lines
    for line, expected in zip(ran.lines, case.lines, strict=True):
        expected = f"s.toml: {expected}".replace("{folder}", str(here))
        told = expected.removesuffix("…").rstrip()
        assert line.startswith(told) if expected.endswith("…") else line == told, ran.lines
    assert leaked(ran.err) == []
    assert "secret" not in ran.err
    assert not (here / "out").exists()


def test_what_is_a_cells_own_matter_is_a_note(command: Command, here: Path) -> None:
    data = 'target = "rate"\nfeatures = 2\npublic_records = 4\ndrop = ["who"]'
    how = {"path": "t.csv", "data": data, "model": RIDGE, "records": "records = 4"}
    (here / "s.toml").write_text(SCENARIO.format(**how), encoding="utf-8")
    for name, (content, note) in LET_PASS.items():
        (here / "t.csv").write_bytes(content)
        said = command("check", "s.toml")
        told = [line for line in said.out.splitlines() if line.startswith("  table:")]
        assert (said.code, said.lines) == (0, []), name
        assert any(note in line for line in told), (name, told)
        assert "ret" not in "".join(told)
