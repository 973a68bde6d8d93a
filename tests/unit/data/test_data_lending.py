"""Loans: rows of their table, encodings, the twin, and its drift over rows."""

import json
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from loans import ONE, REAL, frame, many, needs_real
from psi import SIGMA, final_psi, moments

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import LendingData, lending_data
from asyncdp_sim.data.declared_columns import CHUNK_ROWS, Twin, shipped
from asyncdp_sim.data.lending_data import blocks_of, calibrated, located, twin_table
from asyncdp_sim.data.tables.rows import Encoded
from asyncdp_sim.data.tables.text_columns import number_in, numeric
from scenarios.twins import lending as calibrate
from tests import tables
from tests.together import together

# Whose rows are whose, and which are public.

SPEC = {"features": 2, "public_records": 20}


@pytest.fixture
def path(tmp_path):
    many(100).to_csv(tmp_path / "loan.csv", index=False)
    return str(tmp_path / "loan.csv")


def amounts(path, n_owners=2, records=(30, 40), **fields):
    """Return each owner's loan_amnt − 1000, which is the row's number in the file."""
    spec = LendingData(path=path, preprocessing="none", public_records=20, features=46, **fields)
    data = spec.build(n_owners, records, Streams(1))
    return data, [x[:, data.columns.index("loan_amnt")] - 1000 for x in data.features]


def test_in_order_owners_and_public_rows_are_disjoint(path):
    data, rows = amounts(path)
    assert rows[0].tolist() == list(range(30))
    assert rows[1].tolist() == list(range(30, 70))
    assert data.public_rows_of_owner == (0, 0)
    assert data.notes[-1] == "Unused: 10 of the table's 100 rows, neither owned nor public."
    assert (data.real, data.source.name) == (True, "loan.csv")
    assert data.targets[0].tolist() == many(100)["int_rate"].tolist()[:30]


def test_overlap_lets_owners_reach_the_public_rows(path):
    data, rows = amounts(path, records=(85, 15), public_overlap=True)
    assert rows[1].tolist() == list(range(85, 100))
    assert data.public_rows_of_owner == (5, 15)
    with pytest.raises(DataError, match=r"owners can share 80 rows, and 20 more are public"):
        amounts(path, records=(85, 15))


def test_a_column_splits(path):
    states = many(100)["addr_state"][:80]
    _, rows = amounts(path, n_owners=3, records=None, split={"column": "addr_state"})
    for mine, state in zip(rows, ("AZ", "ME", "NY"), strict=True):
        assert mine.tolist() == np.flatnonzero(states == state).tolist()
    for encoding in ENCODERS:
        by_state = LendingData(path=path, split={"column": "addr_state"}, encoding=encoding, **SPEC)
        assert by_state.owner_names() == ("AZ", "ME", "NY")
    with pytest.raises(DataError, match=r"owners.count: given 2; allowed is 3"):
        amounts(path, n_owners=2, records=None, split={"column": "addr_state"})
    with pytest.raises(DataError, match=r"data.split: given a column 'state'; nearest"):
        amounts(path, n_owners=2, records=None, split={"column": "state"})


def test_features_are_fitted_to_the_last_rows(path):
    data = LendingData(path=path, public_overlap=True, **SPEC).build(1, (100,), Streams(1))
    public = data.features[0][-20:]
    assert np.allclose(public.T @ public, np.eye(2), atol=1e-9)
    assert data.features[0].flags.f_contiguous
    assert not data.features[0].flags.writeable


def test_a_loanstats_file_with_its_notice_and_sums(tmp_path, path):
    notice = "Notes offered by Prospectus (https://www.lendingclub.com/info/prospectus.action)\n"
    plain = many(100).to_csv(index=False)
    sums = "\n\nTotal amount funded in policy code 1: 460296150\n"
    (tmp_path / "LoanStats3a.csv").write_text(notice + plain + sums)
    given = LendingData(path=str(tmp_path / "LoanStats3a.csv"), **SPEC).build(1, (50,), Streams(1))
    expected = LendingData(path=path, **SPEC).build(1, (50,), Streams(1))
    assert np.array_equal(given.features[0], expected.features[0])
    assert given.notes[1] == "1 lines behind the last loan were skipped."


def spec(encoding, path=None, **fields):
    fields = {"features": 10, "public_records": 10_001, **fields}
    return LendingData(path=path, encoding=encoding, **fields)


@pytest.fixture(scope="module")
def published():
    """Return the owners' records by n_i on the real table, as published."""
    of_real = spec("as-published", str(REAL), public_overlap=True)
    return {n: of_real.build(3, (n,) * 3, Streams(1)) for n in (1000, 7236, 14_000)}


