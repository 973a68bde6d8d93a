"""Hospital stays: encodings of their table, hospitals as owners, and the twin."""

import json

import numpy as np
import pandas as pd
import pytest
from discharges import ONE, REAL, RENAMED, ROWS, THREE, TWO, frame, many, needs_real

from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import HospitalData, hospital_data
from asyncdp_sim.data.declared_columns import Twin, shipped
from asyncdp_sim.data.hospital_data import COLUMNS, LEAST_RECORDS, twin_sizes, twin_table
from asyncdp_sim.data.tables.rows import Encoded
from scenarios.twins import hospital as calibrate
from tests.one_in import one_in

# Encodings, and hospitals as owners.

ENCODINGS = ["plain", "as-published"]
PLAIN = {"preprocessing": "none", "public_records": 0}
BY_HOSPITAL = {"split": {"column": "Facility Id"}}
WITHOUT_CODES = 32  # columns of the plain encoding of 2015's table, without public rows


def build(table, tmp_path, n_owners=1, records=None, **fields):
    table.to_csv(tmp_path / "sparcs.csv", index=False)
    given = {"features": WITHOUT_CODES, **PLAIN, **fields}
    if records is None and "split" not in fields:
        records = (len(table),)
    spec = HospitalData(path=str(tmp_path / "sparcs.csv"), **given)
    return spec.build(n_owners, records, Streams(1))


def named(data):
    """Return columns by name, of all owners' rows in order."""
    return dict(zip(data.columns, np.concatenate(data.features).T.tolist(), strict=True))


def test_indicators_are_the_schemas_and_the_unlisted_have_none(tmp_path):
    data = build(frame(), tmp_path)
    columns = named(data)
    assert len(columns) == WITHOUT_CODES
    assert {name: columns[name] for name in ROWS["indicators"]} == ROWS["indicators"]
    assert data.targets[0].tolist() == [5, 120, 3]
    assert data.notes == tuple(ROWS["notes"])
    assert (data.real, data.source.name) == (True, "sparcs.csv")


def test_codes_are_the_public_rows_mean_stays(tmp_path):
    codes, days = [7, 8, 9, 7, 7, 8], [100, 90, 80, 2, 4, 12]
    table = frame(*[ONE] * 6).assign(**{"CCS Diagnosis Code": codes, "Length of Stay": days})
    data = build(table, tmp_path, records=(3,), features=35, public_records=3)
    mean, prior = 6.0, hospital_data.PRIOR_ROWS  # of 2, 4 and 12 days: private rows have no part
    expected = [(6 + prior * mean) / (2 + prior), (12 + prior * mean) / (1 + prior), mean]
    assert named(data)["CCS Diagnosis Code, mean stay"] == pytest.approx(expected, rel=1e-15)


def test_as_published(tmp_path):
    table = frame(ONE, TWO, {**THREE, "Payment Typology 1": "Medicaid"}, {**ONE, "Gender": None})
    data = build(table, tmp_path, records=(2,), encoding="as-published", features=9)
    assert data.columns == COLUMNS
    assert data.features[0].tolist() == ROWS["as_published"]
    assert data.targets[0].tolist() == [5, 3]
    said = "As published, 2 rows with missing values or stays of 120 + days were dropped."
    assert data.notes[0] == said


def test_an_extract_with_names_and_codes_of_its_own(tmp_path):
    own = {name: [row.get(name) for row in ROWS["own_codes"]] for name in ROWS["own_codes"][1]}
    table = frame(ONE, {**TWO, "Length of Stay": 120}).assign(**own).rename(columns=RENAMED)
    table = table.drop(columns=["APR MDC Code", "Type of Admission"])
    data = build(table, tmp_path, records=(2,), encoding="as-published", features=8)
    assert data.features[0].tolist() == ROWS["of_own_codes"]
    assert data.notes[1:] == tuple(ROWS["notes_of_own_codes"])
    plain = build(table, tmp_path, records=(2,), features=28)
    assert plain.notes[-1] == "Columns missing from the table, left out: Type of Admission."
    assert named(plain)["APR Risk of Mortality=Extreme"] == [0, 1]


def test_the_numbers_of_drgs_tell_their_category():
    drg = np.array([5, 20, 59, 140, 194, 314, 351, 560, 640, 720, 930, 952, np.nan])
    category = [0, 1, 1, 4, 5, 8, 8, 14, 15, 18, 25, 0, np.nan]
    assert np.array_equal(hospital_data.mdc_of_drg(drg), category, equal_nan=True)


