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


def grouped(x: float, group: str, mark: str, places: int = 2) -> str:
    """Return a number with groups of three digits."""
    return f"{x:,.{places}f}".translate(str.maketrans(",.", "\0\1")).replace("\0", group).replace(
        "\1", mark
    )  # fmt: skip


def indian(x: float) -> str:
    """Return a number with groups of two digits but for the last three."""
    sign, whole, part = "-" * int(x < 0), f"{abs(x):.2f}"[:-3], f"{abs(x):.2f}"[-3:]
    head, last = whole[:-3], whole[-3:]
    parts = []
    while head:
        parts.insert(0, head[-2:])
        head = head[:-2]
    return sign + ",".join([*parts, last]) + part


def signed(write):
    """Return a notation that puts what it makes of |x| between parentheses where x < 0."""
    return lambda x: f"({write(-x)})" if x < 0 else write(x)


def behind(x: float) -> str:
    return f"{abs(x):,.2f}" + "-" * int(x < 0)


def english(x: float) -> str:
    return grouped(x, ",", ".")


def german(x: float) -> str:
    return grouped(x, ".", ",")


ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
WIDE = str.maketrans("0123456789.-", "０１２３４５６７８９．－")
NOTATIONS = {
    "plain": lambda x: f"{x:.2f}",
    "a plus": lambda x: f"{x:+.2f}",
    "a true minus": lambda x: f"{x:.2f}".replace("-", "−"),
    "decimal comma": lambda x: f"{x:.2f}".replace(".", ","),
    "English": english,
    "German": german,
    "French": lambda x: grouped(x, "\u202f", ","),
    "a plain blank": lambda x: grouped(x, " ", ","),
    "blanks and a point": lambda x: grouped(x, " ", "."),
    "Swiss": lambda x: grouped(x, "’", "."),
    "an apostrophe": lambda x: grouped(x, "'", "."),
    "Indian": indian,
    "Indian rupees": lambda x: f"₹{indian(x)}",
    "parentheses": signed(english),
    "parentheses of dollars": signed(lambda x: f"${english(x)}"),
    "dollars before parentheses": lambda x: f"$({english(-x)})" if x < 0 else f"${english(x)}",
    "parentheses, decimal comma": signed(german),
    "a minus behind": behind,
    "a minus behind, of euros": lambda x: "€ " + behind(x),
    "dollars": lambda x: f"${english(x)}",
    "dollars, minus inside": lambda x: f"$-{english(-x)}" if x < 0 else f"${english(x)}",
    "minus, then dollars": lambda x: f"-${english(-x)}" if x < 0 else f"${english(x)}",
    "US dollars": lambda x: f"US$ {english(x)}",
    "reais": lambda x: f"R$ {german(x)}",
    "euros behind": lambda x: f"{german(x)} €",
    "euros attached": lambda x: f"{german(x)}€",
    "an ISO code": lambda x: f"CHF {grouped(x, chr(39), '.')}",
    "an ISO code behind": lambda x: f"{english(x)} USD",
    "a point behind a currency": lambda x: f"Rs. {english(x)}",
    "an exponent, decimal comma": lambda x: f"{x:.8E}".replace(".", ","),
    "a short exponent, decimal comma": lambda x: f"{x:.3E}".replace(".", ","),
    "francs without a fraction": lambda x: f"Fr. {grouped(abs(x), chr(39), '.', 0)}.-",
    "euros without a fraction": lambda x: f"{grouped(abs(x), '.', ',', 0)},-- €",
    "bytes": lambda x: f"{x / 1e3:.5f} MB" if abs(x) > 1e3 else f"{x:.2f} KB",
    "yen without a fraction": lambda x: f"¥{x:,.0f}",
    "per cent": lambda x: f"{x:.2f}%",
    "per cent with a blank": lambda x: f"{german(x)} %",
    "a unit": lambda x: f"{x:.2f} mg/dL",
    "a unit with a digit": lambda x: f"{x:.2f} kg/m2",
    "a word": lambda x: f"{english(x)} days",
    "an exponent": lambda x: f"{x:.8e}",
    "an exponent of euros": lambda x: f"{x:.8E} €",
    "thousands": lambda x: f"{x / 1e3:.5f}k",
    "thousands and millions": lambda x: f"{x / 1e6:.8f}M" if abs(x) > 1e5 else f"{x / 1e3:.5f}k",
    "millions in German": lambda x: f"{x / 1e6:.8f} Mio. €".replace(".", ",", 1),
    "lakh": lambda x: f"{x / 1e5:.7f} lakh",
    "grams and kilograms": lambda x: f"{x * 1e3:.0f} g" if abs(x) < 100 else f"{x:.2f} kg",
    "Arabic-Indic digits": lambda x: grouped(x, "٬", "٫").translate(ARABIC),
    "full-width digits": lambda x: f"{x:.2f}".translate(WIDE),
    "a formula of a text": lambda x: f'="{english(x)}"',
    "a mark of a text": lambda x: f"'{german(x)}",
    "no digit in front": lambda x: f"{x:.2f}".replace("0.", ".") if abs(x) < 1 else f"{x:.2f}",
    "blanks around": lambda x: f"  {english(x)}\t",
    "debits, as declared": lambda x: f"{english(abs(x))} {'DR' if x < 0 else 'CR'}",
}
DECLARED = {"debits, as declared": {"DR": -1.0, "CR": 1.0}}


