"""Amounts have a closed grammar: a cell is read right, or it is no amount; never something else."""

import math
from decimal import Decimal

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings

from asyncdp_sim.data.column_profile import looked_at, target_looked_at
from asyncdp_sim.data.tables.amounts import doubted, notation_of
from asyncdp_sim.data.tables.column_type import Beside
from tests.tables import table
from tests.together import together

ROWS = 60
DRAW = np.random.default_rng(3)
VALUES = (10 ** DRAW.uniform(0, 6, ROWS) * DRAW.choice([-1, 1], ROWS)).round(2)


TABLE = table(__file__, "amounts.toml")
NOTATIONS = TABLE["notations"]
DECLARED = {"debits, as declared": {"DR": -1.0, "CR": 1.0}}


def by_pairs(digits: str) -> str:
    """Return whole digits in groups of two but for the last three, as in India."""
    head = digits[:-3]
    pairs = [head[max(0, end - 2) : end] for end in range(len(head), 0, -2)]
    return ",".join([*reversed(pairs), digits[-3:]])


def written(name: str, x: float) -> str:
    """Return a number in a notation of the table."""
    how = NOTATIONS[name]
    if "above" in how and abs(x) > how["above"][0]:
        how = how | how["above"][1]
    pattern = how.get("text", "#")
    if x < 0 and "negative" in how:
        pattern, x = how["negative"], -x
    text = f"{x / how.get('per', 1):{how.get('form', ',.2f')}}"
    if "pairs" in how:
        whole = text[:-3].replace(",", "")
        text = by_pairs(whole.removeprefix("-")) + text[-3:]
        text = f"-{text}" if x < 0 else text
    if "bare" in how and abs(x) < 1:
        text = text.replace("0.", ".")
    text = text.translate({ord(","): how.get("group", ","), ord("."): how.get("mark", ".")})
    text = text.translate(str.maketrans(*how.get("characters", ("", ""))))
    return pattern.replace("#", text)


def meant(name: str, x: float) -> float:
    """Return the number that a notation of x says."""
    form = NOTATIONS[name].get("form", "")
    if form in (",.0f", ".3E"):
        x = float(f"{x:{form}}".replace(",", ""))
    return abs(x) if "francs" in name or "euros without" in name else x


@pytest.mark.parametrize("name", NOTATIONS)
@pytest.mark.parametrize("decimal", [".", ","])
def test_known_numbers_are_read_right_in_each_notation(name, decimal):
    """Whatever the table's mark is, as long as the column shows its own."""
    texts = [written(name, x) for x in VALUES]
    found = notation_of(dict.fromkeys(texts, 1), decimal, declared=DECLARED.get(name))
    read = np.array([found.read(text).value for text in texts])
    expected = np.array([meant(name, x) for x in VALUES]) / (1e3 if name == "bytes" else 1)
    if doubted(dict.fromkeys(texts, 1), decimal, sure=False):  # the table says, or it is asked
        assert name == "yen without a fraction"
        assert found.decimal == decimal
        return
    np.testing.assert_allclose(read, expected, rtol=1e-12)


NUMBERS = st.lists(st.floats(1e-2, 1e7).map(lambda x: round(x, 2)), min_size=1, max_size=12)
NAMES = st.sampled_from(sorted(NOTATIONS))


@settings(max_examples=60, deadline=None)
@given(NUMBERS, NAMES, NAMES, st.sampled_from([".", ","]))
def test_a_private_cell_in_any_notation_is_right_or_missing(values, public, private, decimal):
    """A column shows one notation, a private cell has another: it is read right, or not at all."""
    shown = [written(public, x) for x in VALUES]
    found = notation_of(dict.fromkeys(shown, 1), decimal, declared=DECLARED.get(public))
    for x in values:
        text = written(private, x)
        read = found.read(text).value
        if math.isnan(read) or doubted({text.strip(" €$₹¥%"): 1}, decimal, sure=False):
            continue
        exact = meant(private, x)
        right = [exact / 1e3, exact] if "bytes" in (private, public) else [exact]
        near = {"rel": 1e-6, "abs": 0.6 if "gram" in private else 1e-9}
        assert any(read == pytest.approx(value, **near) for value in right), text


@pytest.mark.parametrize("text", TABLE["none"].replace("\n", "").split("|"))
@pytest.mark.parametrize("decimal", [".", ","])
def test_what_is_no_amount_is_none(text, decimal):
    """Beside numbers, and beside others like it."""
    beside = dict.fromkeys(["1", "2.5" if decimal == "." else "2,5", "300"], 10)
    assert math.isnan(notation_of(beside, decimal).read(text).value)
    if text not in ("1.5Fin", "1e"):
        alone = notation_of({text: 3}, decimal)
        assert math.isnan(alone.read(text).value)


def column(texts, **beside):
    made = pd.Series([texts[row % len(texts)] for row in range(200)], dtype=object)
    return looked_at(made, "x", Beside(target=np.random.default_rng(1).normal(size=200), **beside))


