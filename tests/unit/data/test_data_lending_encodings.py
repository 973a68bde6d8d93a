import numpy as np
import pandas as pd
import pytest
from loans import ONE, REAL, frame, needs_real

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.data.lending import encode_plain, recipe
from asyncdp_sim.data.lending.encode_plain import loan_rows, month_of
from asyncdp_sim.data.tables.text_columns import number_in, numeric
from tests.together import together

FEBRUARY_1970 = np.datetime64("1970-02-01")


def days(text):
    return float((np.datetime64(text) - FEBRUARY_1970).astype(int))


def published(name):
    table = recipe.encode_as_published(frame())
    return table.matrix[:, table.columns.index(name)].tolist()


@together
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("loan_amnt", [5000, 5000, 5000]),
        ("term", [36, 60, 36]),
        ("grade", [1, 6, 1]),
        ("sub_grade", [2, 5, 2]),
        ("emp_length", [10, 0, -1]),
        ("home_ownership", [1, 4, 1]),
        ("verification_status", [1, 3, 2]),
        ("loan_status", [1, 4, 3]),
        ("application_type", [1, 2, 1]),
        ("zip_code", [860, 49, 860]),
        ("issue_d", [days("2011-12-01"), 0, days("2011-12-01")]),
        ("earliest_cr_line", [days("1985-01-01"), 0, days("1985-01-01")]),
        ("next_pymnt_d", [0, 0, 0]),
        ("revol_util", [83.7, 0, 83.7]),
        ("annual_inc", [24000, 0, 24000]),
        ("mths_since_last_delinq", [24, 0, 24]),
        ("pymnt_plan", [110, 110, 110]),
        ("addr_state", [65 + 90, 77 + 69, 65 + 90]),
        ("title", [65 + 98, 0, 65 + 98]),
    ],
)
def test_each_published_code(name, expected):
    assert published(name) == expected


def test_published_columns_leave_out_identifiers_and_target():
    table = recipe.encode_as_published(frame())
    dropped = {"id", "member_id", "emp_title", "url", "desc", "purpose", "int_rate"}
    assert dropped.isdisjoint(table.columns)
    assert table.target.tolist() == [10.65, 7.9, 10.65]
    assert len(recipe.COLUMNS) == len(set(recipe.COLUMNS)) == 74 - 7


def test_published_row_is_deleted_from_the_full_table_only():
    n = recipe.FULL_TABLE_ROWS
    full, notes = recipe.without_deleted_row(pd.DataFrame({"row": np.arange(1, n + 1)}))
    assert len(full) == n - 1
    assert full["row"].iloc[21_389:21_391].tolist() == [21_390, 21_392]
    assert notes == ("Row 21391 was deleted, as published.",)
    assert recipe.without_deleted_row(full)[0] is full


def plain():
    table = encode_plain.encode(frame())
    return {name: table.matrix[:, j].tolist() for j, name in enumerate(table.columns)}


def test_plain_numbers():
    row = plain()
    assert row["term"] == [36, 60, 36]
    assert row["annual_inc"] == [24000, 0, 24000]
    assert row["revol_util"] == [83.7, 0, 83.7]
    assert row["emp_length"] == [10, 0, 0]
    assert row["issue_month"] == [59, 12 * (1970 - 2007) + 1, 59]
    assert row["credit_history_years"] == [26 + 11 / 12, 0, 26 + 11 / 12]
    assert row["mths_since_last_delinq_recency"] == [1 / 3, 0, 1 / 3]
    assert row["mths_since_last_record_recency"] == [0, 0, 0]


def test_plain_indicators_of_one_column_exclude_each_other():
    row = plain()
    assert [row[f"home_ownership={h}"] for h in ("MORTGAGE", "OWN", "RENT")] == [
        [0, 0, 0],
        [0, 0, 0],
        [1, 0, 1],
    ]
    assert row["verification_status=Source Verified"] == [0, 0, 1]
    assert row["application_type=joint"] == [0, 1, 0]
    assert row["purpose=credit_card"] == [1, 0, 1]
    assert sum(v[1] for k, v in row.items() if k.startswith("purpose=")) == 0
    assert row["addr_state=mountain"] == [1, 0, 1]
    assert row["addr_state=new_england"] == [0, 1, 0]