@one_in(2, "name", ["Facility Id", "Permanent.Facility.Id"])
def test_every_hospital_is_an_owner(tmp_path, name):
    rows = many(20)["Facility Id"] != 13
    rows[2] = True
    table = many(20)[rows]
    whole = build(table, tmp_path)
    for columns in ({}, RENAMED):
        renamed = table.rename(columns=columns)
        data = build(renamed, tmp_path, 3, split={"column": name})
        for i, mine in enumerate(data.rows):
            assert mine.tolist() == np.flatnonzero(table["Facility Id"] == 11 + i).tolist()
            assert np.array_equal(data.targets[i], whole.targets[0][mine])
        assert data.records == (7, 7, 1)
        for encoding in ENCODINGS:
            given = {"features": 2, "public_records": 2, "encoding": encoding}
            path = str(tmp_path / "sparcs.csv")
            spec = HospitalData(path=path, split={"column": name}, **given)
            assert spec.owner_names() == ("11", "12", "13")
            assert spec.build(3, None, Streams(1)).owner_names == ("11", "12", "13")
    with pytest.raises(DataError, match=r"owners.count: given 2; allowed is 3"):
        build(table, tmp_path, 2, **BY_HOSPITAL)
    with pytest.raises(DataError, match=r"data.split: given a column 'Facility'; nearest columns"):
        build(table, tmp_path, 2, split={"column": "Facility"})


def test_rows_without_a_stay_contribute_nothing_and_without_a_hospital_are_unowned(tmp_path):
    table = many(12)
    table.loc[3, "Length of Stay"] = None
    table.loc[5, "Facility Id"] = None
    data = build(table, tmp_path, 3, **BY_HOSPITAL)
    assert data.records == (4, 4, 3)
    assert data.notes[0] == "1 row has no length of stay."
    assert [np.isnan(y).tolist().count(True) for y in data.targets] == [1, 0, 0]
    assert not data.features[0][1].any()
    assert "1 row belongs to no owner: no value of 'Facility Id'." in data.notes


def test_a_table_without_a_number_of_days_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"no row has a number in 'Length of Stay'"):
        build(frame({**ONE, "Length of Stay": "long"}), tmp_path)


def test_a_name_of_2015_comes_before_its_other_forms(tmp_path):
    table = pd.DataFrame({"los": ["9", "9", "9"]}).join(frame())
    assert build(table, tmp_path).targets[0].tolist() == [5, 120, 3]


@pytest.mark.long
@needs_real
def test_the_real_extract_by_hospital():
    split = {"column": "Permanent.Facility.Id"}
    spec = HospitalData(path=str(REAL), features=9, split=split, **PLAIN)
    with pytest.raises(DataError, match=r"data.features: given 9; allowed is 27"):
        spec.build(169, None, Streams(1))
    data = spec.model_copy(update={"features": 27}).build(169, None, Streams(1))
    assert sum(data.records) == 36_631
    assert (max(data.records), min(data.records)) == (1143, 1)
    assert np.concatenate(data.targets).mean() == pytest.approx(6.3215, abs=1e-4)
    assert not any("not in the schema" in note for note in data.notes)


def test_rows_are_named_as_the_file_counts_them(tmp_path):
    """Whatever rows were dropped before them."""
    table = many(30)
    table.loc[[3, 20], "Length of Stay"] = None
    asked = {"features": 2, "public_records": 12, "preprocessing": "pca"}
    dropped = build(table, tmp_path, 2, (5, 5), encoding="as-published", **asked)
    rows = [dropped.row_name(row) for row in (2, 3, 27)]
    assert rows == [f"row {row} of sparcs.csv" for row in (3, 5, 30)]


# The synthetic twin.

ORACLE = pytest.mark.oracle("moments of the synthetic hospital stays")

CHUNK_ROWS = hospital_data.calibrated("plain").chunk_rows


def twin(records, seed=1, n_owners=None, **fields):
    fields = {"features": 3, "public_records": 500, **fields}
    return HospitalData(**fields).build(n_owners or len(records), records, Streams(seed))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_row_is_the_same_however_many_are_drawn(encoding):
    few = twin_table(encoding, (100, 50), 10, 20, Streams(1))
    many = twin_table(encoding, (CHUNK_ROWS + 7, 60, 5), 30, CHUNK_ROWS + 3, Streams(1))
    ends = np.cumsum([0, CHUNK_ROWS + 7, 60, 5, 30])
    places = zip((0, 100, 150, 160), ends[[0, 1, 3, 4]], (100, 50, 10, 20), strict=True)
    for mine, first, n in places:
        assert np.array_equal(few.matrix[mine : mine + n], many.matrix[first : first + n])
        assert np.array_equal(few.target[mine : mine + n], many.target[first : first + n])


