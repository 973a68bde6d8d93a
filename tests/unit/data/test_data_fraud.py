import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import fraud_data
from asyncdp_sim.data.declared_columns import shipped
from asyncdp_sim.data.fraud_data import COMPONENTS, FRAUD_SHARE, FraudData
from asyncdp_sim.data.tables.read import read_table
from asyncdp_sim.data.tables.rows import Encoded
from asyncdp_sim.learning.objectives import SVM
from scenarios.twins import fraud as calibrate
from tests import tables

ORACLE = pytest.mark.oracle("moments of the synthetic transactions")

REAL = Path(__file__).parents[4] / "shared" / "data" / "creditcard_subset_10k.parquet"
needs_real = pytest.mark.skipif(not REAL.exists(), reason="the real table is not at hand")

CARDS = tables.table(__file__, "fraud_cells.toml")
TINY = pd.DataFrame(CARDS["tiny"])
PLAIN = {"preprocessing": "none", "public_records": 0}


def save(tmp_path, frame=TINY):
    frame.to_csv(tmp_path / "creditcard.csv", index=False)
    return str(tmp_path / "creditcard.csv")


def tiny(tmp_path, frame=TINY, **fields):
    fields = {"features": 3, **PLAIN, **fields}
    return FraudData(path=save(tmp_path, frame), **fields).build(2, (1, 3), Streams(1))


def twin(records=(90_000,), seed=1, **fields):
    fields = {"features": 29, **PLAIN, **fields}
    return FraudData(**fields).build(len(records), records, Streams(seed))


@pytest.mark.parametrize(
    ("encoding", "amounts"), [("plain", [2, 1, 3]), ("as-published", [99, 9, 999])]
)
def test_encodings_change_nothing_but_the_amount(tmp_path, encoding, amounts):
    data = tiny(tmp_path, encoding=encoding)
    assert data.columns == ("V1", "V3", "Amount")
    assert data.features[0].tolist() == [[1.5, 0.5, 0]]
    assert data.features[1][:, :2].tolist() == [[-2, 1], [0.25, -30], [0, 0]]
    assert np.allclose(data.features[1][:, 2], amounts, rtol=1e-15, atol=0)
    assert [y.tolist() for y in data.targets] == [[-1], [1, -1, 1]]
    assert (data.real, data.source.name) == (True, "creditcard.csv")
    assert data.notes[0].startswith("Components missing from the table, left out: V2, V4, V5,")
    assert data.notes[1] == "Columns not used as features: Time."


def test_a_full_table_has_the_papers_features_in_its_own_order(tmp_path):
    names = ["Amount", *COMPONENTS[::-1]]
    frame = pd.DataFrame(np.arange(58.0).reshape(2, 29), columns=names).assign(Class=[0, 1])
    data = tiny(tmp_path, frame.iloc[[0, 1, 0, 1]], features=29, encoding="as-published")
    assert data.columns == tuple(names) == fraud_data.FEATURES[::-1]
    assert data.features[0].tolist() == [list(range(29))]
    assert data.notes == ()


