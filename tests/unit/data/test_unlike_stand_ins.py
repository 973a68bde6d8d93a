"""Owners that public rows show to be unlike: as much as they show beyond chance, and not more."""

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data.surrogates import apart
from asyncdp_sim.data.tables.table_data import TableData

OWNERS, EACH, PUBLIC = 8, 150, 480


def test_shares_leave_owners_as_far_apart_as_they_are() -> None:
    """Own ways of variance 2 and noise of 0.5 to 4, drawn 4,000 times: τ² and distances are 2."""
    g = np.random.default_rng(5)
    noise = np.array([0.5, 1.0, 2.0, 4.0, 4.0, 1.0])
    weight = np.full(6, 1 / 6)
    found, far, halves = [], [], []
    for _ in range(4000):
        seen = np.sqrt(2) * g.standard_normal(6) + np.sqrt(noise) * g.standard_normal(6)
        seen -= weight @ seen
        told = apart(np.square(seen), noise, weight, 1)
        found.append(told.variance)
        far.append(float(weight @ np.square(told.shares * seen)))
        halves.append(told.half_width)
    # what is cut off at 0 raises the mean a little; one in six is lost to the mean of all
    assert np.mean(found) == pytest.approx(2.0, rel=0.1)
    assert np.mean(far) == pytest.approx(2.0 * 5 / 6, rel=0.1)
    still = apart(np.zeros(6), noise, weight, 1)
    assert (still.variance, still.shares.tolist()) == (0.0, [0.0] * 6)


def rows(generator: np.random.Generator, count: int, *, drift: float) -> pd.DataFrame:
    """Rows in an order: the effect of one column goes from −drift to drift."""
    x = generator.normal(size=(count, 3))
    slope = np.linspace(-drift, drift, count)
    y = x @ [1.0, -2.0, 0.5] + slope * x[:, 0] + 0.5 * generator.normal(size=count)
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "y": y})


def truths(data: TableData, seed: int = 1) -> tuple[float, tuple[str, ...]]:
    """Return the spread of owners' own least squares in the first column, and doubts."""
    found = data.build(OWNERS, (EACH,) * OWNERS, Streams(seed))
    own = [np.linalg.lstsq(x, y, rcond=None)[0]
           for x, y in zip(found.features, found.targets, strict=True)]  # fmt: skip
    return float(np.std(np.array(own), axis=0).max()), found.doubts


def table(folder, private: pd.DataFrame, public: pd.DataFrame, **fields) -> TableData:
    folder.mkdir(exist_ok=True)
    private.to_parquet(folder / "t.parquet")
    public.to_parquet(folder / "p.parquet")
    asked = {"path": str(folder / "t.parquet"), "public_path": str(folder / "p.parquet"),
             "target": "y", "features": 3, "public_records": len(public),
             "preprocessing": "pca"} | fields  # fmt: skip
    return TableData(**asked)


@pytest.mark.parametrize("drift", [0.0, 1.0])
def test_a_public_file_in_the_order_of_the_table_tells_how_unlike_owners_are(tmp_path, drift):
    g = np.random.default_rng(3)
    private = rows(g, OWNERS * EACH, drift=drift)
    public = rows(g, PUBLIC, drift=drift)
    data = table(tmp_path, private, public)
    real, _ = truths(data)
    stood, doubts = truths(data.twin())
    assert stood == pytest.approx(real, rel=0.25, abs=0.03)
    assert "from blocks of the public file" in doubts[0]
    told = float(doubts[0].split("τ² = ")[1].split(" ")[0])
    assert (told > 0.2) == (drift > 0)
    assert doubts[1].startswith("if the public file is in another order than the table")
    shuffled, _ = truths(table(tmp_path, private, public.sample(frac=1, random_state=1)).twin())
    assert shuffled < 0.12  # whatever the table is, an order that tells nothing makes nobody unlike
    if drift > 0:
        assert real > 0.3


def test_public_rows_that_name_their_owner_do_too(tmp_path):
    g = np.random.default_rng(4)
    private, public = rows(g, OWNERS * EACH, drift=1.0), rows(g, PUBLIC, drift=1.0)
    private["who"] = [f"h{i // EACH}" for i in range(len(private))]
    public["who"] = [f"h{i * OWNERS // PUBLIC}" for i in range(PUBLIC)]
    mixed = public.sample(frac=1, random_state=2)
    data = table(tmp_path, private, mixed, owner_column="who")
    real, _ = truths(data)
    stood, doubts = truths(data.twin())
    assert stood == pytest.approx(real, rel=0.25, abs=0.03)
    assert "from the public rows of each owner" in doubts[0]
    unnamed, doubts = truths(table(tmp_path, private, mixed.drop(columns="who"),
                                   owner_column="who").twin())  # fmt: skip
    assert unnamed < 0.12
    assert doubts[0].startswith("owners are assumed to be alike, because no public data")


def test_the_last_rows_of_a_table_are_said_to_be_so_and_why_that_is_off(tmp_path):
    """Along an order, the last rows have a law of their own; rows drawn from all have all laws."""
    g = np.random.default_rng(6)
    whole = rows(g, OWNERS * EACH + PUBLIC, drift=1.0)
    last = table(tmp_path / "last", whole, whole, public_path=None, public_records=PUBLIC).twin()
    drawn = np.sort(g.permutation(len(whole))[:PUBLIC])
    apart_ = table(tmp_path / "apart", whole.drop(index=drawn), whole.loc[drawn]).twin()
    said = "the public rows are the last rows of the table"
    together = {}
    for data in (last, apart_):
        found = data.build(OWNERS, (EACH,) * OWNERS, Streams(1))
        together[data] = np.linalg.lstsq(
            np.concatenate(found.features), np.concatenate(found.targets), rcond=None
        )[0]
        assert any(each.startswith(said) for each in found.doubts) == (data is last)
        assert not any("only one target value" in each for each in found.doubts)
    assert np.abs(together[last] - together[apart_]).max() > 0.4


def test_public_rows_of_one_class_are_said_to_be_so(tmp_path):
    g = np.random.default_rng(7)
    whole = rows(g, OWNERS * EACH + PUBLIC, drift=0.0)
    whole["y"] = np.where(np.arange(len(whole)) < 300, 1.0, -1.0)
    data = table(tmp_path, whole, whole, public_path=None, public_records=PUBLIC,
                 preprocessing="eigen-uncentred").twin()  # fmt: skip
    found = data.build(OWNERS, (EACH,) * OWNERS, Streams(1))
    assert {float(y) for each in found.targets for y in each} == {-1.0}
    assert "the 480 public rows have only one target value" in " ".join(found.doubts)

    centred = table(tmp_path, whole, whole, public_path=None, public_records=PUBLIC,
                    preprocessing="pca")  # fmt: skip
    with pytest.raises(DataError) as caught:
        truths(centred.twin())
    [line] = caught.value.lines()
    assert line.startswith(
        "data.public_records: given 480, all with one target; allowed are public rows with "
        "at least two targets: these are the last rows of the table: if it is sorted (by time, by"
    )
    assert line.endswith("a separate file (data.public_path) would be of all")
    drawn = whole.sample(PUBLIC, random_state=1).sort_index()  # of all classes: nothing to say
    mixed = table(tmp_path / "drawn", whole.drop(index=drawn.index), drawn).twin()
    assert not any("one target" in doubt for doubt in truths(mixed)[1])
