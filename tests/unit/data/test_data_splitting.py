"""Rows and whose they are: splits, simulated partitions, and rows that are kept apart."""

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import DataSpec, FraudData, GaussianData, LendingData, TableData
from asyncdp_sim.data.splits import (
    BuildRequest,
    Dirichlet,
    Split,
    TableToSplit,
    keep_apart,
    trained_on,
)
from asyncdp_sim.data.tables.encodings import Encoding
from asyncdp_sim.data.tables.rows import Swap
from tests.reproducibility.runs import scenario

# Splits of a table.

ORACLE = pytest.mark.oracle("assignment of rows to owners")


def owner_rows(split, available, public, records, streams):
    request = BuildRequest(len(records), records, streams)
    asked = TableToSplit(request, None, available, public, np.zeros(available), np.zeros(public))
    return parse(Split, split).owned(asked).rows


def by_value(column, values, n_owners, records, least=1):
    """Return the rows and notes of a split by a column with these values."""
    request = BuildRequest(n_owners, records, Streams(1))
    asked = TableToSplit(request, lambda _: values, len(values), 0, np.zeros(0), np.zeros(0))
    found = parse(Split, {"column": column, "least": least}).owned(asked)
    return found.rows, found.notes


@ORACLE
def test_in_order_is_consecutive_blocks():
    rows = owner_rows("in-order", 10, 0, (2, 3, 4), Streams(1))
    assert [r.tolist() for r in rows] == [[0, 1], [2, 3, 4], [5, 6, 7, 8]]


@ORACLE
def test_shuffled_is_a_permutation_of_the_owners_rows_from_its_stream():
    rows = owner_rows("shuffled", 9, 3, (4, 5), Streams(1))
    expected = Streams(1).generator("data", "split").permutation(9)
    assert np.array_equal(np.concatenate(rows), expected)
    assert [len(r) for r in rows] == [4, 5]


@ORACLE
def test_each_value_is_one_owner_in_sorted_order():
    rows, notes = by_value("h", [30, 4, None, 30, 4, 100], 3, None)
    assert [r.tolist() for r in rows] == [[1, 4], [0, 3], [5]]
    assert notes == (
        "Each of the 3 values of 'h' is one owner, in sorted order.",
        "1 row belongs to no owner: no value of 'h'.",
    )


def test_owners_of_a_column_may_keep_their_first_records():
    rows, _ = by_value("h", ["b", "a", "b", "a"], 2, (1, 2))
    assert [r.tolist() for r in rows] == [[1], [0, 2]]
    with pytest.raises(DataError, match=r"owners.records: given 3 for owner 1; h 'a' has 2 rows"):
        by_value("h", ["b", "a", "b", "a"], 2, (3, 2))


def test_values_with_few_rows_are_no_owners():
    values = ["a", "b", "a", "c", "a", "b"]
    rows, notes = by_value("where", values, 2, None, 2)
    assert [r.tolist() for r in rows] == [[0, 2, 4], [1, 5]]
    assert any("Not owners: 1 value of 'where' with fewer than 2 rows" in note for note in notes)
    with pytest.raises(DataError, match=r"allowed is 1, .* with at least 3 rows"):
        by_value("where", values, 2, None, 3)


# A simulated partition by the records' own targets: shares, sizes, privacy of each row.

SHARES = pytest.mark.oracle("shares of groups among owners")

N, ROWS, PUBLIC = 4, 400, 100


def dealt(split, target, known, n=N, seed=1):
    request = BuildRequest(n, None, Streams(seed))
    asked = TableToSplit(request, None, len(target), len(known), target, known)
    return split.owned(asked).rows


def owners(rows, count):
    found = np.full(count, -1)
    for owner, mine in enumerate(rows):
        found[mine] = owner
    assert (found >= 0).all()
    return found


@SHARES
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


@SHARES
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


# Rows kept apart: which, how many, and that nothing else moves.


def rows(features, targets):
    """Return an owner's rows as a sorted list of tuples."""
    return sorted(map(tuple, np.column_stack([features, targets]).tolist()))


def parts(data, owner):
    held = data.held_out_features[owner], data.held_out_targets[owner]
    return rows(data.features[owner], data.targets[owner]), rows(*held)


GAUSSIAN = GaussianData(features=3, condition=4.0)
LOANS = LendingData(features=3, public_records=60)
FRAUD = FraudData(features=3, public_records=300, preprocessing="pca", split="shuffled")


