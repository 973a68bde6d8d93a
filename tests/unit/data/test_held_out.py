"""Rows kept apart: which, how many, and that nothing else moves."""

from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError, SpecError
from asyncdp_sim.core.specification import parse
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import DataSpec, FraudData, GaussianData, LendingData, TableData
from asyncdp_sim.data.tables.held_out import keep_apart, trained_on
from tests.reproducibility.runs import scenario


def rows(features, targets):
    """Return an owner's rows as a sorted list of tuples."""
    return sorted(map(tuple, np.column_stack([features, targets]).tolist()))


def parts(data, owner):
    held = data.held_out_features[owner], data.held_out_targets[owner]
    return rows(data.features[owner], data.targets[owner]), rows(*held)


GAUSSIAN = GaussianData(features=3, condition=4.0)
LENDING = LendingData(features=3, public_records=60)
FRAUD = FraudData(features=3, public_records=300, preprocessing="pca", split="shuffled")


@pytest.mark.parametrize("spec", [GAUSSIAN, LENDING, FRAUD], ids=["gaussian", "lending", "fraud"])
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


def test_a_table_split_by_a_column(tmp_path: Path):
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
        (0.01, (30, 4), "data.held_out: given 0.01, which is less than half a row of every owner; "
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


@pytest.mark.parametrize(("share", "allowed"), [(1.0, "< 1"), (-0.1, "≥ 0")])
def test_domain(share, allowed):
    with pytest.raises(SpecError) as caught:
        parse(DataSpec, {"kind": "gaussian", "features": 2, "held_out": share})
    assert caught.value.lines() == [f"held_out: given {share}; allowed is a number {allowed}"]