@pytest.mark.long
@needs_real
def test_overlap_on_the_real_table(published):
    assert published[14_000].public_rows_of_owner == (0, 0, 42_000 - (42_535 - 10_001))
    assert published[7236].public_rows_of_owner == (0, 0, 0)


@needs_real
@pytest.mark.parametrize(("scalar", "slope"), [(True, 0.3), (False, 0.1)])
@pytest.mark.long
def test_the_cost_of_privacy_is_of_the_published_size(published, scalar, slope):
    """Figures 5 and 6 draw E ψ = 2.1536e9/(ε n_i)², on the full table; this is its first part.

    With 100 runs a slope has a standard error of 0.08 (one scalar draw of noise makes ψ nearly
    χ² with one degree of freedom) or 0.03 (a vector). Over 2000 runs the slopes are -2.05
    and -2.03 along n, -2.00 along ε; the constants 2.9e9 and 2.8e9.
    """
    epsilons, sizes = np.array([0.1, 1.0, 10.0]), np.array(list(published))
    psi = np.zeros((3, 3))
    for (i, (n, data)), (j, e) in product(enumerate(published.items()), enumerate(epsilons)):
        psi[i, j] = final_psi(data, e, scalar=scalar, seed=(n, j)).mean()
    constant = np.exp(np.mean(np.log(psi * epsilons**2 * sizes[:, None] ** 2)))
    assert 1.9e9 < constant < 3.6e9
    assert np.polyfit(np.log(epsilons), np.log(psi[-1]), 1)[0] == pytest.approx(-2, abs=slope)
    assert np.polyfit(np.log(sizes), np.log(psi[:, -1]), 1)[0] == pytest.approx(-2, abs=slope)


# Codes of each encoding.

CODES = tables.table(__file__, "lending_codes.toml")
ENCODERS = {"plain": lending_data.encode_plain, "as-published": lending_data.encode_as_published}
EACH = pytest.mark.parametrize("encoding", ENCODERS)


def encoded(encoding):
    made = ENCODERS[encoding](frame())
    return dict(zip(made.columns, made.matrix.T.tolist(), strict=True))


@together
@EACH
def test_each_code(encoding):
    found = encoded(encoding)
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
    assert sum(v[1] for k, v in encoded("plain").items() if k.startswith("purpose=")) == 0


def test_every_state_is_in_one_division():
    divisions = shipped("lending_columns.toml")["plain"]["indicators"]["addr_state"]
    states = [state for members in divisions.values() for state in members]
    assert len(states) == len(set(states)) == 51


def test_plain_uses_nothing_that_is_known_only_afterwards():
    changed = frame()
    for name in ("loan_status", "total_pymnt", "grade", "installment", "last_pymnt_d"):
        changed[name] = "X" if changed[name].dtype == object else 0
    before, after = (lending_data.encode_plain(table) for table in (frame(), changed))
    assert np.array_equal(before.matrix, after.matrix)


def test_a_row_is_encoded_alike_whatever_the_other_rows_are():
    for encode in ENCODERS.values():
        assert np.array_equal(encode(frame(ONE)).matrix, encode(frame()).matrix[:1])


@EACH
def test_a_missing_essential_column_is_named(encoding):
    with pytest.raises(DataError) as caught:
        ENCODERS[encoding](frame().drop(columns=["annual_inc", "int_rate"]))
    faults = [(fault.key, fault.given) for fault in caught.value.faults]
    missing = [f"a table without a column '{name}'" for name in ("int_rate", "annual_inc")]
    assert faults == [("data.path", given) for given in missing]


def test_absent_columns_are_named_in_a_note():
    for encoding, name in (("plain", "tax_liens"), ("as-published", "tot_cur_bal")):
        assert name in " ".join(ENCODERS[encoding](frame()).notes)


def test_lines_that_are_no_loans_move_no_loan():
    summary = {"id": "Total amount funded in policy code 1: 460296150"}
    lines = pd.DataFrame([ONE, summary, ONE, summary])
    loans, notes = lending_data.loan_rows(lines, public_records=1)
    assert list(loans.index) == [0, 1, 2]
    other = "lines without an interest rate are no loans."
    assert notes == ("1 lines behind the last loan were skipped.", f"1 {other}")
    loans, notes = lending_data.loan_rows(lines)  # without public rows the last loan is private
    assert list(loans.index) == [0, 1, 2, 3]
    assert notes == (f"2 {other}",)
    assert np.isnan(lending_data.encode_plain(loans).target).tolist() == [False, True, False, True]
    with pytest.raises(DataError, match=r"no row has both a number in int_rate"):
        lending_data.loan_rows(frame().assign(int_rate="?"))


