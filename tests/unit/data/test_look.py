"""A look at a column: its type, what is suspicious, and the encoding that fits."""

import gzip
import shlex
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.words import percent
from asyncdp_sim.data.column_profile import looked_at, target_looked_at
from asyncdp_sim.data.table_profile import look
from asyncdp_sim.data.tables.column_type import Beside, ordered
from asyncdp_sim.data.tables.encodings import Drop, Encoding, Number
from asyncdp_sim.data.tables.file_form import FileForm, form_of
from asyncdp_sim.data.tables.read import column_names
from tests.tables import table
from tests.together import together

ROWS = 200
DRAW = np.random.default_rng(5)
TARGET = np.exp(DRAW.normal(size=ROWS)).round(3)
NOISE = DRAW.normal(size=ROWS).round(4)
CASES = table(__file__, "look.toml")


def column(values, name="x", decimal=".", target=TARGET):
    return looked_at(pd.Series(values, dtype=object), name, Beside(decimal, target=target))


def cycle(*values):
    return [values[j * j % 7 % len(values)] for j in range(ROWS)]


MADE = {
    "noise": NOISE,
    "places": range(ROWS),
    "F and the place": [f"F{j}" for j in range(ROWS)],
    "the target": TARGET,
    "3 less twice the target": 3 - 2 * TARGET,
    "the target's logarithm": np.log(TARGET),
    "70 texts": [f"t{j % 70}" for j in range(ROWS)],
    "dollars": [f"${1000 + 3.5 * j:,.2f}" for j in range(ROWS)],
    "squares": [10_000 + 37 * j * j for j in range(ROWS)],
    "25 texts": [f"c{j % 25}" for j in range(ROWS)],
}


def cells(case):
    if "cycle" in case:
        return cycle(*case["cycle"])
    counted = [value for value, count in case.get("counts", ()) for _ in range(count)]
    return list(MADE.get(case.get("made"), counted))


@together
@pytest.mark.parametrize("case", CASES["seen"], ids=str)
def test_what_is_seen(case):
    seen = column(cells(case), case["name"])
    assert (seen.type, seen.encoding) == (case["type"], parse(Encoding, case["encoding"]))
    assert [*seen.suspicious, *seen.details] == case["suspicious"]


def test_values_that_tell_the_target_are_a_leak():
    groups = [f"g{j % 5}" for j in range(ROWS)]
    seen = column(groups, target=np.arange(ROWS) % 5 + 1e-3 * NOISE)
    assert seen.encoding == Drop()
    assert seen.suspicious == ("a leak: its values explain 100 % of the target's variance",)


def test_a_correlation_of_less_is_no_leak():
    noisy = TARGET + 0.5 * TARGET.std() * NOISE
    assert abs(np.corrcoef(noisy, TARGET)[0, 1]) > 0.8
    assert column(noisy).suspicious == ()


def test_shares_and_counts():
    seen = column([None, "a", "a", "b"] * 50)
    assert (seen.missing, seen.distinct) == (0.25, 2)
    assert (seen.suspicious, seen.details, seen.usual) == ((), (), ("'a'", "67 %"))
    shares = [percent(x) for x in (0, 0.001, 0.5, 0.999, 1)]
    assert shares == ["0 %", "under 1 %", "50 %", "over 99 %", "100 %"]


@together
@pytest.mark.parametrize(("texts", "order"), CASES["orders"].values(), ids=CASES["orders"])
def test_orders(texts, order):
    assert ordered(texts) == (tuple(order) or None)


@pytest.mark.parametrize("case", CASES["form"])
def test_the_form_of_a_file(tmp_path, case):
    """It is that of the file as unpacked, and a mark in front of the header is no part of it."""
    path = tmp_path / "t.csv"
    path.write_text(case["text"], encoding=case["charset"])
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    head = case["text"].partition("\n")[0].replace('"', "")
    for name in ("t.csv", "t.csv.gz"):
        form = form_of(str(tmp_path / name), 1)
        assert form == FileForm(**case["form"])
        assert column_names(str(tmp_path / name), form=form) == tuple(head.split(form.separator))


