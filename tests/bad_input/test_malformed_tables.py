"""Malformed tables: ``check`` and ``run`` refuse them in the same lines, with row and column.

No line quotes a private cell, which all hold the word secret.
"""

from pathlib import Path
from typing import Any

from tests.bad_input.transcript import leaked
from tests.one_in import one_in
from tests.tables import table as toml

HEAD = "who,age,pay,rate"
PRIVATE = [f"{'ab'[j % 2]},{30 + 7 * j % 11},{1.5 * j},{j % 4}" for j in range(8)]
PUBLIC = [f",{40 + 5 * j % 7},{2.5 * j * j},{j}" for j in range(4)]
SCENARIO = Path(__file__).with_name("malformed_tables.txt").read_text("utf-8")


def table(head: str = HEAD, *, private: Any = PRIVATE, public: Any = PUBLIC) -> bytes:
    return "\n".join([head, *private, *public, ""]).encode()


def changed(row: int, line: str) -> bytes:
    """The table with another line for one row, from 1."""
    rows = [*PRIVATE, *PUBLIC]
    rows[row - 1] = line
    return table(private=rows, public=[])


RIDGE = 'kind = "ridge"\nregularisation = 1e-2'
CASES = toml(__file__, "malformed_tables.toml")
"""Tables, their scenarios, and what is said; of a line that ends in … the beginning."""
IMAGES = {
    "a ZIP archive, as Excel's": (
        b"PK\x03\x04" + bytes(range(256)), "a ZIP archive, as Excel's .xlsx: save a sheet as CSV …"
    ),
    "an old Excel file": (
        b"\xd0\xcf\x11\xe0" + bytes(range(256)), "an Excel file (.xls): save a sheet as CSV …"
    ),
    "a Parquet file": (
        b"PAR1\x15\x04" + bytes(range(256)),
        "by its first bytes its name would end in .parquet: rename it; …",
    ),
    "a gzipped file": (
        b"\x1f\x8b\x08" + bytes(range(256)),
        "by its first bytes its name would end in .gz: rename it; …",
    ),
    "a picture": (
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20,
        "the file has null characters: it is no text; …",
    ),
}  # fmt: skip
"""Files that are no text, and what is said of them."""
CASES |= {
    name: {"bytes": content, "lines": ["data.path: given '{folder}/t.csv'; " + said]}
    for name, (content, said) in IMAGES.items()
}


def content_of(case: dict[str, Any]) -> bytes | None:
    """Return the file of a case: none, what is given, or the usual table with its change."""
    if "absent" in case or "bytes" in case:
        return case.get("bytes")
    text = changed(*case["changed"]) if "changed" in case else table(case.get("head", HEAD))
    text = case["text"].encode() if "text" in case else text
    return text.decode().encode("latin-1") if "latin" in case else text


LET_PASS = {
    "a private row of another separator": (changed(3, "a;31;secret;1"), "without a target: 1."),
    "a private row that is too short": (changed(3, "a,31"), "1 missing"),
    "a null byte in a private cell": (changed(3, "a,31,sec\x00ret,1"), "1 missing"),
    "a public row that is too short": (changed(10, ",1"), "Public rows: the last 4"),
    "a private number that no float reaches": (changed(3, "a,1e400,2,1"), "1 missing"),
    "a public number that no float reaches": (changed(9, ",1e400,2,3"), "Public rows: the last 4"),
}
"""What is a cell's own matter, and the note that says so."""


def test_there_are_enough_of_them():
    assert len(CASES) >= 40


@one_in(3, "name", CASES)
def test_check_and_run_say_the_same_in_one_line_each(name, command, here):
    case = CASES[name]
    asked = {"target": '"rate"', "features": "2", "public_records": "4", "drop": '["who"]'}
    data = "\n".join(f"{key} = {value}" for key, value in (asked | case.get("data", {})).items())
    how = {"path": "t.csv", "model": RIDGE, "records": "records = 4"} | case
    (here / "s.toml").write_text(SCENARIO.format(**how | {"data": data}), encoding="utf-8")
    content = content_of(case)
    if content is not None:
        (here / how["path"]).write_bytes(content)
    if "public" in case:
        (here / "p.csv").write_text(case["public"], encoding="utf-8")
    checked, ran = command("check", "s.toml"), command("run", "s.toml", "--out", "out")
    assert (checked.code, ran.code, checked.out) == (2, 2, "")
    assert checked.lines == ran.lines
    assert len(ran.lines) == len(case["lines"]), ran.lines
    for line, expected in zip(ran.lines, case["lines"], strict=True):
        expected = f"s.toml: {expected}".replace("{folder}", str(here))
        told = expected.removesuffix("…").rstrip()
        assert line.startswith(told) if expected.endswith("…") else line == told, ran.lines
    assert leaked(ran.err) == []
    assert "secret" not in ran.err
    assert not (here / "out").exists()


def test_what_is_a_cells_own_matter_is_a_note(command, here):
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
