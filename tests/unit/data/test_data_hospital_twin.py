import json
from importlib import resources

import numpy as np
import pytest
from discharges import REAL, needs_real

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import HospitalData
from asyncdp_sim.data import hospital_data as hospital_twin
from asyncdp_sim.data.declared_columns import Twin
from asyncdp_sim.data.hospital_data import (
    COLUMNS,
    HOSPITAL,
    LEAST_RECORDS,
    calibrated,
    complete,
    encode_plain,
    read_discharges,
    twin_sizes,
    twin_table,
)
from asyncdp_sim.data.hospital_data import encode_as_published as encode_published
from asyncdp_sim.data.tables.rows import Encoded
from scenarios.twins import hospital as calibrate
from scenarios.twins.hospital import between_hospitals

ORACLE = pytest.mark.oracle("moments of the synthetic hospital stays")

ENCODINGS = ["plain", "as-published"]
CHUNK_ROWS = calibrated("plain").chunk_rows
SHIPPED = resources.files("asyncdp_sim.data").joinpath("hospital_twin.json")
BY_HOSPITAL = {"split": {"column": "Facility Id"}}


def twin(records, seed=1, n_owners=None, **fields):
    fields = {"features": 3, "public_records": 500, **fields}
    return HospitalData(**fields).build(n_owners or len(records), records, Streams(seed))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_row_is_the_same_however_many_are_drawn(encoding):
    few = twin_table(encoding, (100, 50), 10, 20, Streams(1))
    many = twin_table(encoding, (CHUNK_ROWS + 7, 60, 5), 30, CHUNK_ROWS + 3, Streams(1))
    ends = np.cumsum([0, CHUNK_ROWS + 7, 60, 5, 30])
    for mine, first, n in zip(
        (0, 100, 150, 160), ends[[0, 1, 3, 4]], (100, 50, 10, 20), strict=True
    ):
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
    assert table.target.min() == 1
    assert table.target.max() <= 120
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
    monkeypatch.setattr(hospital_twin, "LEAST_RECORDS", 50)
    by_column = twin(None, n_owners=4, **BY_HOSPITAL)
    assert by_column.records == twin_sizes(4, Streams(1))
    assert by_column.notes[1] == (
        f"Sizes of hospitals were drawn: {min(by_column.records)} to {max(by_column.records)} "
        "records."
    )
    in_order = twin(by_column.records)
    for mine, same in zip(by_column.features, in_order.features, strict=True):
        assert np.array_equal(mine, same)
    renamed = twin(None, n_owners=4, split={"column": "Permanent Facility Id"})
    assert np.array_equal(renamed.features[3], in_order.features[3])
    assert twin(None, n_owners=3, **BY_HOSPITAL).records == by_column.records[:3]
    with pytest.raises(SpecError, match=r"split: given a column 'Race'; the synthetic twin"):
        twin(None, n_owners=4, split={"column": "Race"})


def test_sizes_are_those_of_hospitals_with_enough_records():
    sizes = np.array(twin_sizes(2000, Streams(1)))
    assert sizes.min() >= LEAST_RECORDS
    quantiles = json.loads(SHIPPED.read_text("utf-8"))["sizes"]
    # 2000 draws: a quantile near the median has a standard error of 1.1 % in probability.
    assert np.mean(sizes < LEAST_RECORDS * quantiles[10]) == pytest.approx(0.5, abs=0.045)
    assert sizes.max() <= LEAST_RECORDS * quantiles[-1]


def test_the_shipped_file_is_small_and_holds_no_rows():
    text = SHIPPED.read_text("utf-8")
    assert len(text.encode()) < 15_000
    for encoding in ENCODINGS:
        law = calibrated(encoding)
        assert np.allclose(np.sum(law.between**2 + law.within**2, axis=1), 1)
        assert len(law.variables) <= 15
        for v in law.variables:
            assert len(v.values) == len(v.cuts) + 1
            assert np.all(np.diff(v.cuts) > 0)


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
    found = between_hospitals(x, hospitals)
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
    law = Twin.from_json(
        json.loads(json.dumps(calibrate.to_json(calibrate.calibrate(table, hospitals))))
    )
    made = np.zeros((30_000, 4), order="F")
    generator = np.random.default_rng(1)
    for start in range(0, 30_000, 200):
        rows = slice(start, start + 200)
        law.of_one_group(generator).write(made[rows, :3], made[rows, 3], generator)
    given = np.c_[table.matrix, table.target]
    assert np.allclose(made.mean(axis=0), given.mean(axis=0), rtol=0.05)
    assert np.allclose(made.std(axis=0), given.std(axis=0), rtol=0.05)
    assert np.allclose(np.corrcoef(made.T), np.corrcoef(given.T), atol=0.05)
    parts = [np.diag(between_hospitals(x.T, hospitals)) for x in (given, made)]
    assert np.allclose(*parts, atol=0.05)
    assert parts[1][1] > 0.15  # race differs much between hospitals


@pytest.fixture(scope="module", params=ENCODINGS)
def both(request):
    """Return the real table and the twin of the same hospitals: matrix, target, hospital each."""
    frame, _ = read_discharges(str(REAL))
    if request.param == "plain":
        real = encode_plain(frame, 10_001)
    else:
        frame, _ = complete(frame)
        real = encode_published(frame)
    numbers = frame[HOSPITAL].factorize()[0]
    sizes = np.bincount(numbers)
    made = twin_table(request.param, sizes.tolist(), 0, 0, Streams(3))
    used = [made.columns.index(name) for name in real.columns]
    return (
        (real.matrix, real.target, numbers),
        (made.matrix[:, used], made.target, np.repeat(np.arange(len(sizes)), sizes)),
    )


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
    models = [
        np.linalg.solve(2 * x.T @ x / len(y) + 1e-5 * np.eye(x.shape[1]), 2 * x.T @ y / len(y))
        for x, y, _ in both
    ]
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