def test_hospitals_chunks_and_parts_do_not_repeat_each_other():
    table = twin_table("plain", (2 * CHUNK_ROWS, CHUNK_ROWS), 0, CHUNK_ROWS, Streams(1))
    parts = table.target.reshape(4, CHUNK_ROWS)
    assert len({part.tobytes() for part in parts}) == 4


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_values_lie_where_real_ones_do(encoding):
    table = twin_table(encoding, (1500,) * 10, 0, 2000, Streams(1))
    column = dict(zip(table.columns, table.matrix.T, strict=True))
    assert np.isfinite(table.matrix).all()
    assert 1 == table.target.min() <= table.target.max() <= 120
    assert np.array_equal(table.target, np.rint(table.target))
    assert 5 < table.target.mean() < 8
    if encoding == "plain":
        ages = sum(x for name, x in column.items() if name.startswith("Age Group="))
        assert np.array_equal(ages, np.ones(len(ages)))
    else:
        assert tuple(column) == COLUMNS
        assert set(column["Age Group"]) == {18, 30, 50}
        assert set(column["Type of Admission"]) == {1, 2, 3}
        assert np.array_equal(table.matrix, np.rint(table.matrix))


def test_hospitals_are_owners_in_order_or_by_column(monkeypatch):
    monkeypatch.setattr(hospital_data, "LEAST_RECORDS", 50)
    by_column = twin(None, n_owners=4, **BY_HOSPITAL)
    assert by_column.records == twin_sizes(4, Streams(1))
    least, most = min(by_column.records), max(by_column.records)
    assert by_column.notes[1] == f"Sizes of hospitals were drawn: {least} to {most} records."
    in_order = twin(by_column.records)
    np.testing.assert_equal(by_column.features, in_order.features)
    renamed = twin(None, n_owners=4, split={"column": "Permanent Facility Id"})
    assert np.array_equal(renamed.features[3], in_order.features[3])
    assert twin(None, n_owners=3, **BY_HOSPITAL).records == by_column.records[:3]
    with pytest.raises(SpecError, match=r"split: given a column 'Race'; the synthetic twin"):
        twin(None, n_owners=4, split={"column": "Race"})


def test_sizes_are_those_of_hospitals_with_enough_records():
    sizes = np.array(twin_sizes(2000, Streams(1)))
    assert sizes.min() >= LEAST_RECORDS
    quantiles = shipped("hospital_twin.json")["sizes"]
    # 2000 draws: a quantile near the median has a standard error of 1.1 % in probability.
    below = np.mean(sizes < LEAST_RECORDS * quantiles[10])
    assert below == pytest.approx(0.5, abs=0.045)
    assert sizes.max() <= LEAST_RECORDS * quantiles[-1]


def test_a_step_is_shared_by_ten_rows_and_keeps_their_mean():
    values = np.repeat([1.0, 2.0, 3.0, 7.0, 8.5], [12, 4, 7, 30, 2])
    distinct, counts = calibrate._merged(*np.unique(values, return_counts=True))
    assert counts.tolist() == [12, 11, 32]
    assert distinct == pytest.approx([1, 29 / 11, 227 / 32])
    whole, _ = calibrate._merged(*np.unique(np.floor(values), return_counts=True))
    assert whole.tolist() == [1, 3, 7]


@ORACLE
def test_the_part_between_hospitals_is_unbiased():
    """Of 300 hospitals of unequal sizes: 4 standard errors of a variance are √(32/300)."""
    generator = np.random.default_rng(1)
    rows_of = generator.integers(5, 60, 300)
    shift = generator.standard_normal((2, 300)) * [[0.5], [0.0]]
    hospitals = np.repeat(np.arange(300), rows_of)
    x = shift[:, hospitals] + generator.standard_normal((2, len(hospitals)))
    found = calibrate.between_hospitals(x, hospitals)
    assert found[0, 0] == pytest.approx(0.25 / 1.25, rel=0.33)
    assert abs(found[1, 1]) < 0.01
    assert abs(found[0, 1]) < 0.02