@pytest.mark.parametrize("spec", [GAUSSIAN, LOANS, FRAUD], ids=["gaussian", "lending", "fraud"])
def test_every_owners_rows_are_parted_and_stay_what_they_are(spec):
    whole = spec.build(3, (10, 25, 40), Streams(7))
    apart = spec.model_copy(update={"held_out": 0.3}).build(3, (10, 25, 40), Streams(7))
    assert whole.held_out_features == whole.held_out_targets == ()
    assert apart.records == trained_on(0.3, (10, 25, 40)) == (7, 17, 28)  # of 7.5 rows 8
    for owner in range(3):
        kept, held = parts(apart, owner)
        assert np.allclose(sorted(kept + held), rows(whole.features[owner], whole.targets[owner]))
        assert len(held) == (3, 8, 12)[owner]
        assert apart.held_out_features[owner].flags.f_contiguous
        assert not apart.held_out_targets[owner].flags.writeable
    assert apart.notes == (
        *whole.notes,
        "23 of the owners' 75 rows are held out: nothing is trained on them, and n_i counts the "
        "others.",
    )


def test_labels_that_are_held_out_stay_labels():
    data = FRAUD.model_copy(update={"held_out": 0.5}).build(2, (400, 400), Streams(7))
    assert set(np.concatenate([*data.targets, *data.held_out_targets])) == {-1.0, 1.0}


def test_a_table_split_by_a_column(tmp_path):
    lines = [f"{'ab'[row % 2]},{row},{row * row}" for row in range(20)]
    (tmp_path / "t.csv").write_text("who,x,y\n" + "\n".join(lines) + "\n")
    spec = TableData(
        path=str(tmp_path / "t.csv"), target="y", owner_column="who", features=1,
        public_records=0, preprocessing="none", held_out=0.25,
    )  # fmt: skip
    data = spec.build(2, None, Streams(1))
    assert data.records == (8, 8)  # of 2.5 rows 2: half to even
    for owner in range(2):
        kept, held = parts(data, owner)
        expected = [(float(row), float(row * row)) for row in range(owner, 20, 2)]
        assert sorted(kept + held) == expected


def test_public_rows_of_an_owner_count_wherever_they_are():
    spec = LendingData(features=3, public_records=42_500, public_overlap=True)
    whole = spec.build(2, (40, 40), Streams(1))
    apart = spec.model_copy(update={"held_out": 0.5}).build(2, (40, 40), Streams(1))
    assert apart.public_rows_of_owner == whole.public_rows_of_owner == (5, 40)


def test_more_owners_or_a_larger_share_change_no_rows_held_out():
    few, apart = keep_apart(0.2, (10, 30), Streams(3))
    more, also = keep_apart(0.2, (10, 30, 5), Streams(3))
    for one, other in zip([*few, *apart], [*more[:2], *also[:2]], strict=True):
        assert one.tolist() == other.tolist()
    _, larger = keep_apart(0.5, (10, 30), Streams(3))
    for some, all_of_them in zip(apart, larger, strict=True):
        assert set(some.tolist()) < set(all_of_them.tolist())
    for kept, held, n in zip(few, apart, (10, 30), strict=True):
        assert sorted([*kept.tolist(), *held.tolist()]) == list(range(n))


def test_without_held_out_rows_nothing_is_drawn():
    streams = Streams(3)
    kept, apart = keep_apart(0.0, (4,), streams)
    assert (kept[0].tolist(), apart[0].tolist()) == ([0, 1, 2, 3], [])
    streams.generator("data", "owner", 1, "held-out")  # it is still there to be taken


@pytest.mark.parametrize(
    ("share", "records", "line"),
    [
        (0.9, (30, 4, 3), "data.held_out: given 0.9, which keeps all 4 rows of owner 2 apart; "
         "allowed is a share that leaves every owner one row"),
        (0.01, (30, 4), "data.held_out: given 0.01, which is at most half a row of every owner; "
         "allowed is 0, or a share that keeps rows apart"),
    ],
)  # fmt: skip
def test_a_share_that_cannot_be(share, records, line):
    with pytest.raises(DataError) as caught:
        GaussianData(features=2, held_out=share).build(len(records), records, Streams(1))
    assert str(caught.value) == line
    with pytest.raises(SpecError) as refused:  # before any data are read
        scenario(data__held_out=share, owners__records=list(records), owners__count=len(records),
                 clock__rate=1.0)  # fmt: skip
    assert refused.value.lines() == [line]