ASKED = {
    "debits": ([f"{j} {'DR' if j % 3 else 'CR'}" for j in range(100, 200)], "factors"),
    "north and south": ([f"{j / 7:.2f} {'S' if j % 3 else 'N'}" for j in range(90)], "S = -1"),
    "Soll and Haben": ([f"{j},5 {'S' if j % 3 else 'H'}" for j in range(90)], "H = 1, S = -1"),
    "BC and AD": ([f"{j}{'BC' if j % 3 else ' AD'}" for j in range(90)], "BC = -1"),
    "M and MM": ([f"{j}.5{'M' if j % 3 else 'MM'}" for j in range(100, 200)], '"MM" = 1000000.0'),
}


@together
@pytest.mark.parametrize("name", ASKED)
def test_what_only_the_user_knows_is_asked(name):
    texts, said = ASKED[name]
    found = column(texts)
    assert (found.type, found.encoding.kind, found.dropped) == ("question", "drop", "question")
    assert said.replace('"', "") in found.suspicious[0].replace('"', "")


@pytest.mark.parametrize(("one", "other"), TABLE["units"])
def test_numbers_in_several_units_that_are_not_converted_are_asked(one, other):
    found = column([f"{j / 10}{one if j % 3 else other}" for j in range(340, 420)])
    assert (found.dropped, found.encoding.kind) == ("question", "drop")
    assert "have different units or currencies: write all in one" in found.suspicious[0]
    rare = column([f"{j / 10}{one if j % 50 else other}" for j in range(340, 500)])
    assert rare.span[-1] == "49.9"
    assert rare.suspicious[-1].startswith("98 % of the cells are ")
    assert "; the others (4) count as missing: " in rare.suspicious[-1]


@together
@pytest.mark.parametrize("cells", TABLE["of_few_values"])
def test_few_values_in_several_units_are_asked_and_have_no_order(cells):
    found = column(cells.split("|"))
    assert (found.dropped, found.encoding.kind) == ("question", "drop")
    assert "have different units or currencies: write all in one" in found.suspicious[0]
    mixed = column([*cells.split("|"), "2-3 h", "4 years or more"])
    assert (mixed.type, mixed.encoding.kind) == ("text", "one-hot")


@together
@pytest.mark.parametrize(("encoding", "cells"), TABLE["texts"].values(), ids=TABLE["texts"])
def test_codes_places_and_texts_with_numbers_in_front_are_no_amounts(encoding, cells):
    assert (column(cells).type, column(cells).encoding.kind) == ("text", encoding)


POINTS = [f"{j}.{j + 100}" for j in range(1, 90)]
LISTS = {
    "points": POINTS,
    "euros": [f"{j},{j + 100} €" for j in range(1, 90)],
    "cents": [f"{j / 7:.2f}".replace(".", ",") for j in range(10, 90)],
    "lengths": [f"{1 + j / 97:.3f}".rstrip("0").replace(".", ",") for j in range(1, 90)],
    "thousands": [f"{17 * j:,}" for j in range(1, 90)],
    "values": [*map(str, VALUES)],
}


@together
@pytest.mark.parametrize("name", TABLE["doubted"])
def test_thousands_or_decimals_are_asked_where_the_other_cells_do_not_show_it(name):
    """A column of thousands with one decimal comma was a thousandth of itself."""
    decimal, sure, cells, more, asked = TABLE["doubted"][name]
    found = column([*LISTS[cells], *more], decimal=decimal, sure=sure)
    assert (found.dropped == "question") == asked
    assert ('decimal = "."' in str(found.suspicious)) == asked
    assert ('decimal = ","' in str(found.suspicious)) == asked


def test_numbers_of_a_parquet_file_have_no_mark():
    numbers = pd.Series([Decimal(text) for text in (*POINTS, "978")] * 2, dtype=object)
    assert looked_at(numbers, "x", Beside(target=np.arange(180.0) % 7)).dropped == ""


def test_flags_and_bounds_have_columns_of_their_own():
    flags = column([f"{j}{' H' if j % 3 == 0 else ''}" for j in range(100, 160)])
    assert "what stands behind numbers (H) has columns" in flags.suspicious
    bounds = column([f"{j}" for j in range(18, 90)] + ["90+"] * 20)
    assert any(line.startswith("20 % of the cells are bounds") for line in bounds.suspicious)
    assert bounds.span == ("18", "59", "90")


def test_limits_alone_are_classes_and_what_is_too_large_is_counted():
    limits = pd.Series([">50K" if j % 3 else "<=50K" for j in range(200)])
    assert target_looked_at(limits, "income", Beside()).encoding.labels == ("<=50K", ">50K")
    assert column(["<0.5"] * 9 + ["0.6", "0.9", "1.4", "3.1"]).span == ("0.5", "0.5", "3.1")
    for word in ("inf", "Infinity", "1e400"):
        found = column([word, *(f"{j / 7:.3f}" for j in range(99))])
        assert found.suspicious[-1].endswith(f"the others (2) count as missing: {word!r}")


def test_the_screen_has_what_was_read():
    assert column([f"{j / 7:.1f}k" for j in range(1, 60)]).span == ("100", "3700", "8400")
    assert "k means thousand" in column([f"{j / 7:.1f}k" for j in range(1, 60)]).suspicious
