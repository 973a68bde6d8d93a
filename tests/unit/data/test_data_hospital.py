import numpy as np
import pandas as pd
import pytest
from discharges import ONE, REAL, RENAMED, ROWS, THREE, TWO, frame, many, needs_real

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import HospitalData
from asyncdp_sim.data.hospital_data import COLUMNS, PRIOR_ROWS, mdc_of_drg
from tests.one_in import one_in

PLAIN = {"preprocessing": "none", "public_records": 0}
BY_HOSPITAL = {"split": {"column": "Facility Id"}}
WITHOUT_CODES = 32  # columns of the plain encoding of 2015's table, without public rows


INDICATORS = ROWS["indicators"]


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
    assert {name: columns[name] for name in INDICATORS} == INDICATORS
    assert data.targets[0].tolist() == [5, 120, 3]
    assert data.notes == (
        "Encoded as indicators of the schema's texts.",
        "1 lengths of stay were given as a lower limit (120 +): read as 120.",
        "2 values are missing or not in the schema: no indicator is set.",
        "Without public rows no mean stay is known, left out: CCS Diagnosis Code, CCS Procedure "
        "Code, APR DRG Code.",
    )
    assert (data.real, data.source.name) == (True, "sparcs.csv")


def test_codes_are_the_public_rows_mean_stays(tmp_path):
    rows = [{**ONE, "CCS Diagnosis Code": code, "Length of Stay": days}
            for code, days in [(7, 100), (8, 90), (9, 80), (7, 2), (7, 4), (8, 12)]]  # fmt: skip
    data = build(frame(*rows), tmp_path, records=(3,), features=35, public_records=3)
    mean = 6.0  # of 2, 4 and 12 days: private rows have no part in it
    by_code = {7: 6 + PRIOR_ROWS * mean, 8: 12 + PRIOR_ROWS * mean, 9: PRIOR_ROWS * mean}
    expected = [by_code[7] / (2 + PRIOR_ROWS), by_code[8] / (1 + PRIOR_ROWS), mean]
    assert named(data)["CCS Diagnosis Code, mean stay"] == pytest.approx(expected, rel=1e-15)


def test_as_published(tmp_path):
    table = frame(ONE, TWO, {**THREE, "Payment Typology 1": "Medicaid"}, {**ONE, "Gender": None})
    data = build(table, tmp_path, records=(2,), encoding="as-published", features=9)
    assert data.columns == COLUMNS
    assert data.features[0].tolist() == [
        [30, 2, 1, 1, 1, 127, 0, 140, 4],
        [70, 3, 5, 1, 6, 127, 0, 140, 4],
    ]
    assert data.targets[0].tolist() == [5, 3]
    assert data.notes[0] == (
        "As published, 2 rows with missing values or stays of 120 + days were dropped."
    )


def test_an_extract_with_names_and_codes_of_its_own(tmp_path):
    rows = [
        {**ONE, "CCS Diagnosis Code": "MUS011", "CCS Procedure Code": None, "APR DRG Code": "347"},
        {**TWO, "CCS Diagnosis Code": "INJ005", "CCS Procedure Code": "MST010",
         "APR DRG Code": "4", "Length of Stay": 120},
    ]  # fmt: skip
    table = frame(*rows).rename(columns=RENAMED).drop(columns=["APR MDC Code", "Type of Admission"])
    data = build(table, tmp_path, records=(2,), encoding="as-published", features=8)
    assert data.features[0].tolist() == [
        [30, 2, 1, 1, 1511, 0, 347, 8],
        [0, 1, 3, 4, 1205, 1810, 4, 0],
    ]
    assert data.notes[1:] == (
        "APR MDC Code: worked out from the DRG's number.",
        "Published columns that the table lacks: Type of Admission.",
    )
    plain = build(table, tmp_path, records=(2,), features=28)
    assert plain.notes[-1] == "Columns missing from the table, left out: Type of Admission."
    assert named(plain)["APR Risk of Mortality=Extreme"] == [0, 1]


def test_the_numbers_of_drgs_tell_their_category():
    drg = np.array([5, 20, 59, 140, 194, 314, 351, 560, 640, 720, 930, 952, np.nan])
    category = [0, 1, 1, 4, 5, 8, 8, 14, 15, 18, 25, 0, np.nan]
    assert np.array_equal(mdc_of_drg(drg), category, equal_nan=True)


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
        for encoding in ("plain", "as-published"):
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
    spec = HospitalData(
        path=str(REAL), features=9, public_records=0, preprocessing="none",
        split={"column": "Permanent.Facility.Id"},
    )  # fmt: skip
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
    path = tmp_path / "stays.csv"
    table.to_csv(path, index=False)
    dropped = HospitalData(
        path=str(path), encoding="as-published", features=2, public_records=12, preprocessing="pca"
    ).build(2, (5, 5), Streams(1))
    assert [dropped.row_name(row) for row in (2, 3, 27)] == [
        "row 3 of stays.csv",
        "row 5 of stays.csv",
        "row 30 of stays.csv",
    ]