def test_every_state_is_in_one_division():
    states = [s for members in encode_plain.DIVISIONS.values() for s in members.split()]
    assert len(states) == len(set(states)) == 51


def test_plain_uses_nothing_that_is_known_only_afterwards():
    changed = frame()
    for name in ("loan_status", "total_pymnt", "grade", "installment", "last_pymnt_d"):
        changed[name] = "X" if changed[name].dtype == object else 0
    assert np.array_equal(encode_plain.encode(changed).matrix, encode_plain.encode(frame()).matrix)


def test_a_row_is_encoded_alike_whatever_the_other_rows_are():
    for encode in (encode_plain.encode, recipe.encode_as_published):
        assert np.array_equal(encode(frame(ONE)).matrix, encode(frame()).matrix[:1])


@pytest.mark.parametrize("encode", [encode_plain.encode, recipe.encode_as_published])
def test_a_missing_essential_column_is_named(encode):
    with pytest.raises(DataError) as caught:
        encode(frame().drop(columns=["annual_inc", "int_rate"]))
    assert [f.given for f in caught.value.faults] == [
        "a table without a column 'int_rate'",
        "a table without a column 'annual_inc'",
    ]
    assert {f.key for f in caught.value.faults} == {"data.path"}


def test_absent_columns_are_named_in_a_note():
    notes = " ".join(encode_plain.encode(frame()).notes)
    assert "tax_liens" in notes
    assert "tot_cur_bal" in " ".join(recipe.encode_as_published(frame()).notes)


def test_lines_that_are_no_loans_move_no_loan():
    summary = {"id": "Total amount funded in policy code 1: 460296150"}
    lines = pd.DataFrame([ONE, summary, ONE, summary])
    loans, notes = loan_rows(lines, public_records=1)
    assert list(loans.index) == [0, 1, 2]
    assert notes == (
        "1 lines behind the last loan were skipped.",
        "1 lines without an interest rate are no loans.",
    )
    loans, notes = loan_rows(lines)  # without public rows the last loan is private
    assert list(loans.index) == [0, 1, 2, 3]
    assert notes == ("2 lines without an interest rate are no loans.",)
    assert np.isnan(encode_plain.encode(loans).target).tolist() == [False, True, False, True]
    with pytest.raises(DataError, match=r"no row has both a number in int_rate"):
        loan_rows(frame().assign(int_rate="?"))


@together
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dec-2011", (2011, 12)),
        ("Dec-11", (2011, 12)),
        ("Jan-62", (1962, 1)),
        ("11-Dec", (2011, 12)),
        ("2011-12-01", (2011, 12)),
        ("2011-12-01 00:00:00", (2011, 12)),
        ("soon", None),
        ("Abc-2011", None),
        ("", None),
    ],
)
def test_dates(text, expected):
    assert month_of(text) == expected


def test_numbers():
    assert number_in("860xx") == 860
    assert np.isnan(number_in("xx"))
    assert numeric(pd.Series([1.0, np.inf, np.nan]))[0] == 1
    assert np.isnan(numeric(pd.Series([1.0, np.inf, np.nan]))[1:]).all()
    texts = numeric(pd.Series(["5.5%", " 6 ", "x", None], dtype=object))
    assert texts[:2].tolist() == [5.5, 6]
    assert np.isnan(texts[2:]).all()


@needs_real
def test_the_real_table():
    table = pd.read_parquet(REAL)
    encoded = recipe.encode_as_published(table)
    assert encoded.matrix.shape == (42_535, 44)
    assert np.isfinite(encoded.matrix).all()
    assert (encoded.target.min(), encoded.target.max()) == (5.42, 24.59)
    encoded = encode_plain.encode(table)
    assert encoded.matrix.shape == (42_535, 50)
    assert np.isfinite(encoded.matrix).all()
