"""A simulated partition by the records' own targets: shares, sizes, privacy of each row."""

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import DataSpec
from asyncdp_sim.data.splits import Dirichlet, TableToSplit
from asyncdp_sim.data.tables.neighbour import Swap

ORACLE = pytest.mark.oracle("shares of groups among owners")

N, ROWS, PUBLIC = 4, 400, 100


def dealt(split, target, known, n=N, seed=1):
    asked = TableToSplit(None, len(target), len(known), n, None, Streams(seed), target, known)
    return split.owned(asked).rows


def owners(rows, count):
    found = np.full(count, -1)
    for owner, mine in enumerate(rows):
        found[mine] = owner
    assert (found >= 0).all()
    return found


@ORACLE
def test_every_row_has_one_owner_and_groups_go_by_shares_of_their_own():
    target = np.repeat([0.0, 1.0], 20_000)
    rows = dealt(Dirichlet(dirichlet=0.5), target, np.array([1.0, 0.0]))
    owner = owners(rows, len(target))
    for g in (0, 1):
        share = Streams(1).generator("data", "split", "group", g).dirichlet([0.5] * N)
        counts = np.bincount(owner[target == g], minlength=N)
        spread = np.sqrt(20_000 * share * (1 - share)) + 1
        assert np.abs(counts - 20_000 * share).max() < 4 * spread.max()


def test_a_large_alpha_is_alike_and_a_small_one_is_not():
    target = np.tile(np.arange(10.0), 1000)

    def apart(alpha):
        rows = dealt(Dirichlet(dirichlet=alpha), target, np.arange(10.0))
        mixes = [np.bincount(target[r].astype(int), minlength=10) / len(r) for r in rows]
        return np.abs(np.array(mixes) - 0.1).sum(axis=1).mean() / 2  # total variation

    assert apart(1e6) < 0.05 < 0.2 < apart(1.0) < apart(0.3)


@ORACLE
def test_weights_are_lognormal_with_their_variation():
    """Of sizes whose groups are alike, weights are what is left."""
    target = np.zeros(200_000)
    sizes = np.array(
        [len(r) for r in dealt(Dirichlet(dirichlet=1e6, cv=1.0), target, target[:1], 200)]
    )
    drawn = Streams(1).generator("data", "split", "weights").lognormal(sigma=np.log(2) ** 0.5,
                                                                       size=200)  # fmt: skip
    assert np.corrcoef(sizes, drawn)[0, 1] > 0.99
    assert abs(sizes.std() / sizes.mean() - drawn.std() / drawn.mean()) < 0.05


@pytest.mark.parametrize("split", [Dirichlet(dirichlet=0.5), Dirichlet(dirichlet=2.0, groups=7)])
def test_no_row_has_a_say_in_whose_another_one_is(split):
    draws = np.random.default_rng(3)
    target, known = draws.integers(0, 5, ROWS).astype(float), np.arange(5.0)
    before = owners(dealt(split, target, known), ROWS)
    for row in range(0, ROWS, 7):
        for value in (0.0, 4.0, np.nan, 1e300, -3.5):
            there = target.copy()
            there[row] = value
            after = owners(dealt(split, there, known), ROWS)
            assert np.delete(after == before, row).all()


def table(path, value=None):
    draws = np.random.default_rng(1)
    x = draws.normal(size=(ROWS + PUBLIC, 2))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": np.round(x.sum(axis=1), 3)})
    if value is not None:
        frame.loc[3, "y"] = value
    frame.to_csv(path, index=False)
    raw = {"kind": "table", "path": str(path), "target": "y", "features": 2}
    split = {"dirichlet": 1.0, "groups": 4, "cv": 0.5}
    return parse(DataSpec, {**raw, "public_records": PUBLIC, "split": split, "held_out": 0.1})


@pytest.mark.long
def test_a_replaced_record_keeps_its_owner(tmp_path):
    data = table(tmp_path / "t.csv")
    before = data.build(N, None, Streams(1))
    assert sum(map(len, before.rows)) == ROWS - sum(map(len, before.held_out_targets))
    moved = 0
    for row in range(0, ROWS, 40):
        after = data.build(N, None, Streams(1), Swap(row, (row + 7) % ROWS, 50.0))
        assert all(map(np.array_equal, before.rows, after.rows))
        for x, z in zip(before.features, after.features, strict=True):
            moved += int((x != z).any(axis=1).sum())
    assert 0 < moved <= ROWS // 40


def test_what_cannot_be_dealt_out_is_one_line():
    with pytest.raises(DataError, match=r"data.public_records: given no public target"):
        dealt(Dirichlet(dirichlet=1.0), np.zeros(9), np.zeros(0))
    with pytest.raises(DataError, match=r"data.split.groups: given nothing for 101 different"):
        dealt(Dirichlet(dirichlet=1.0), np.zeros(9), np.arange(101.0))
    with pytest.raises(DataError, match=r"leaves owner 1 without a record; allowed is a larger"):
        dealt(Dirichlet(dirichlet=0.001), np.zeros(9), np.zeros(1), 9)
    with pytest.raises(DataError, match="owners can share 9 rows"):
        dealt(Dirichlet(dirichlet=1.0, rows=10), np.zeros(9), np.zeros(1))
    twin = {"kind": "lending", "features": 2, "public_records": 200, "split": {"dirichlet": 1.0}}
    with pytest.raises(DataError, match=r"data.split.rows: given nothing; allowed is a number"):
        parse(DataSpec, twin).build(N, None, Streams(1))


def test_only_public_rows_say_which_groups_there_are(tmp_path):
    """A private target that no public row has, or none at all, moves nobody else."""
    before = table(tmp_path / "t.csv").build(N, None, Streams(1))
    for value in (1e9, np.nan):
        after = table(tmp_path / "t.csv", value).build(N, None, Streams(1))
        rows = [set(a.tolist()) ^ set(b.tolist()) for a, b in zip(before.rows, after.rows,
                                                                  strict=True)]  # fmt: skip
        others = {row for each in rows for row in each} - {3}
        held = sum(map(len, before.held_out_targets))
        assert len(others) <= held  # which rows are held out is drawn by an owner's number of rows