@pytest.mark.parametrize(
    ("persons", "apart"), [([7] * 9, 0), ([1, 2], 0), ([1] * 8 + [2], 1), ([1, 1, 2, 2, 3, 3], 2)]
)
def test_whole_persons_are_held_out_and_one_stays(persons, apart):
    """An owner's only person was held out whole, and one of two for a fifth of two rows."""
    others = np.arange(10)
    latest = [np.arange(len(persons)), np.arange(10)]
    kept, out = keep_apart(0.2, (len(persons), 10), Streams(1), [np.array(persons), others], latest)
    assert (len(kept[0]), len(out[0])) == (len(persons) - apart, apart)
    assert {*np.array(persons)[kept[0]]}.isdisjoint(np.array(persons)[out[0]])
    with pytest.raises(DataError, match=r"data.person, of which each owner has one that stays"):
        keep_apart(0.2, (5,), Streams(1), [np.zeros(5)])


# Rows in time, and rows of one owner.

DAYS = [f"{1 + j % 28:02}.{1 + j % 12:02}.{2020 + j % 3}" for j in range(40)]
LATEST = {
    "decimal commas": ([f"{j},5" for j in range(40)], {}, [24, 25, 26, 27, 28, 29]),
    "declared dates": (
        DAYS,
        {"day": {"kind": "date", "format": "%d.%m.%Y"}},
        [8, 11, 17, 20, 23, 26],
    ),
    "dates that sort": ([f"{d[6:]}-{d[3:5]}-{d[:2]}" for d in DAYS], {}, [8, 11, 17, 20, 23, 26]),
}


def in_time(folder, days, **fields):
    table = pd.DataFrame({"who": ["a", "b"] * 20, "day": days, "x": range(40), "y": range(40)})
    table.to_csv(folder / "t.csv", sep=";", index=False)
    given = {"target": "y", "owner_column": "who", "order": "day", "held_out": 0.2, **fields}
    return TableData(path=str(folder / "t.csv"), features=1, public_records=10, **given)


@pytest.mark.parametrize("name", LATEST)
def test_the_latest_rows_are_held_out_however_times_are_written(tmp_path, name):
    days, columns, latest = LATEST[name]
    data = in_time(tmp_path, days, columns={key: parse(Encoding, e) for key, e in columns.items()})
    assert sorted(np.concatenate(data.build(2, None, Streams(1)).held_out_rows)) == latest


@pytest.mark.parametrize("cell", ["", "x", "2024-05-17", "inf", "-1"])
def test_a_private_time_moves_no_other_row(tmp_path, cell):
    """One text among numbers put 9 behind 10 for all owners."""
    days = [str(day) for day in range(40)]
    before, after = (
        in_time(tmp_path, times).build(2, None, Streams(1)).held_out_rows
        for times in (days, [*days[:6], cell, *days[7:]])
    )
    assert [[*rows] for rows in before] == [[24, 26, 28], [25, 27, 29]]
    assert [*after[1]] == [25, 27, 29]
    assert {*after[0]} - {6} <= {24, 26, 28}


def test_dates_that_do_not_sort_as_texts_are_refused(tmp_path):
    line = r'data.columns.day = \{ kind = "date", format = "%d.%m.%Y" \}'
    with pytest.raises(DataError, match=f"data.order: given 'day', dates that do not .* {line}"):
        in_time(tmp_path, DAYS, drop=("day",)).build(2, None, Streams(1))


def test_beside_rows_of_one_owner_public_rows_are_those_that_the_seed_draws(tmp_path):
    (tmp_path / "own.csv").write_text("day;x;y\n1;7;7\n2;8;9\n", encoding="utf-8")
    data = in_time(tmp_path, range(40), own_path=str(tmp_path / "own.csv"), public_seed=3)
    public = data.own_rows(Streams(1)).public_targets
    assert np.array_equal(public, data.build(2, None, Streams(1)).public_targets)
    assert not np.array_equal(public, range(30, 40))


def test_a_declared_charset_is_that_of_public_and_own_rows_too(tmp_path):
    for name in ("public", "own"):
        table = pd.DataFrame(
            {"Клиника": ["Юг", "Север"] * 10, "x": range(20), "y": [1, 2, 4, 8] * 5}
        )
        table.to_csv(tmp_path / f"{name}.csv", index=False, encoding="cp1251")
    data = TableData(
        path=str(tmp_path / "own.csv"), public_path=str(tmp_path / "public.csv"), target="y",
        own_path=str(tmp_path / "own.csv"), owner_column="Клиника", features=1, public_records=20,
        charset="cp1251",
    )  # fmt: skip
    assert data.build(2, None, Streams(1)).owner_names == ("Север", "Юг")
    assert data.own_rows(Streams(1)).columns == ("x",)