@pytest.mark.parametrize("name", NOTATIONS)
@pytest.mark.parametrize("decimal", [".", ","])
def test_known_numbers_are_read_right_in_each_notation(name, decimal):
    """Whatever the table's mark is, as long as the column shows its own."""
    texts = [NOTATIONS[name](x) for x in VALUES]
    found = notation_of(dict.fromkeys(texts, 1), decimal, declared=DECLARED.get(name))
    read = np.array([found.read(text).value for text in texts])
    expected = np.rint(VALUES) if "without a fraction" in name else VALUES
    if "francs" in name or "euros without" in name:
        expected = np.abs(expected)
    if name == "bytes":
        expected = expected / 1e3
    if "short" in name:
        expected = np.array([float(f"{x:.3E}") for x in VALUES])
    if doubted(dict.fromkeys(texts, 1), decimal, sure=False):  # the table says, or it is asked
        assert name == "yen without a fraction"
        assert found.decimal == decimal
        return
    np.testing.assert_allclose(read, expected, rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(1e-2, 1e7).map(lambda x: round(x, 2)), min_size=1, max_size=12),
    st.sampled_from(sorted(NOTATIONS)),
    st.sampled_from(sorted(NOTATIONS)),
    st.sampled_from([".", ","]),
)
def test_a_private_cell_in_any_notation_is_right_or_missing(values, public, private, decimal):
    """A column shows one notation, a private cell has another: it is read right, or not at all."""
    shown = [NOTATIONS[public](x) for x in VALUES]
    found = notation_of(dict.fromkeys(shown, 1), decimal, declared=DECLARED.get(public))
    for x in values:
        text = NOTATIONS[private](x)
        read = found.read(text).value
        if math.isnan(read) or doubted({text.strip(" €$₹¥%"): 1}, decimal, sure=False):
            continue
        exact = round(x) if "without a fraction" in private else x
        exact = float(f"{x:.3E}") if "short" in private else exact
        right = [exact / 1e3, exact] if "bytes" in (private, public) else [exact]
        near = {"rel": 1e-6, "abs": 0.6 if "gram" in private else 1e-9}
        assert any(read == pytest.approx(value, **near) for value in right), text


TABLE = table(__file__, "amounts.toml")
NONE = TABLE["none"]


@pytest.mark.parametrize("text", [text for text in NONE.replace("\n", "").split("|") if text])
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


UNITS = TABLE["units"]


@pytest.mark.parametrize(("one", "other"), UNITS)
def test_numbers_in_several_units_that_are_not_converted_are_asked(one, other):
    found = column([f"{j / 10}{one if j % 3 else other}" for j in range(340, 420)])
    assert (found.dropped, found.encoding.kind) == ("question", "drop")
    assert "have different units or currencies: write all in one" in found.suspicious[0]
    rare = column([f"{j / 10}{one if j % 50 else other}" for j in range(340, 500)])
    assert rare.span[-1] == "49.9"
    assert rare.suspicious[-1].startswith("98 % of the cells are ")
    assert "; the others (4) count as missing: " in rare.suspicious[-1]


