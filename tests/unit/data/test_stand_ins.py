"""Rows drawn from public ones: no private cell has a say, and moments are those of the public."""

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data.surrogates import PublicKnowledge, PublicRows
from asyncdp_sim.data.tables.table_data import TableData

ORACLE = pytest.mark.oracle("moments of substitute rows drawn from public rows")

PUBLIC = 300


def table(file, *, seed=0, private=900, spoil=None):
    """Write a table of three owners; spoil some of its private cells."""
    g = np.random.default_rng(seed)
    x = g.normal(size=(private + PUBLIC, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).astype(object)
    frame["y"] = x @ [1.0, -2.0, 0.5] + g.normal(size=len(x))
    frame["who"] = ["north", "south", "south"] * (len(x) // 3)
    if spoil is not None:
        frame.loc[range(0, private, 7), spoil] = ["?", None, 1e80][len(spoil) % 3]
    frame.to_csv(file, index=False)
    return str(file)


def built(path, records=None, **fields):
    asked = {"path": path, "target": "y", "features": 3, "public_records": PUBLIC,
             "preprocessing": "pca", "owner_column": "who"} | fields  # fmt: skip
    return TableData(**asked).twin().build(2, records, Streams(5))


@ORACLE
def test_no_private_cell_has_a_say(tmp_path):
    whole = built(table(tmp_path / "t.csv"))
    for spoil in ("a", "b", "y"):
        other = built(table(tmp_path / f"{spoil}.csv", spoil=spoil))
        for mine, theirs in zip(whole.features, other.features, strict=True):
            assert np.array_equal(mine, theirs)
        for mine, theirs in zip(whole.targets, other.targets, strict=True):
            assert np.array_equal(mine, theirs)


def test_owners_keep_their_names_and_numbers_and_rows_are_public(tmp_path):
    found = built(table(tmp_path / "t.csv"))
    assert found.owner_names == ("north", "south")
    assert found.records == (300, 600)
    assert (found.real, found.source) == (False, None)
    public = pd.read_csv(tmp_path / "t.csv").tail(PUBLIC)["y"]
    shifted = set(np.round(public - public.mean(), 9))
    assert set(np.round(np.concatenate(found.targets), 9)) <= shifted


def test_redraws_draw_owners_rows_anew():
    """From a public file in the order of a feature: a row is no neighbour of what stood there."""
    x = np.sort(np.random.default_rng(5).normal(size=(1500, 1)), axis=0)
    like = np.full(len(x), -1)
    known = PublicKnowledge(x, x[:, 0], like, (4500,), (), 0, last=False)
    first, again = (
        PublicRows(redrawn=redrawn).drawn(known, Streams(1)).owners[0][0][:, 0]
        for redrawn in (0, 1)
    )
    assert abs(np.corrcoef(first, again)[0, 1]) < 4.5 / np.sqrt(len(first))


@ORACLE
def test_moments_are_those_of_the_public_rows(tmp_path):
    """A mean of draws with replacement has the public mean; standard error s/√n."""
    path = table(tmp_path / "t.csv", private=60_000)
    found = built(path, (20_000, 40_000), owner_column=None, drop=("who",))
    drawn = np.concatenate(found.targets)
    public = pd.read_csv(tmp_path / "t.csv").tail(PUBLIC)["y"]
    z = drawn.mean() / (public.std(ddof=0) / np.sqrt(len(drawn)))
    assert abs(z) < 4
    ratio = drawn.var() / public.var(ddof=0)
    assert ratio == pytest.approx(1.0, abs=0.03)


def test_without_public_rows_there_is_nothing_to_draw_from(tmp_path):
    path = table(tmp_path / "t.csv")
    assert TableData(path=path, target="y", features=3, public_records=0,
                     preprocessing="none").twin() is None  # fmt: skip
    with pytest.raises(DataError, match=r"data.public_records"):
        built(path, public_records=5000)
