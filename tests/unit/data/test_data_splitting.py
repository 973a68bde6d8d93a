"""Rows and whose they are: splits, simulated partitions, and rows that are kept apart."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from of_frames import of_frame

from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import FraudData, GaussianData, LendingData, TableData
from asyncdp_sim.data.splits import BuildRequest, Split, TableToSplit, keep_apart, trained_on
from asyncdp_sim.data.tables.encodings import Date
from asyncdp_sim.data.tables.rows import Swap, nearest
from asyncdp_sim.scenario import Scenario, dump, load
from tests.one_in import one_in
from tests.reproducibility.runs import scenario
from tests.tables import table

# Splits of a table.

ORACLE = pytest.mark.oracle("assignment of rows to owners")
CASES = table(__file__, "splitting.toml")


def owned(split, n_owners, records=None, *, column=None, target=(), known=(), seed=1):
    """Return whose rows are which, and notes, of a table with a column, targets and public ones."""
    target = np.zeros(len(column)) if column is not None else np.asarray(target)
    request = BuildRequest(n_owners, records, Streams(seed))
    sizes = len(target), len(known)
    asked = TableToSplit(request, lambda _: column, *sizes, target, np.asarray(known))
    return parse(Split, split).owned(asked)


@ORACLE
def test_in_order_is_consecutive_blocks():
    rows = owned("in-order", 3, (2, 3, 4), target=np.zeros(10)).rows
    assert [r.tolist() for r in rows] == [[0, 1], [2, 3, 4], [5, 6, 7, 8]]


@ORACLE
def test_shuffled_is_a_permutation_of_the_owners_rows_from_its_stream():
    rows = owned("shuffled", 2, (4, 5), target=np.zeros(9), known=np.zeros(3)).rows
    expected = Streams(1).generator("data", "split").permutation(9)
    assert np.array_equal(np.concatenate(rows), expected)
    assert [len(r) for r in rows] == [4, 5]


@ORACLE
def test_each_value_is_one_owner_in_sorted_order():
    found = owned({"column": "h"}, 3, column=[30, 4, None, 30, 4, 100])
    assert [r.tolist() for r in found.rows] == [[1, 4], [0, 3], [5]]
    assert found.notes == tuple(CASES["notes_of_values"])


def test_owners_of_a_column_may_keep_their_first_records():
    column = ["b", "a", "b", "a"]
    found = owned({"column": "h"}, 2, (1, 2), column=column)
    assert [r.tolist() for r in found.rows] == [[1], [0, 2]]
    with pytest.raises(DataError, match=r"owners.records: given 3 for owner 1; h 'a' has 2 rows"):
        owned({"column": "h"}, 2, (3, 2), column=column)


def test_values_with_few_rows_are_no_owners():
    values = ["a", "b", "a", "c", "a", "b"]
    found = owned({"column": "where", "least": 2}, 2, column=values)
    assert [r.tolist() for r in found.rows] == [[0, 2, 4], [1, 5]]
    assert "Not owners: 1 value of 'where' with fewer than 2 rows" in " ".join(found.notes)
    with pytest.raises(DataError, match=r"allowed is 1, .* with at least 3 rows"):
        owned({"column": "where", "least": 3}, 2, column=values)


# A simulated partition by the records' own targets: shares, sizes, privacy of each row.

SHARES = pytest.mark.oracle("shares of groups among owners")

N, ROWS, PUBLIC = 4, 400, 100


def dealt(alpha, target, known, n=N, **more):
    return owned({"dirichlet": alpha, **more}, n, target=target, known=known).rows


def owners(rows, count):
    found = np.full(count, -1)
    for owner, mine in enumerate(rows):
        found[mine] = owner
    assert (found >= 0).all()
    return found


@SHARES
def test_every_row_has_one_owner_and_groups_go_by_shares_of_their_own():
    target = np.repeat([0.0, 1.0], 20_000)
    rows = dealt(0.5, target, np.array([1.0, 0.0]))
    owner = owners(rows, len(target))
    for g in (0, 1):
        share = Streams(1).generator("data", "split", "group", g).dirichlet([0.5] * N)
        counts = np.bincount(owner[target == g], minlength=N)
        spread = np.sqrt(20_000 * share * (1 - share)) + 1
        assert np.abs(counts - 20_000 * share).max() < 4 * spread.max()


def test_a_large_alpha_is_alike_and_a_small_one_is_not():
    target = np.tile(np.arange(10.0), 1000)

    def apart(alpha):
        rows = dealt(alpha, target, np.arange(10.0))
        mixes = [np.bincount(target[r].astype(int), minlength=10) / len(r) for r in rows]
        return np.abs(np.array(mixes) - 0.1).sum(axis=1).mean() / 2  # total variation

    assert apart(1e6) < 0.05 < 0.2 < apart(1.0) < apart(0.3)


@SHARES
def test_weights_are_lognormal_with_their_variation():
    """Of sizes whose groups are alike, weights are what is left."""
    target = np.zeros(200_000)
    sizes = np.array([len(r) for r in dealt(1e6, target, target[:1], 200, cv=1.0)])
    generator = Streams(1).generator("data", "split", "weights")
    drawn = generator.lognormal(sigma=np.log(2) ** 0.5, size=200)
    assert np.corrcoef(sizes, drawn)[0, 1] > 0.99
    assert abs(sizes.std() / sizes.mean() - drawn.std() / drawn.mean()) < 0.05


@pytest.mark.parametrize(("alpha", "more"), [(0.5, {}), (2.0, {"groups": 7})])
def test_no_row_has_a_say_in_whose_another_one_is(alpha, more):
    draws = np.random.default_rng(3)
    target, known = draws.integers(0, 5, ROWS).astype(float), np.arange(5.0)
    before = owners(dealt(alpha, target, known, **more), ROWS)
    for row in range(0, ROWS, 7):
        for value in (0.0, 4.0, np.nan, 1e300, -3.5):
            there = target.copy()
            there[row] = value
            after = owners(dealt(alpha, there, known, **more), ROWS)
            assert np.delete(after == before, row).all()


def of_sums(folder, value=None):
    draws = np.random.default_rng(1)
    x = draws.normal(size=(ROWS + PUBLIC, 2))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": np.round(x.sum(axis=1), 3)})
    if value is not None:
        frame.loc[3, "y"] = value
    return of_frame(
        folder, frame, features=2, public_records=PUBLIC, preprocessing="eigen-uncentred",
        split={"dirichlet": 1.0, "groups": 4, "cv": 0.5}, held_out=0.1,
    )  # fmt: skip


@pytest.mark.long
def test_a_replaced_record_keeps_its_owner(tmp_path):
    data = of_sums(tmp_path)
    before = data.build(N, None, Streams(1))
    assert sum(map(len, before.rows)) == ROWS - sum(map(len, before.held_out_targets))
    moved = 0
    for row in range(0, ROWS, 40):
        after = data.build(N, None, Streams(1), Swap(row, (row + 7) % ROWS, 50.0))
        assert all(map(np.array_equal, before.rows, after.rows))
        for x, z in zip(before.features, after.features, strict=True):
            moved += int((x != z).any(axis=1).sum())
    assert 0 < moved <= ROWS // 40


@pytest.mark.parametrize("case", CASES["not_dealt"], ids=lambda case: case["said"])
def test_what_cannot_be_dealt_out_is_one_line(case):
    how = {"alpha": 1.0, "target": np.zeros(9)} | case
    said, how["known"] = how.pop("said"), np.arange(case["known"])
    with pytest.raises(DataError, match=said):
        dealt(**how)


def test_a_twin_without_a_number_of_rows_is_dealt_to_nobody():
    twin = LendingData(features=2, public_records=200, split={"dirichlet": 1.0})
    with pytest.raises(DataError, match=r"data.split.rows: given nothing; allowed is a number"):
        twin.build(N, None, Streams(1))


def test_only_public_rows_say_which_groups_there_are(tmp_path):
    """A private target that no public row has, or none at all, moves nobody else."""
    before = of_sums(tmp_path).build(N, None, Streams(1))
    for value in (1e9, np.nan):
        after = of_sums(tmp_path, value).build(N, None, Streams(1))
        pairs = zip(before.rows, after.rows, strict=True)
        others = {row for one, two in pairs for row in {*one.tolist()} ^ {*two.tolist()}} - {3}
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
    assert apart.notes == (*whole.notes, CASES["note_of_held_out"])


def test_a_table_split_by_a_column(tmp_path):
    x = np.arange(20)
    frame = pd.DataFrame({"who": ["a", "b"] * 10, "x": x, "y": x**2})
    spec = of_frame(tmp_path, frame, owner_column="who", public_records=0, held_out=0.25)
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
    np.testing.assert_equal([*few, *apart], [*more[:2], *also[:2]])
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


@pytest.mark.parametrize(("share", "records", "line"), CASES["not_apart"])
def test_a_share_that_cannot_be(share, records, line):
    with pytest.raises(DataError) as caught:
        GaussianData(features=2, held_out=share).build(len(records), tuple(records), Streams(1))
    assert str(caught.value) == line
    owners = {"owners__records": records, "owners__count": len(records)}
    with pytest.raises(SpecError) as refused:  # before any data are read
        scenario(data__held_out=share, **owners, clock__rate=1.0)
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
SORTED = [f"{day[6:]}-{day[3:5]}-{day[:2]}" for day in DAYS]


def in_time(folder, days, **fields):
    table = pd.DataFrame({"who": ["a", "b"] * 20, "day": days, "x": range(40), "y": range(40)})
    table.to_csv(folder / "t.csv", sep=";", index=False)
    given = {"target": "y", "owner_column": "who", "order": "day", "held_out": 0.2, **fields}
    return TableData(path=str(folder / "t.csv"), features=1, public_records=10, **given)


@pytest.mark.parametrize(
    ("days", "columns", "latest"),
    [
        ([f"{j},5" for j in range(40)], {}, [24, 25, 26, 27, 28, 29]),
        (DAYS, {"day": Date(format="%d.%m.%Y")}, [8, 11, 17, 20, 23, 26]),
        (SORTED, {}, [8, 11, 17, 20, 23, 26]),
    ],
    ids=["decimal commas", "declared dates", "dates that sort"],
)
def test_the_latest_rows_are_held_out_however_times_are_written(tmp_path, days, columns, latest):
    data = in_time(tmp_path, days, columns=columns)
    assert sorted(np.concatenate(data.build(2, None, Streams(1)).held_out_rows)) == latest


@pytest.mark.parametrize("cell", ["", "x", "2024-05-17", "inf", "-1"])
def test_a_private_time_moves_no_other_row(tmp_path, cell):
    """One text among numbers put 9 behind 10 for all owners."""
    days = [str(day) for day in range(40)]
    before = in_time(tmp_path, days).build(2, None, Streams(1)).held_out_rows
    changed = in_time(tmp_path, [*days[:6], cell, *days[7:]])
    after = changed.build(2, None, Streams(1)).held_out_rows
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
    sites = {"Клиника": ["Юг", "Север"] * 10, "x": range(20), "y": [1, 2, 4, 8] * 5}
    pd.DataFrame(sites).to_csv(tmp_path / "t.csv", index=False, encoding="cp1251")
    files = dict.fromkeys(["path", "public_path", "own_path"], str(tmp_path / "t.csv"))
    asked = {"owner_column": "Клиника", "public_records": 20, "charset": "cp1251"}
    data = TableData(target="y", features=1, **files, **asked)
    assert data.build(2, None, Streams(1)).owner_names == ("Север", "Юг")
    assert data.own_rows(Streams(1)).columns == ("x",)


# Owners of a column: it is read alone, and says what the whole table says.

WHO = ["B", "A", None, "B", "C", "C", "A", "B", "only public"]
SCENARIO = Path(__file__).with_name("derived.toml").read_text("utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    frame = pd.DataFrame({"x": range(9), "who": WHO, "y": range(9)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    cards = {"V1": range(9), "Amount": range(9), "Class": [0, 1] * 4 + [0], "who": WHO}
    pd.DataFrame(cards).to_parquet(tmp_path / "cards.parquet")
    (tmp_path / "s.toml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path


def changed(folder, owner_column, more=""):
    """Write the scenario with other words in place of its column of owners, and more behind it."""
    file = folder / "changed.toml"
    text = SCENARIO.replace('owner_column = "who"', owner_column) + more
    file.write_text(text, encoding="utf-8")
    return file


COLUMNS = table(__file__, "owners_of_a_column.toml")


@pytest.mark.parametrize(("fields", "names"), COLUMNS["it_is_what_the_whole_table_says"])
def test_it_is_what_the_whole_table_says(folder, fields, names):
    given = {"public_records": 1, "features": 1, **fields}
    kinds = [TableData(path=str(folder / "t.csv"), target="y", **given)]
    if "owner_column" not in fields:
        kinds.append(FraudData(path=str(folder / "cards.parquet"), **given))
    for spec in kinds:
        assert list(spec.owner_names()) == names
        if len(names) > 0:
            assert spec.build(len(names), None, Streams(1)).owner_names == tuple(names)


def test_a_scenario_need_not_count_its_owners(folder):
    scenario, _ = load(folder / "s.toml")
    assert scenario.owners.count == 3
    assert scenario.plain()["owners"]["count"] == 3
    least = changed(folder, 'split = { column = "who", least = 3 }')
    assert load(least)[0].owners.count == 1
    named = changed(folder, "", '[owners]\nrecords = 2\nnames = ["A", "B"]\n')
    assert load(named)[0].owners.count == 2


def test_a_count_that_is_given_is_taken_and_no_table_is_read(folder):
    (folder / "t.csv").unlink()
    assert load(folder / "s.toml", ["owners.count=7"])[0].owners.count == 7
    with pytest.raises(DataError, match=r"s.toml: data.path: given '.*t.csv'; there is no such f"):
        load(folder / "s.toml")


def test_what_is_wrong_besides_is_said_as_ever(folder):
    with pytest.raises(SpecError, match=r"data.features: given 0; allowed is a whole number ≥ 1"):
        load(folder / "s.toml", ["data.features=0"])
    with pytest.raises(SpecError, match="owners: given nothing; this field is required"):
        load(changed(folder, ""))


def test_each_cell_of_a_sweep_counts_its_own(folder):
    """Over files and over columns; a count that is given, or swept, stays as it is."""
    table = pd.read_csv(folder / "t.csv")
    table["half"] = [*["p", "q"] * 4, "p"]
    table.to_csv(folder / "t.csv", index=False)
    table[table["who"] != "C"].to_csv(folder / "few.csv", index=False)
    swept = """
        [sweep]
        "data.path" = ["t.csv", "few.csv"]
        "data.split" = [{ column = "who" }, { column = "half" }, { dirichlet = 9.0 }]
    """
    file = changed(folder, 'drop = ["half", "who"]\nsplit = { column = "who" }', swept)
    base, _ = load(file)

    def counts(swept: Scenario) -> list[int]:
        return [swept.cell(chosen).owners.count for chosen in swept.grid()]

    assert (base.base().owners.counted, base.owners.count) == (None, 3)
    assert counts(base) == [3, 2, 3, 2, 2, 3]  # no table says how many share it: as many as before
    (folder / "again.toml").write_text(dump(base, folder), encoding="utf-8")
    assert counts(load(folder / "again.toml")[0]) == [3, 2, 3, 2, 2, 3]
    given = 'sweep.variant=[{ name = "two", "owners.count" = 2 }]'
    assert counts(load(file, [given])[0]) == [2] * 6
    assert counts(load(file, ["owners.count=3"])[0]) == [3] * 6
    (folder / "few.csv").unlink()
    with pytest.raises(SpecError, match=r"sweep.data.path: given '.*few.csv'; there is no such"):
        load(file)


@pytest.mark.parametrize("asked", ["Rate", "INTEREST RATE", "interest"])
def test_a_column_is_found_by_a_word_of_its_name_in_any_case(asked):
    names = ["Bank name", "Interest rate", "Yearly income"]
    assert nearest(asked, names) == "nearest columns: Interest rate"


# Owners are texts, as written: no other cell decides which rows are whose.

SETS = COLUMNS["sets"]
EACH = pytest.mark.parametrize("names", SETS.values(), ids=SETS)
LINES, LAST = 24, 6


def in_turn(names):
    """Return rows of owners in turn."""
    rows = range(LINES)
    who = [names[row % len(names)] for row in rows]
    x, y = ([str(row % period) for row in rows] for period in (5, 7))
    return pd.DataFrame({"who": who, "x": x, "y": y})


def counted(folder, rows, form, public=LAST):
    """Return the owners of a file, in order, with their records."""
    data = of_frame(folder, rows, f"t.{form}", owner_column="who", public_records=public)
    if form == "parquet":  # without what pandas notes of its own types, as others write it
        bare = pa.Table.from_pandas(rows, preserve_index=False).replace_schema_metadata()
        pq.write_table(bare, data.path)
    names = data.owner_names()
    built = data.build(len(names), None, Streams(1))
    assert built.owner_names == names
    return dict(zip(names, built.records, strict=True))


@EACH
@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
@one_in(2, "public", [0, LAST])
def test_each_text_is_an_owner_in_any_file(tmp_path, names, form, public):
    rows = in_turn(names)
    counts = rows["who"].head(LINES - public).value_counts()
    found = counted(tmp_path, rows, form, public)
    assert list(found.items()) == [(name, int(counts[name])) for name in names]


@EACH
@one_in(3, "form", ["csv", "csv.gz", "parquet"])
def test_an_empty_cell_is_nobodys_and_changes_no_other_owner(tmp_path, names, form):
    before, rows = counted(tmp_path, in_turn(names), form), in_turn(names)
    rows.loc[0, "who"] = None
    assert counted(tmp_path, rows, form) == before | {names[0]: before[names[0]] - 1}


@EACH
@one_in(5, "cell", [None, "x", "1e400", "7.5", "9" * 30])
def test_a_cell_of_another_column_changes_no_owner(tmp_path, names, cell):
    before, rows = counted(tmp_path, in_turn(names), "csv"), in_turn(names)
    rows.loc[1, "x"] = cell
    assert counted(tmp_path, rows, "csv") == before


def test_whole_numbers_of_a_parquet_stay_whole_beside_a_gap(tmp_path):
    ids = [int(name) for name in SETS["long ids"]]
    rows = in_turn(("a",)).assign(who=[ids[row % 3] for row in range(LINES)])
    whole = counted(tmp_path, rows, "parquet")
    assert list(whole) == SETS["long ids"]
    rows["who"] = rows["who"].astype("Int64")
    rows.loc[0, "who"] = pd.NA
    assert counted(tmp_path, rows, "parquet") == whole | {str(ids[0]): whole[str(ids[0])] - 1}