@together
@pytest.mark.parametrize("date", CODES["dates"])
def test_dates(date):
    text, *expected = date
    assert lending_data.month_of(text) == (tuple(expected) or None)


def test_numbers():
    assert number_in("860xx") == 860
    assert np.isnan(number_in("xx"))
    numbers = numeric(pd.Series([1.0, np.inf, np.nan]))
    texts = numeric(pd.Series(["5.5%", " 6 ", "x", None], dtype=object))
    np.testing.assert_array_equal(numbers, [1, np.nan, np.nan])
    np.testing.assert_array_equal(texts, [5.5, 6, np.nan, np.nan])


@needs_real
def test_the_real_table():
    for encoding, columns in (("as-published", 44), ("plain", 50)):
        encoded = ENCODERS[encoding](pd.read_parquet(REAL))
        assert encoded.matrix.shape == (42_535, columns)
        assert np.isfinite(encoded.matrix).all()
        assert (encoded.target.min(), encoded.target.max()) == (5.42, 24.59)


# The synthetic twin.

ORACLE = pytest.mark.oracle("moments of the synthetic loans")


@ORACLE
@EACH
def test_values_lie_where_real_ones_do(encoding):
    table = twin_table(encoding, 20_000, 2000, Streams(1))
    column = dict(zip(table.columns, table.matrix.T, strict=True))
    assert np.isfinite(table.matrix).all()
    assert 5 <= table.target.min() <= table.target.max() <= 25
    assert set(np.unique(column["term"])) == {36, 60}
    assert column["annual_inc"].min() >= 0
    assert 5_000 < np.median(column["loan_amnt"]) < 15_000
    assert np.array_equal(column["open_acc"], np.rint(column["open_acc"]))
    if encoding == "plain":
        purposes = sum(v for k, v in column.items() if k.startswith("purpose="))
        assert set(np.unique(purposes)) == {0, 1}
    else:
        parts = ("total_rec_prncp", "total_rec_int", "total_rec_late_fee", "recoveries")
        assert np.allclose(column["total_pymnt"], sum(column[p] for p in parts))


@pytest.mark.long
@ORACLE
def test_calibration_recovers_the_moments_of_what_it_is_given(monkeypatch):
    monkeypatch.setattr(calibrate, "SAMPLE", 50_000)
    drawn = twin_table("plain", 20_000, 0, Streams(5))
    used = [drawn.columns.index(n) for n in ("loan_amnt", "dti", "term", "open_acc")]
    table = Encoded(drawn.matrix[:, used], drawn.target, tuple(drawn.columns[j] for j in used))
    twin = Twin.from_json(json.loads(json.dumps(calibrate.to_json(calibrate.calibrate(table)))))
    matrix, target = np.zeros((50_000, 4), order="F"), np.zeros(50_000)
    twin.write(matrix, target, np.random.default_rng(1))
    given, made = np.c_[table.matrix, table.target], np.c_[matrix, target]
    assert np.allclose(made.mean(axis=0), given.mean(axis=0), rtol=0.03)
    assert np.allclose(made.std(axis=0), given.std(axis=0), rtol=0.03)
    assert np.allclose(np.corrcoef(made.T), np.corrcoef(given.T), atol=0.03)


@needs_real
@EACH
def test_columns_are_the_real_tables(encoding):
    frame, _ = lending_data.read_loans(str(REAL))
    columns = ENCODERS[encoding](frame).columns
    assert calibrated(encoding, "body").columns == columns
    assert calibrated(encoding, "public").columns == columns


@needs_real
@EACH
@pytest.mark.long
def test_the_twin_learns_like_the_real_table(encoding):
    """What decides ψ: f(θ*), f(0)/f(θ*), the owners' spectrum in the public rows' units, ψ."""
    found = []
    for path in (str(REAL), None):
        data = spec(encoding, path, public_overlap=True).build(3, (14_000,) * 3, Streams(1))
        c, _, fitness, best = moments(data)
        spectrum = np.linalg.eigvalsh(c.mean(axis=0)) * 10_001
        psi = [final_psi(data, e, scalar=True, seed=1).mean() for e in (0.1, 1.0, 10.0)]
        ends = [fitness(best), fitness(0 * best) / fitness(best) - 1]
        found.append((ends, [*spectrum, *psi]))
    real, twin = found
    assert twin[0] == pytest.approx(real[0], rel=0.1)
    assert np.all(np.abs(np.log(np.divide(twin[1], real[1]))) < np.log(1.5))


# The lending twin's drift over rows: which law a row has, and whose optimum is how far off.


TABLE = tables.table(__file__, "data_lending.toml")