@ORACLE
def test_calibration_recovers_the_moments_of_what_it_is_given(monkeypatch):
    monkeypatch.setattr(calibrate, "HOSPITALS", 400)
    monkeypatch.setattr(calibrate, "ROUNDS", 12)
    drawn = twin_table("as-published", (200,) * 150, 0, 0, Streams(5))
    hospitals = np.repeat(np.arange(150), 200)
    used = [COLUMNS.index(name) for name in ("Age Group", "Race", "APR DRG Code")]
    table = Encoded(drawn.matrix[:, used], drawn.target, tuple(COLUMNS[j] for j in used))
    stored = json.dumps(calibrate.to_json(calibrate.calibrate(table, hospitals)))
    law = Twin.from_json(json.loads(stored))
    made = np.zeros((30_000, 4), order="F")
    generator = np.random.default_rng(1)
    for start in range(0, 30_000, 200):
        rows = slice(start, start + 200)
        law.of_one_group(generator).write(made[rows, :3], made[rows, 3], generator)
    given = np.c_[table.matrix, table.target]
    assert np.allclose(made.mean(axis=0), given.mean(axis=0), rtol=0.05)
    assert np.allclose(made.std(axis=0), given.std(axis=0), rtol=0.05)
    assert np.allclose(np.corrcoef(made.T), np.corrcoef(given.T), atol=0.05)
    parts = [np.diag(calibrate.between_hospitals(x.T, hospitals)) for x in (given, made)]
    assert np.allclose(*parts, atol=0.05)
    assert parts[1][1] > 0.15  # race differs much between hospitals


@pytest.fixture(scope="module", params=ENCODINGS)
def both(request):
    """Return the real table and the twin of the same hospitals: matrix, target, hospital each."""
    frame, _ = hospital_data.read_discharges(str(REAL))
    if request.param == "plain":
        real = hospital_data.encode_plain(frame, 10_001)
    else:
        frame, _ = hospital_data.complete(frame)
        real = hospital_data.encode_as_published(frame)
    numbers = frame[hospital_data.HOSPITAL].factorize()[0]
    sizes = np.bincount(numbers)
    made = twin_table(request.param, sizes.tolist(), 0, 0, Streams(3))
    used = [made.columns.index(name) for name in real.columns]
    whose = np.repeat(np.arange(len(sizes)), sizes)
    return (real.matrix, real.target, numbers), (made.matrix[:, used], made.target, whose)


@needs_real
def test_the_twin_has_the_real_tables_moments(both):
    """As many rows, in as many hospitals: these shift a mean by up to a tenth of a deviation."""
    (x, y, _), (x_made, y_made, _) = both
    deviation = np.maximum(x.std(axis=0), 0.05)
    assert np.all(np.abs(x_made.mean(axis=0) - x.mean(axis=0)) < 0.12 * deviation)
    assert y_made.mean() == pytest.approx(y.mean(), rel=0.05)
    assert y_made.std() == pytest.approx(y.std(), rel=0.05)
    spectra = [np.linalg.eigvalsh(a.T @ a / len(a)) for a in (x, x_made)]
    lasting = spectra[0] > 1e-9
    assert np.all(np.abs(np.log(spectra[1][lasting] / spectra[0][lasting])) < np.log(1.6))


def r_squared(x, y, theta):
    return 1 - np.mean((y - x @ theta) ** 2) / y.var()


@needs_real
def test_the_twin_learns_like_the_real_table(both):
    """R² of ridge with σ = 1e-5, and of the model that the other table gives."""
    models = []
    for x, y, _ in both:
        hessian = 2 * x.T @ x / len(y) + 1e-5 * np.eye(x.shape[1])
        models.append(np.linalg.solve(hessian, 2 * x.T @ y / len(y)))
    own = [r_squared(x, y, theta) for (x, y, _), theta in zip(both, models, strict=True)]
    crossed = [r_squared(x, y, theta) for (x, y, _), theta in zip(both, models[::-1], strict=True)]
    assert own[1] == pytest.approx(own[0], abs=0.02)
    assert crossed == pytest.approx(own, abs=0.02)


@needs_real
def test_hospitals_differ_as_much_as_real_ones(both):
    spreads = []
    for _, y, hospitals in both:
        sizes = np.bincount(hospitals)
        means = np.bincount(hospitals, weights=y) / sizes
        spreads.append(means[sizes >= 100].std())
    assert spreads[1] == pytest.approx(spreads[0], rel=0.3)
