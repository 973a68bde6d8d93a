"""The form of a CSV is found in its header and its public rows, wherever these lie."""

import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import TableData
from asyncdp_sim.data.table_profile import look
from tests.together import together

ROWS, PUBLIC = 300, 100


def lines(names, separator, comma, first="Nord"):
    """Return a table of a weight with two or three decimals, and what the numbers are."""
    draws = np.random.default_rng(8)
    weight = draws.normal(7.5, 0.4, ROWS).round(3)
    weight[::3] = weight[::3].round(2)
    days = (weight + draws.normal(0, 0.1, ROWS)).round(2)
    sites = [f"{first} {row % 3}" for row in range(ROWS)]
    cells = zip(sites, weight, days, strict=True)
    rows = [separator.join(map(str, row)) for row in cells]
    text = "\n".join([separator.join(names), *(r.replace(".", ",") if comma else r for r in rows)])
    return text + "\n", weight


FORMS = {
    "English": ("site,weight,days", ",", False, "Nord", "utf-8", None),
    "semicolons": ("site;weight;days", ";", True, "Nord", "utf-8", None),
    "semicolons and points": ("site;weight;days", ";", False, "Nord", "utf-8", None),
    "tabs": ("site\tweight\tdays", "\t", True, "Nord", "utf-8", None),
    "umlauts": ("Größe;weight;days", ";", True, "Süd", "cp1252", None),
    "umlauts in UTF-8": ("Größe;weight;days", ";", True, "Süd", "utf-8", None),
    "two bytes": ("site;weight;days", ";", True, "Nord", "utf-16", None),
    "a mark in front": ("site;weight;days", ";", True, "Nord", "utf-8-sig", None),
    "Cyrillic": ("больница;weight;days", ";", True, "Север", "cp1251", "cp1251"),
    "Korean": ("병원,weight,days", ",", False, "북", "cp949", "cp949"),
    "Japanese": ("病院,weight,days", ",", False, "北", "shift_jis", "shift_jis"),
    "Chinese": ("医院,weight,days", ",", False, "北", "gb18030", "gb18030"),
    "Greek": ("μονάδα;weight;days", ";", True, "Βορράς", "iso8859_7", "iso8859-7"),
}


@pytest.mark.parametrize("seed", [None, 1, 7])
@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_the_same_form_is_found_with_and_without_a_seed(tmp_path, name, seed, stated):
    names, separator, comma, first, written, charset = FORMS[name]
    text, weight = lines(names.split(separator), separator, comma, first)
    path = tmp_path / "t.csv"
    path.write_bytes((f"sep={separator}\n" * stated + text).encode(written))
    owner = names.split(separator)[0]
    seen = look(str(path), target="days", owner=owner, public=PUBLIC, public_seed=seed,
                charset=charset)  # fmt: skip
    assert (seen.form.separator, seen.form.decimal) == (separator, "," if comma else ".")
    assert len(seen.owners) == 3
    data = TableData(
        path=str(path), target="days", split={"column": owner}, features=1,
        public_records=PUBLIC, preprocessing="none", public_seed=seed, charset=charset,
    )  # fmt: skip
    built = data.build(3, None, Streams(1))
    read = np.concatenate([x[:, 0] for x in built.features])
    places = np.concatenate(built.rows)
    from asyncdp_sim.data.tables.read import public_last

    order = public_last(ROWS, PUBLIC, seed)
    np.testing.assert_array_equal(read, weight[order][places])


def test_rows_over_several_lines_are_counted_as_rows(tmp_path):
    rows = [f'"a\nb {row}";{row},5;"x;{row}"' for row in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["note;x;y", *rows]) + "\n", encoding="utf-8")
    for seed in (1, 2, 3):
        seen = look(str(tmp_path / "t.csv"), public=20, public_seed=seed)
        assert (seen.form.separator, seen.form.decimal, seen.rows) == (";", ",", 60)


def test_no_private_row_says_how_others_are_read(tmp_path):
    text, _ = lines(["site", "weight", "days"], ";", comma=True)
    head, *rows = text.splitlines()
    from asyncdp_sim.data.tables.read import public_last

    public = set(public_last(ROWS, PUBLIC, 1)[-PUBLIC:].tolist())
    mixed = [r if at in public else r.replace(",", ".") for at, r in enumerate(rows)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join([head, *mixed]), encoding="utf-8")
    assert look(str(path), public=PUBLIC, public_seed=1).form.decimal == ","


@together
@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("cp1252", "charset: cp1252 is a guess; by it a line is 'Größe,days'"),
        ("cp1251", "by cp1251 'больница,days' (--charset cp1251)"),
        ("cp949", "by cp949 '병원,days' (--charset cp949)"),
    ],
)
def test_a_guessed_charset_is_named_with_a_line(tmp_path, written, said):
    name = {"cp1252": "Größe", "cp1251": "больница", "cp949": "병원"}[written]
    path = tmp_path / "t.csv"
    path.write_bytes(
        "\n".join([f"{name},days", *(f"1.5,{row}" for row in range(40))]).encode(written)
    )
    [line] = look(str(path), public=20).form.doubts()
    assert said in line
    assert look(str(path), public=20, charset=written).form.doubts() == []
    with pytest.raises(DataError, match=r"a question|is a guess"):
        look(str(path), public=20, target="no such column")


def test_an_unknown_charset_is_refused_in_one_line(command, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    done = command("data", tmp_path / "t.csv", "--charset", "cp0")
    assert done.code == 2
    assert "given 'cp0'; allowed is a charset of Python, such as utf-8" in done.err
    with pytest.raises(SpecError, match="charset: given 'rot13'; allowed is a charset of Python"):
        TableData(path="t.csv", target="b", features=1, public_records=2, charset="rot13")