@pytest.mark.parametrize(("row", "expected"), TABLE["located"])
def test_a_row_is_of_the_table_s_block_and_blocks_recur(row, expected):
    assert list(located(row)) == expected


def drawn(write, rows):
    columns = calibrated("plain", "body").columns
    matrix, target = np.zeros((rows, len(columns))), np.zeros(rows)
    write(matrix, target, Streams(1).generator("data", "twin"))
    return np.c_[matrix, target]


def test_every_row_is_its_block_s_own(monkeypatch):
    """Exactly: row j of the drift is row j of the law of j's block, across chunks too."""
    monkeypatch.setattr(lending_data, "BLOCK_ROWS", 3000)
    monkeypatch.setattr(lending_data, "TABLE_ROWS", 7000)
    laws, rows = blocks_of("plain")[:3], CHUNK_ROWS + 1500
    drift = partial(lending_data.write_drifting, laws)
    table = drawn(drift, rows)
    of_block = np.array([located(row)[0] for row in range(rows)])
    assert set(of_block) == {0, 1, 2}
    for block, law in enumerate(laws):
        assert np.array_equal(table[of_block == block], drawn(law.write, rows)[of_block == block])
    assert np.array_equal(table[:2999], drawn(drift, 2999))


def test_public_rows_are_as_without_drift():
    drift = partial(lending_data.write_drifting, blocks_of("plain"))
    with_drift = twin_table("plain", 50, 40, Streams(1), drift)
    without = twin_table("plain", 50, 40, Streams(1))
    assert np.array_equal(with_drift.matrix[50:], without.matrix[50:])
    assert not np.array_equal(with_drift.matrix[:50], without.matrix[:50])


@EACH
def test_each_block_of_the_table_has_a_law_of_its_own(encoding):
    assert len(blocks_of(encoding)) == -(-lending_data.TABLE_ROWS // lending_data.BLOCK_ROWS)
    for law in blocks_of(encoding):
        assert law.columns == calibrated(encoding, "body").columns


WITHIN = 2.0
"""ψ(θ_1*) is the real table's within this factor."""


def whole(features, target):
    """Return XᵀX/n + σI/2, Xᵀy/n and yᵀy/n."""
    n, p = features.shape
    moment = features.T @ features / n + SIGMA / 2 * np.eye(p)
    return moment, features.T @ target / n, target @ target / n


def off(part, among):
    """Return ψ over some rows of other rows' optimum: f(θ)/f(θ*) − 1."""
    moment, cross, square = among
    best = np.linalg.solve(moment, cross)
    away = np.linalg.solve(*part[:2]) - best
    return away @ moment @ away / (square - cross @ best)


def distances(encoding, **fields):
    """Return ψ of each block's optimum over all rows, and ψ(θ_1*) among 2, 3 and 4 banks."""
    spec = LendingData(encoding=encoding, features=10, public_records=10_001, **fields)
    data = spec.build(1, (lending_data.TABLE_ROWS,), Streams(1))
    x, y = data.features[0], data.targets[0]
    size = lending_data.BLOCK_ROWS
    blocks = [whole(x[a : a + size], y[a : a + size]) for a in range(0, len(x), size)]
    table, among = whole(x, y), [whole(x[: n * size], y[: n * size]) for n in (2, 3, 4)]
    alone = [off(blocks[0], banks) for banks in among]
    return np.array([off(block, table) for block in blocks]), np.array(alone)


def scores(found, encoding):
    error = np.sqrt(2) * np.array(TABLE["spread"][encoding])
    return np.log(found / TABLE["of_the_table"][encoding][0]) / error


PLAIN = pytest.param("plain", marks=pytest.mark.nightly)


@pytest.mark.parametrize("encoding", ["as-published", PLAIN])
def test_the_drift_is_the_table_s(encoding):
    blocks, alone = distances(encoding, drift=True)
    assert np.abs(scores(blocks, encoding)).max() <= 4
    assert np.abs(np.log(alone / TABLE["of_the_table"][encoding][1])).max() < np.log(WITHIN)


def test_no_drift_is_seen():
    """Planted: rows that are exchangeable."""
    blocks, alone = distances("as-published", drift=False)
    assert np.abs(scores(blocks, "as-published")).min() > 4
    assert np.all(alone * WITHIN < TABLE["of_the_table"]["as-published"][1])


@needs_real
@pytest.mark.nightly
@EACH
def test_the_figures_are_the_real_table_s(encoding):
    found = distances(encoding, path=str(REAL), public_overlap=True)
    for made, stated in zip(found, TABLE["of_the_table"][encoding], strict=True):
        assert np.allclose(made, stated, rtol=0, atol=6e-5)