@together
@pytest.mark.parametrize("cells", [
    "36.6 °C|37 °C|37.2 °C|98.1 °F|99 °F", "36.6C|37.0C|98.1F|99.0F", "310 K|311 K|37 °C|38 °C",
    "6 mo|18 mo|2 yr|3 yr", "30 days|6 weeks|3 months|1 year", "16 kPa|17 kPa|120 mmHg|130 mmHg",
    "500 MG|250 MG|1 G|2 G", "10 kW|20 kW|500 W|1 MW", "5%|10%|0.05|0.1", "$5|$10|€20|€30",
])  # fmt: skip
def test_few_values_in_several_units_are_asked_and_have_no_order(cells):
    found = column(cells.split("|"))
    assert (found.dropped, found.encoding.kind) == ("question", "drop")
    assert "have different units or currencies: write all in one" in found.suspicious[0]
    mixed = column([*cells.split("|"), "2-3 h", "4 years or more"])
    assert (mixed.type, mixed.encoding.kind) == ("text", "one-hot")


def test_numbers_with_powers_of_ten_behind_them_have_no_order():
    assert column(["5.2 x10^3", "38 x10^3", "4.1 x10^4"]).type == "text"


@together
@pytest.mark.parametrize(
    "texts", [[f"{grade}{letter}" for grade in range(1, 10) for letter in "ABC"],
              [f"{j}{'th' if j > 3 else ['st', 'nd', 'rd'][j - 1]}" for j in range(1, 20)],
              [f"{j} {street} St" for j in range(9) for street in ("Main", "Oak", "Elm", "Hill")],
              [*(f"£{j}" for j in range(7, 19)), "5'11\""]],
)  # fmt: skip
def test_codes_and_places_with_numbers_in_front_are_no_units(texts):
    assert column(texts).type in ("text", "ordered text")


POINTS = [f"{j}.{j + 100}" for j in range(1, 90)]
EUROS = [f"{j},{j + 100} €" for j in range(1, 90)]
CENTS = [f"{j / 7:.2f}".replace(".", ",") for j in range(10, 90)]
LENGTHS = [f"{1 + j / 97:.3f}".rstrip("0").replace(".", ",") for j in range(1, 90)]
THOUSANDS = [f"{17 * j:,}" for j in range(1, 90)]
DOUBTED = {
    "points": (".", False, POINTS, True),
    "euros": (".", False, EUROS, True),
    "points of a table that shows them": (".", True, POINTS, False),
    "euros of a table with points": (".", True, EUROS, False),
    "points, and one shows that they are decimals": (".", False, [*POINTS, "0.5"], False),
    "points beside a whole number, which has no decimals": (".", True, [*POINTS, "978"], True),
    "yen among cents": (",", True, [*CENTS, "¥4,828"], True),
    "a thousand among cents": (",", True, [*CENTS, "4,828"], True),
    "decimal points in a table with commas": (",", True, [*POINTS, "0.25"], True),
    "cents and groups": (",", True, [*CENTS, "4.828"], False),
    "points, of which one has three digits": (".", True, [*map(str, VALUES), "4.828"], False),
    "lengths": (",", True, LENGTHS, False),
    "lengths of a table with points": (".", True, LENGTHS, True),
    "three digits behind a zero": (",", True, [*CENTS, "4,828", "0,025"], False),
    "thousands": (".", True, THOUSANDS, False),
    "thousands, and a decimal comma": (".", True, [*THOUSANDS, "12,5"], True),
    "thousands with cents, and a decimal comma": (".", True, [*THOUSANDS, "1,234.50", "2,5"], True),
}


@together
@pytest.mark.parametrize("name", DOUBTED)
def test_thousands_or_decimals_are_asked_where_the_other_cells_do_not_show_it(name):
    """A column of thousands with one decimal comma was a thousandth of itself."""
    decimal, sure, texts, asked = DOUBTED[name]
    found = column(texts, decimal=decimal, sure=sure)
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


def test_texts_that_only_begin_with_numbers_stay_texts():
    found = column(["1.5Fin", "1.5Unf", "2Story", "1Story", "SLvl"])
    assert (found.type, found.encoding.kind) == ("text", "one-hot")


def test_the_screen_has_what_was_read():
    assert column([f"{j / 7:.1f}k" for j in range(1, 60)]).span == ("100", "3700", "8400")
    assert "k means thousand" in column([f"{j / 7:.1f}k" for j in range(1, 60)]).suspicious
