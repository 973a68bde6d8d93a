"""A look at a column: its type, what is suspicious, and the encoding that fits."""

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.data.column_profile import looked_at, ordered, percent
from asyncdp_sim.data.table_profile import look
from asyncdp_sim.data.tables.encodings import Date, Drop, Money, Number, OneHot, Ordinal
from asyncdp_sim.data.tables.file_form import FileForm, form_of
from tests.together import together

ROWS = 200
DRAW = np.random.default_rng(5)
TARGET = np.exp(DRAW.normal(size=ROWS)).round(3)
NOISE = DRAW.normal(size=ROWS).round(4)
RISK = ("Minor", "Moderate", "Major", "Extreme")


def column(values, name="x", decimal=".", target=TARGET):
    return looked_at(pd.Series(values, dtype=object), name, decimal, target)


def cycle(*values):
    return [values[j * j % 7 % len(values)] for j in range(ROWS)]


@together
@pytest.mark.parametrize(
    ("name", "values", "kind", "encoding", "suspicious"),
    [
        ("x", NOISE, "number", Number(), ()),
        ("x", [None] * ROWS, "nothing", Drop(), ("no value",)),
        ("x", ["n"] * ROWS, "one value", Drop(), ("only one value, 'n'",)),
        ("case", range(ROWS), "number", Drop(),
         ("an id: nearly all values differ, and they are consecutive or padded with zeros",)),
        ("case", [f"F{j}" for j in range(ROWS)], "text", Drop(),
         ("an id: nearly all values differ",)),
        ("Permanent.Facility.Id", cycle(1, 2, 3, 4), "number", Drop(), ("an id, by its name",)),
        ("grid", cycle(1, 2, 3, 4), "number", Number(), ()),
        ("x", TARGET, "number", Drop(), ("a leak: equal to the target",)),
        ("x", 3 - 2 * TARGET, "number", Drop(), ("a leak: correlation 1.000 with the target",)),
        ("x", np.log(TARGET), "number", Drop(), ("a leak: correlation 1.000 with the target",)),
        ("sex", cycle("f", "m"), "text", OneHot(), ("72 % of its values are 'f'",)),
        ("zip_code", cycle("010xx", "020xx", "030xx"), "text", OneHot(), ()),
        ("DRG code", cycle(351, 347, 342), "number", OneHot(), ("numbers that may be codes",)),
        ("x", [f"t{j % 70}" for j in range(ROWS)], "text", Drop(),
         ("too many for a column each (70)",)),
        ("risk", cycle("Minor", "Major", "Extreme"), "ordered text", Ordinal(order=RISK),
         ("its values have a natural order",)),
        ("age", cycle("50 to 69", "18 to 29", "30 to 49"), "ordered text",
         Ordinal(order=("18 to 29", "30 to 49", "50 to 69")), ("its values have a natural order",)),
        ("pay", [f"${1000 + 3.5 * j:,.2f}" for j in range(ROWS)], "amount", Money(),
         ("numbers with signs or units, as '$1,000.00'",)),
        ("stay", cycle("7", "120 +", "12", "9"), "amount", Money(),
         ("numbers with signs or units, as '12'",)),
        ("when", cycle("03.02.2021", "28.12.2020", "01.07.2022"), "date",
         Date(format="%d.%m.%Y", since="2020-01-01"), ("dates as %d.%m.%Y",)),
        ("when", cycle("Dec-2011", "Jan-1985", "Feb-1999"), "date",
         Date(format="%b-%Y", since="1985-01-01"), ("dates as %b-%Y",)),
        ("when", cycle("2020-05-17", "2020-05-18", "2021-01-01"), "date",
         Date(since="2020-01-01"), ()),
        ("place", ["a"] * 100 + ["b"] * 91 + ["c"] * 9, "text", OneHot(least=10), ()),
        ("place", ["a"] * 100 + ["b"] * 90 + ["c"] * 10, "text", OneHot(), ()),
        ("flag", ["n"] * 191 + ["y"] * 9, "text", Drop(),
         ("nearly one value: others in 9 rows",)),
        ("land", [f"c{n % 25}" for n in range(200)], "text", Drop(),
         ("rare values: each in at most 8 rows",)),
        ("flag", ["n"] * 190 + ["y"] * 10, "text", OneHot(), ()),
        ("sum", [None] * 191 + [2.5, *range(8)], "number", Drop(),
         ("nearly one value: others in 8 rows",)),
    ],
)  # fmt: skip
def test_what_is_seen(name, values, kind, encoding, suspicious):
    seen = column(list(values), name)
    assert (seen.type, seen.encoding) == (kind, encoding)
    told = [
        each for each in seen.suspicious if "% of its values are " not in each or each in suspicious
    ]
    assert tuple(told) == suspicious


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
    assert seen.suspicious == ("67 % of its values are 'a'",)
    assert [percent(x) for x in (0, 0.001, 0.5, 0.999, 1)] == [
        "0 %", "under 1 %", "50 %", "over 99 %", "100 %"
    ]  # fmt: skip


def test_orders():
    assert ordered(["low", "high", "medium"]) == ("very low", "low", "medium", "high", "very high")
    assert ordered(["10+ years", "< 1 year", "1 year"]) == ("< 1 year", "1 year", "10+ years")
    assert ordered(["a", "b", "c"]) is None
    assert ordered(["B2", "C4", "C5"]) is None
    assert ordered(["no", "yes"]) is None


@pytest.mark.parametrize(
    ("text", "charset", "form"),
    [
        ("a,b\n1.5,2\n", "utf-8", FileForm()),
        ("a;b\n1,5;2\n", "utf-8", FileForm(";", ",")),
        ("a;b\n1.5;2\n", "utf-8-sig", FileForm(";", ".")),
        ("a\tb\n1.234,5\té\n", "cp1252", FileForm("\t", ",", "cp1252")),
        ("a|b\n1|2\n", "utf-16", FileForm("|", ".", "utf-16")),
        ("a;b,c;d\n1;2,5;3\n", "utf-8", FileForm(";", ",")),
        ("a\n1,5\n", "utf-8", FileForm()),
        ('"a;b",c\n1,2\n', "utf-8", FileForm()),
    ],
)
def test_the_form_of_a_file(tmp_path, text, charset, form):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding=charset)
    assert form_of(str(path), 1) == form


def test_private_rows_do_not_tell_the_form(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1;5;2,\xe9\n1.5,2\n")
    assert form_of(str(path), 1) == FileForm()
    assert form_of(str(path), 0) == FileForm()
    assert form_of(str(path), None).charset == "cp1252"


def test_owners_are_counted_without_public_rows(tmp_path):
    rows = [f"{'ab'[j % 3 // 2]},{j},{j % 4}" for j in range(30)]
    (tmp_path / "t.csv").write_text("\n".join(["who,x,y", *rows]), encoding="utf-8")
    seen = look(str(tmp_path / "t.csv"), target="y", owner="who", public=6)
    assert seen.owners == {"a": 16, "b": 8}
    assert (seen.rows, seen.public, [each.name for each in seen.columns]) == (30, 6, ["x", "y"])
    assert look(str(tmp_path / "t.csv")).seen.empty