def test_private_rows_do_not_tell_the_form(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1;5;2,\xe9\n1.5,2\n")
    assert form_of(str(path), 1) == form_of(str(path), 0) == FileForm()
    assert form_of(str(path), None).charset == "cp1252"


def test_owners_are_counted_without_public_rows(tmp_path):
    rows = [f"{'ab'[j % 3 // 2]},{j},{j % 4}" for j in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(["who,x,y", *rows]), encoding="utf-8")
    seen = look(str(tmp_path / "t.csv"), target="y", owner="who", public=6)
    assert seen.owners == {"a": 16, "b": 8}
    assert (seen.rows, seen.public, [each.name for each in seen.columns]) == (30, 6, ["x", "y"])
    assert look(str(tmp_path / "t.csv")).seen.empty


def test_signs_of_a_gap_are_no_words_of_a_column():
    cells = [f".{'ABZ'[j % 3]}" if j % 5 == 0 else f"{1.5 * j}" for j in range(ROWS)]
    seen = column(cells)
    assert (seen.type, seen.encoding) == ("number", Number())
    assert "count as missing: '.A', '.B', …" in seen.suspicious[0]
    blank = column([" " if j % 3 == 0 else f"${1.5 * j}" for j in range(ROWS)])
    assert (blank.type, "count as missing: ' '" in blank.suspicious[1]) == ("amount", True)
    labels = target_looked_at(pd.Series(cycle("yes", "no", " ")), "y", Beside())
    assert labels.encoding.labels == ("no", "yes")


@pytest.mark.parametrize("kind", ["int64", "float64", "Int64", object])
def test_numbers_of_a_parquet_file_are_no_times(kind):
    seen = looked_at(pd.Series(range(ROWS), dtype=kind) % 7, "x", Beside(target=TARGET))
    assert (seen.type, seen.suspicious) == ("number", ())


@pytest.mark.parametrize("own", ["own.csv", "sizes.csv"])
def test_a_row_of_sums_of_the_public_file_is_named_as_that_files(tmp_path, own):
    """By its own text, whatever stands first in the row; no private record is dropped for it."""
    rows = "".join(f"{'AB'[at % 2]},{20 + at},{1.5 * at}\n" for at in range(60))
    (tmp_path / "own.csv").write_text("site,age,dose\n" + rows, encoding="utf-8")
    (tmp_path / "pub.csv").write_text(f"site,age,dose\n{rows}A,Total,\n", encoding="utf-8")
    (tmp_path / "sizes.csv").write_text("site,rows\nA,20\nB,90\n", encoding="utf-8")
    asked = {"public_path": str(tmp_path / "pub.csv"), "sizes": own == "sizes.csv"}
    found = look(str(tmp_path / own), target="dose", owner="site", **asked)
    said = [line for line in found.lines(details=True) if "sums or notes" in line or "drop" in line]
    assert said[0].endswith("row 61 ('Total') of pub.csv")
    assert "read_csv('pub.csv'" in said[1]
    assert "t.drop([60])" in said[1]


def test_the_command_that_leaves_out_sums_keeps_all_other_cells(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{['NA', 'Köln'][at % 2]};{20 + at};{at},5\n" for at in range(60))
    Path("t.csv").write_text(f"sep=;\nsite;age;dose\n{rows}NA;Total;\n", encoding="cp1252")
    found = look("t.csv", target="dose", owner="site", public=30)
    [line] = [line for line in found.lines() if line.startswith("to leave them out: ")]
    exec(shlex.split(line.removeprefix("to leave them out: "))[2])
    after = look("rows.csv", target="dose", owner="site", public=30)
    assert (after.owners, after.rows) == ({"NA": 15, "Köln": 15}, 60)


PADDED = {
    "postal codes": ([f"{1067 + 997 * (j % 40):05}" for j in range(ROWS)], "text"),
    "months": ([f"{1 + j % 12:02}" for j in range(ROWS)], "text"),
    "codes and a gap": (["?", *(f"{j % 50:03}" for j in range(1, ROWS))], "text"),
    "zeros": (cycle("0", "1", "5"), "number"),
    "one zero in front": (["012", *(f"{100 + j}" for j in range(1, ROWS))], "number"),
    "several widths": ([str(j * j) for j in range(ROWS)], "number"),
    "fractions": ([f"0.{100 + j * j}" for j in range(ROWS)], "number"),
}  # fmt: skip


@together
@pytest.mark.parametrize(("cells", "kind"), PADDED.values(), ids=PADDED)
def test_whole_numbers_with_zeros_in_front_are_codes(cells, kind):
    seen = column(cells, "plz")
    assert seen.type == kind
    told = "codes with leading zeros, read as text; --column 'plz = { kind = \"number\" }' reads"
    assert (told in "; ".join(seen.suspicious)) == (kind == "text")


@pytest.mark.parametrize("kind", ["Int64", "string", "boolean", "float64", "category"])
def test_columns_with_gaps_of_every_kind_beside_a_list_of_sizes(tmp_path, kind):
    """A gap of pandas' own kinds is neither true nor false, and no row is a list of rows."""
    shown = pd.DataFrame({"site": ["A", "B"] * 20, "x": [1, None] * 20, "y": range(40)})
    shown.astype({"x": kind}).to_parquet(tmp_path / "shown.parquet", index=False)
    shown.head(0).to_parquet(tmp_path / "none.parquet", index=False)
    (tmp_path / "sizes.csv").write_text("site,rows\nA,20\nB,90\n", encoding="utf-8")
    asked = {"target": "y", "owner": "site", "missing": ("x=9",), "sizes": True}
    found = look(str(tmp_path / "sizes.csv"), public_path=str(tmp_path / "shown.parquet"), **asked)
    assert found.columns[0].missing == 0.5
    with pytest.raises(DataError, match="the file has no rows"):
        look(str(tmp_path / "sizes.csv"), public_path=str(tmp_path / "none.parquet"), **asked)


# Rates at which ids, numbers for gaps and leaks are named, of drawn laws with a known answer.
#
# Each law has the rate at which its column is named: by a formula, or as 1,000 draws gave it,
# with a standard error of at most 0.01. A test draws 100 others and allows four standard errors.
# Where the answer is no, the rate is that of false alarms; else what is left to 1 is missed.
# Formulas: an even id is missed by the 5 % of a test of Kolmogorov and Smirnov; a number for gaps
# is named from 1 % of the cells on, of which there are binomially many; half of samples exceed
# their correlation.
#
# Why two limits stand where they do: of 60 normal amounts about half look even, so that fewer
# than 150 tell no ids; and one positive row of 20 is at either end by chance in 10 % of the
# columns.

DRAWS = 100
LAWS = table(__file__, "rates_of_suspicions.toml")


def drawn(case, generator):
    """Return a column and a target of a law of the table."""
    rows = case.get("rows", 400)
    if "correlation" in case:
        r, target = case["correlation"], generator.normal(size=rows)
        column = r * target + np.sqrt(1 - r**2) * generator.normal(size=rows)
        if "even" in case:
            column = np.round(1e6 * np.array([NormalDist().cdf(z) for z in column])) + 1e6
        return column, target
    if "auc" in case:  # of two normal laws
        target = np.where(np.arange(rows) < case["positive"], 1.0, -1.0)
        apart = np.sqrt(2) * NormalDist().inv_cdf(case["auc"])
        return generator.normal(size=rows) + apart * (target > 0), target
    name, *numbers = case["law"]
    column = getattr(generator, name)(*numbers, size=rows, **case.get("options", {}))
    for function, *more in case.get("then", ()):
        column = getattr(np, function)(column, *more)
    if "code" in case:
        column = np.where(generator.random(rows) < case["share"], case["code"], column)
    return column, generator.normal(size=rows)


def rate(case, said):
    """Return the share of draws of which a remark has these words."""
    named = 0
    classes = ("a", "b") if "auc" in case else ()
    for seed in range(DRAWS):
        values, target = drawn(case, np.random.default_rng([seed, 61]))
        cells = [str(int(v)) if float(v).is_integer() else repr(float(v)) for v in values]
        beside = Beside(".", True, target=np.asarray(target, dtype=float), classes=classes)
        remarks = looked_at(pd.Series(cells), "v", beside).suspicious
        named += any(said in remark for remark in remarks)
    return named / DRAWS


@pytest.mark.long
@pytest.mark.parametrize("said", LAWS)
def test_it_is_said_at_the_rate_of_the_law(said):
    wrong = {}
    for name, case in LAWS[said].items():
        error = max(np.sqrt(case["rate"] * (1 - case["rate"]) / DRAWS), 0.5 / DRAWS)
        found = rate(case, said)
        if abs(found - case["rate"]) > 4 * error:
            wrong[name] = found
    assert wrong == {}