@pytest.mark.skipif(sys.platform != "linux", reason="the highest use of memory is read in /proc")
@pytest.mark.long
def test_a_table_takes_at_most_three_times_its_file(tmp_path):
    """Its texts, and then its records: 29 float64 features of 560 bytes of text a row.

    In a process of its own, and not traced: pages count once they are written to.
    """
    rows = 50_000
    drawn = fraud_data.twin_table(2000, 0, Streams(4))
    frame = pd.DataFrame(drawn.matrix, columns=drawn.columns).assign(Class=0)
    header, lines = frame.to_csv(index=False).split("\n", 1)
    for name, times in (("short", 1), ("long", rows // 2000)):
        (tmp_path / f"{name}.csv").write_text(f"{header}\n{lines * times}")
    program = tables.table(__file__, "bytes_per_row.toml")["bytes_per_row"]
    command = [sys.executable, "-c", program, str(tmp_path), str(rows)]
    # Memory is given back at once, as that of larger tables is.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert 29 * 8 < float(found.stdout) < 3 * len(lines) / 2000


def test_labels_stay_labels_under_pca(tmp_path):
    frame = pd.concat([TINY] * 3, ignore_index=True)
    spec = FraudData(path=save(tmp_path, frame), features=2, public_records=5, preprocessing="pca")
    assert spec.build(1, (7,), Streams(1)).targets[0].tolist() == [-1, 1, -1, 1, -1, 1, -1]
    drawn = twin((2000,), features=3, public_records=10, preprocessing="pca", seed=2)
    assert set(np.unique(drawn.targets[0])) == {-1, 1}


@pytest.mark.parametrize("case", CARDS["bad"], ids=lambda case: case["line"])
def test_bad_cells_are_refused(tmp_path, case):
    with pytest.raises(DataError) as caught:
        fraud_data.transactions(
            pd.read_csv(save(tmp_path, TINY.assign(**{case["column"]: case["cells"]})))
        )
    assert caught.value.lines() == [case["line"]]


def test_bad_private_cells_are_their_records_matter(tmp_path):
    bad = TINY.assign(Class=["2", "1", "x", "1"], V3=["?", "1", "-3e1", "0"], Amount=[-5, 9, 99, 9])
    data = tiny(tmp_path, bad, features=3)
    assert data.features[0].tolist() == [[0, 0, 0]]  # no label: nothing of the record counts
    assert data.features[1].tolist() == [[-2, 1, 1], [0, 0, 0], [0, 0, 1]]
    assert np.isnan(data.targets[0]).all()
    assert np.array_equal(data.targets[1], [1, np.nan, 1], equal_nan=True)
    assert "4 invalid private cells became 0, or a missing label in Class." in data.notes
    assert "From private rows: Records without a target: 2." in " ".join(map(str, data.notes))
    with pytest.raises(DataError, match=r"'x' in column 'Class', row 3; allowed is 0"):
        tiny(tmp_path, bad, features=3, public_records=3)


def test_other_tables_are_refused_with_all_that_they_lack(tmp_path):
    with pytest.raises(DataError) as caught:
        tiny(tmp_path, TINY[["Time"]])
    assert caught.value.lines() == CARDS["lacking"]
    with pytest.raises(DataError, match=r"data.features: given 29; allowed is 3"):
        tiny(tmp_path, features=29)


def test_the_table_can_be_split_by_a_column(tmp_path):
    spec = FraudData(path=save(tmp_path), features=3, split={"column": "Time"}, **PLAIN)
    assert spec.build(3, None, Streams(1)).records == (1, 2, 1)


@ORACLE
def test_the_law_has_the_moments_that_it_is_made_from():
    """Exactly: over both classes the components' mean is 0 and their covariance diagonal."""
    law, share = fraud_data.calibrated(), FRAUD_SHARE
    published = np.array(calibrate.DEVIATION.split(), dtype=float)
    genuine = law.genuine_factor @ law.genuine_factor.T
    genuine += np.outer(law.amount_slope, law.amount_slope)
    frauds = law.fraud_factor @ law.fraud_factor.T
    frauds += np.outer(law.fraud_severity, law.fraud_severity)
    mean = (1 - share) * law.genuine_mean + share * law.fraud_mean
    second = (1 - share) * (genuine + np.outer(law.genuine_mean, law.genuine_mean))
    second += share * (frauds + np.outer(law.fraud_mean, law.fraud_mean))
    assert np.allclose(mean, 0, atol=1e-12)
    assert np.allclose(second, np.diag(published**2), atol=1e-12)
    assert law.fraud_severity @ law.fraud_mean > 0


@pytest.fixture(scope="module")
def drawn():
    """Return 180,000 rows of the twin by class, amounts in euros: (matrix, matrix)."""
    table = fraud_data.twin_table(180_000, 0, Streams(3))
    label = table.target > 0
    return table.matrix[~label], table.matrix[label]


@ORACLE
def test_drawn_rows_have_the_laws_moments(drawn):
    """4 standard errors; the deviations of heavy tails vary more, and so a tenth."""
    genuine, frauds = drawn
    n = len(genuine) + len(frauds)
    assert abs(len(frauds) - n * FRAUD_SHARE) < 4 * np.sqrt(n * FRAUD_SHARE)
    law = fraud_data.calibrated()
    for rows, mean in ((genuine, law.genuine_mean), (frauds, law.fraud_mean)):
        error = rows[:, :28].std(axis=0) / np.sqrt(len(rows))
        assert np.all(np.abs(rows[:, :28].mean(axis=0) - mean) < 4 * error)
    published = np.array(calibrate.DEVIATION.split(), dtype=float)
    every = np.vstack(drawn)
    assert np.allclose(every[:, :28].std(axis=0) / published, 1, atol=0.1)
    correlation = np.corrcoef(every.T)
    wanted = np.array(calibrate.AMOUNT_CORRELATION.split(), dtype=float)
    assert np.allclose(correlation[28, :28], wanted, atol=0.05)
    assert np.allclose(correlation[:28, :28], np.eye(28), atol=0.06)


def test_amounts_are_euros_and_cents_of_the_published_size(drawn):
    amount = drawn[0][:, -1]
    assert np.array_equal(amount, np.round(amount, 2))
    assert 0.005 < np.mean(amount == 0) < 0.02  # published: 0.6 %
    assert amount.max() <= 25_691.16
    assert amount.mean() == pytest.approx(88.35, rel=0.05)
    assert amount.std() == pytest.approx(250.12, rel=0.2)
    assert np.quantile(amount, [0.5, 0.75]) == pytest.approx([22, 77], rel=0.4)


def test_calibration_recovers_the_moments_of_what_it_is_given():
    law = fraud_data.calibrated()
    matrix, target = np.empty((200_000, 29)), np.empty(200_000)
    law.write(matrix, target, np.random.default_rng(5))
    frauds = Encoded(matrix[target > 0], target[target > 0], (*COMPONENTS, "Amount"))
    again = fraud_data.from_json(json.loads(json.dumps(calibrate.calibrate(frauds))))
    spread = np.sqrt(np.sum(law.fraud_factor**2, axis=1) + law.fraud_severity**2)
    error = spread / np.sqrt(len(frauds.target))
    assert np.allclose(again.fraud_mean, law.fraud_mean, atol=4 * error)
    assert np.allclose(again.fraud_severity, law.fraud_severity, atol=0.3 * spread)
    assert again.genuine_amounts == law.genuine_amounts
    few = Encoded(frauds.matrix[:, 2:], frauds.target, frauds.columns[2:])
    with pytest.raises(ValueError, match="only V2 may be absent"):
        calibrate.calibrate(few)


@needs_real
def test_the_shipped_law_is_that_of_the_real_frauds():
    stored = shipped("fraud_twin.json")
    made = calibrate.calibrate(fraud_data.transactions(read_table(str(REAL))))
    assert set(made) == set(stored)
    assert made["fraud_covariance"][27] == pytest.approx(stored["fraud_covariance"][27], abs=2e-4)
    for name in ("fraud_mean", "genuine_amounts"):
        assert made[name] == pytest.approx(stored[name], abs=2e-4)


@needs_real
def test_the_twin_looks_like_the_real_table(drawn):
    """Norms within 1.3 from the median up; the real genuine rows are those of four hours."""
    table = fraud_data.transactions(read_table(str(REAL)))
    label = table.target > 0
    assert (np.count_nonzero(label), len(label)) == (492, 9999)
    real = [table.matrix[~label], table.matrix[label]]
    made = [np.delete(rows, 1, axis=1) for rows in drawn]  # V2
    for r, m, factor, place in zip(real, made, (1.7, 1.35), (1.4, 0.25), strict=True):
        assert np.all(np.abs(np.log(m.std(axis=0) / r.std(axis=0))) < np.log(factor))
        assert np.all(np.abs(m.mean(axis=0) - r.mean(axis=0)) < place * r.std(axis=0))
        norms = [np.quantile(np.abs(x[:, :-1]).sum(axis=1), [0.5, 0.9, 0.99]) for x in (r, m)]
        assert np.all(np.abs(np.log(norms[1] / norms[0])) < np.log(1.3))


def steepest(features):
    """Return the largest ‖∇ℓ‖₁ of an SVM's records at θ = 0, ‖(x, 1)‖₁."""
    return max(float(np.abs(x).sum(axis=1).max()) for x in SVM(regularisation=1).design(features))


def test_the_largest_record_gradient_of_three_banks():
    """Of the twin's 3 × 30,000 rows; on euros it is the largest amount that decides."""
    plain, euros = (twin((30_000,) * 3, encoding=e).features for e in ("plain", "as-published"))
    assert 200 < steepest(plain) < 700
    assert 5_000 < steepest(euros) < 26_500


@needs_real
def test_the_largest_record_gradient_of_the_real_table():
    fields = {"path": str(REAL), "features": 28, "split": "shuffled", **PLAIN}
    for encoding, largest in (("plain", 316.3), ("as-published", 7894.6)):
        data = FraudData(encoding=encoding, **fields).build(3, (3333,) * 3, Streams(1))
        assert steepest(data.features) == pytest.approx(largest, abs=0.1)


@needs_real
def test_a_linear_svm_finds_as_many_frauds_in_the_twin_as_in_the_real_table(drawn):
    """Of 246 frauds, every second real one, among 2,000 genuine rows, σ = 0.01."""
    table = fraud_data.transactions(read_table(str(REAL)))
    label = table.target > 0
    real = np.vstack([table.matrix[label][::2], table.matrix[~label][:2000]])
    made = np.delete(np.vstack([drawn[1][:246], drawn[0][:2000]]), 1, axis=1)  # V2
    y = np.repeat([1.0, -1.0], [246, 2000])
    model, found = SVM(regularisation=0.01), []
    for rows in (real, made):
        rows[:, -1] = np.log10(1 + rows[:, -1])
        design = model.design([rows])
        right = y * (design[0] @ model.objective(design, [y]).optimum) > 0
        found.append((right[:246].mean(), right[246:].mean()))
    assert found[1][0] == pytest.approx(found[0][0], abs=0.1)
    assert min(found[0][1], found[1][1]) > 0.99


def test_labels_that_are_held_out_or_nobodys_stay_labels():
    asked = {"public_records": 300, "preprocessing": "pca", "held_out": 0.5, "score_on": "all"}
    data = FraudData(features=3, split="shuffled", **asked).build(2, (400, 400), Streams(7))
    assert {*np.concatenate([*data.targets, *data.held_out_targets])} == {-1.0, 1.0}
    assert {*data.unowned_targets} == {-1.0, 1.0}
