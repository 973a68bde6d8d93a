import numpy as np
import pandas as pd
import pytest
from loans import ONE, REAL, frame, needs_real

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.data import lending_data
from asyncdp_sim.data.lending_data import loan_rows, month_of
from asyncdp_sim.data.tables.text_columns import number_in, numeric
from tests.tables import table
from tests.together import together

CODES = table(__file__, "lending_codes.toml")
ENCODINGS = {"plain": lending_data.encode_plain, "as-published": lending_data.encode_as_published}
EACH = pytest.mark.parametrize("encoding", ENCODINGS)


def columns(encoding):
    made = ENCODINGS[encoding](frame())
    return dict(zip(made.columns, made.matrix.T.tolist(), strict=True))


@together
@EACH
def test_each_code(encoding):
    found = columns(encoding)
    assert {name: found[name] for name in CODES[encoding]} == CODES[encoding]


def test_published_columns_leave_out_identifiers_and_target():
    table = lending_data.encode_as_published(frame())
    dropped = {"id", "member_id", "emp_title", "url", "desc", "purpose", "int_rate"}
    assert dropped.isdisjoint(table.columns)
    assert table.target.tolist() == [10.65, 7.9, 10.65]
    assert len(lending_data.COLUMNS) == len(set(lending_data.COLUMNS)) == 74 - 7


def test_published_row_is_deleted_from_the_full_table_only():
    n = lending_data.FULL_TABLE_ROWS
    full, notes = lending_data.without_deleted_row(pd.DataFrame({"row": np.arange(1, n + 1)}))
    assert len(full) == n - 1
    assert full["row"].iloc[21_389:21_391].tolist() == [21_390, 21_392]
    assert notes == ("Row 21391 was deleted, as published.",)
    assert lending_data.without_deleted_row(full)[0] is full


def test_a_purpose_that_is_not_listed_has_no_indicator():
    assert sum(v[1] for k, v in columns("plain").items() if k.startswith("purpose=")) == 0


def test_every_state_is_in_one_division():
    states = [s for members in lending_data.DIVISIONS.values() for s in members.split()]
    assert len(states) == len(set(states)) == 51


def test_plain_uses_nothing_that_is_known_only_afterwards():
    changed = frame()
    for name in ("loan_status", "total_pymnt", "grade", "installment", "last_pymnt_d"):
        changed[name] = "X" if changed[name].dtype == object else 0
    assert np.array_equal(
        lending_data.encode_plain(changed).matrix, lending_data.encode_plain(frame()).matrix
    )


def test_a_row_is_encoded_alike_whatever_the_other_rows_are():
    for encode in ENCODINGS.values():
        assert np.array_equal(encode(frame(ONE)).matrix, encode(frame()).matrix[:1])


@EACH
def test_a_missing_essential_column_is_named(encoding):
    with pytest.raises(DataError) as caught:
        ENCODINGS[encoding](frame().drop(columns=["annual_inc", "int_rate"]))
    assert [f.given for f in caught.value.faults] == [
        "a table without a column 'int_rate'",
        "a table without a column 'annual_inc'",
    ]
    assert {f.key for f in caught.value.faults} == {"data.path"}


def test_absent_columns_are_named_in_a_note():
    notes = " ".join(lending_data.encode_plain(frame()).notes)
    assert "tax_liens" in notes
    assert "tot_cur_bal" in " ".join(lending_data.encode_as_published(frame()).notes)


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
    assert np.isnan(lending_data.encode_plain(loans).target).tolist() == [False, True, False, True]
    with pytest.raises(DataError, match=r"no row has both a number in int_rate"):
        loan_rows(frame().assign(int_rate="?"))


@together
@pytest.mark.parametrize("date", CODES["dates"])
def test_dates(date):
    text, *expected = date
    assert month_of(text) == (tuple(expected) or None)


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
    encoded = lending_data.encode_as_published(table)
    assert encoded.matrix.shape == (42_535, 44)
    assert np.isfinite(encoded.matrix).all()
    assert (encoded.target.min(), encoded.target.max()) == (5.42, 24.59)
    encoded = lending_data.encode_plain(table)
    assert encoded.matrix.shape == (42_535, 50)
    assert np.isfinite(encoded.matrix).all()
