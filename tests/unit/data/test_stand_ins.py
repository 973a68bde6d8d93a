"""Rows in place of private ones: drawn from public rows, or from a twin's law."""

from functools import partial
from importlib import resources

import numpy as np
import pandas as pd
import pytest
from of_frames import of_frame

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import FraudData, HospitalData, LendingData, fraud_data, lending_data
from asyncdp_sim.data.declared_columns import Twin, shipped
from asyncdp_sim.data.surrogates import PublicKnowledge, PublicRows, apart, unlike

# Rows drawn from public ones: no private cell has a say, and moments are those of the public.

ORACLE = pytest.mark.oracle("moments of substitute rows drawn from public rows")

PUBLIC = 300


def table(private=900, spoil=None):
    """Return a table of two owners; spoil some of its private cells."""
    g = np.random.default_rng(0)
    x = g.normal(size=(private + PUBLIC, 3))
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).astype(object)
    frame["y"] = x @ [1.0, -2.0, 0.5] + g.normal(size=len(x))
    frame["who"] = ["north", "south", "south"] * (len(x) // 3)
    if spoil is not None:
        frame.loc[range(0, private, 7), spoil] = ["?", None, 1e80][len(spoil) % 3]
    return frame


def asked(folder, frame, **fields):
    usual = {"features": 3, "public_records": PUBLIC, "preprocessing": "pca", "owner_column": "who"}
    return of_frame(folder, frame, **usual | fields)


def built(folder, frame, records=None, **fields):
    return asked(folder, frame, **fields).twin().build(2, records, Streams(5))


@ORACLE
def test_no_private_cell_has_a_say(tmp_path):
    whole = built(tmp_path, table())
    for spoil in ("a", "b", "y"):
        other = built(tmp_path, table(spoil=spoil))
        mine, theirs = ([*data.features, *data.targets] for data in (whole, other))
        assert all(map(np.array_equal, mine, theirs))


def test_owners_keep_their_names_and_numbers_and_rows_are_public(tmp_path):
    frame = table()
    found = built(tmp_path, frame)
    assert found.owner_names == ("north", "south")
    assert found.records == (300, 600)
    assert (found.real, found.source) == (False, None)
    public = frame.tail(PUBLIC)["y"]
    shifted = set(np.round(public - public.mean(), 9))
    assert set(np.round(np.concatenate(found.targets), 9)) <= shifted


def test_redraws_draw_owners_rows_anew():
    """From a public file in the order of a feature: a row is no neighbour of what stood there."""
    x = np.sort(np.random.default_rng(5).normal(size=(1500, 1)), axis=0)
    like, persons = np.full(len(x), -1), np.arange(1500)
    public = PublicKnowledge(x, x[:, 0], like, (4500,), (), 0, last=False, persons=persons)
    draws = [PublicRows(redrawn=times).drawn(public, Streams(1))[0][0][:, 0] for times in (0, 1)]
    assert abs(np.corrcoef(*draws)[0, 1]) < 4.5 / np.sqrt(len(draws[0]))


@pytest.mark.long
@ORACLE
def test_moments_are_those_of_the_public_rows(tmp_path):
    """A mean of draws with replacement has the public mean; standard error s/√n."""
    frame = table(private=60_000)
    found = built(tmp_path, frame, (20_000, 40_000), owner_column=None, drop=("who",))
    drawn, public = np.concatenate(found.targets), frame.tail(PUBLIC)["y"]
    z = drawn.mean() / (public.std(ddof=0) / np.sqrt(len(drawn)))
    assert abs(z) < 4
    ratio = drawn.var() / public.var(ddof=0)
    assert ratio == pytest.approx(1.0, abs=0.03)


def test_without_public_rows_there_is_nothing_to_draw_from(tmp_path):
    nothing = asked(tmp_path, table(), public_records=0, preprocessing="none", owner_column=None)
    assert nothing.twin() is None
    with pytest.raises(DataError, match=r"data.public_records"):
        built(tmp_path, table(), public_records=5000)


# Owners that public rows show to be unlike: as much as they show beyond chance, and not more.

OWNERS, EACH, KNOWN = 8, 150, 480


def test_shares_leave_owners_as_far_apart_as_they_are():
    """Own ways of variance 2 and noise of 0.5 to 4, drawn 4,000 times: τ² and distances are 2."""
    g = np.random.default_rng(5)
    noise = np.array([0.5, 1.0, 2.0, 4.0, 4.0, 1.0])
    weight = np.full(6, 1 / 6)
    found, far = [], []
    for _ in range(4000):
        seen = np.sqrt(2) * g.standard_normal(6) + np.sqrt(noise) * g.standard_normal(6)
        seen -= weight @ seen
        variance, _, shares = apart(np.square(seen), noise, weight, 1)
        found.append(variance)
        far.append(float(weight @ np.square(shares * seen)))
    # what is cut off at 0 raises the mean a little; one in six is lost to the mean of all
    assert np.mean(found) == pytest.approx(2.0, rel=0.1)
    assert np.mean(far) == pytest.approx(2.0 * 5 / 6, rel=0.1)
    variance, _, shares = apart(np.zeros(6), noise, weight, 1)
    assert (variance, shares.tolist()) == (0.0, [0.0] * 6)


def rows(generator, count, *, drift):
    """Return rows in an order: the effect of one column goes from −drift to drift."""
    x = generator.normal(size=(count, 3))
    slope = np.linspace(-drift, drift, count)
    y = x @ [1.0, -2.0, 0.5] + slope * x[:, 0] + 0.5 * generator.normal(size=count)
    return pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=y)


def known(data):
    """Return what is public about a table."""
    return data.public_table(OWNERS, (EACH,) * OWNERS, Streams(1)).known


def shown(data):
    """Return how unlike the public rows show owners to be."""
    rows = known(data)
    return unlike(rows, np.arange(len(rows.targets)))


def least_squares(x, y):
    return np.linalg.lstsq(x, y, rcond=None)[0]


def truths(data):
    """Return the spread of owners' own least squares in the first column."""
    found = data.build(OWNERS, (EACH,) * OWNERS, Streams(1))
    return float(np.std([*map(least_squares, found.features, found.targets)], axis=0).max())


def of_files(folder, private, public=None, **fields):
    """Return a table with public rows of a file of their own, or else its last."""
    if public is not None:
        public.to_parquet(folder / "p.parquet")
        fields["public_path"] = str(folder / "p.parquet")
    return asked(folder, private, public_records=KNOWN, **{"owner_column": None} | fields)


@pytest.mark.parametrize("drift", [0.0, 1.0])
def test_a_public_file_in_the_order_of_the_table_tells_how_unlike_owners_are(tmp_path, drift):
    g = np.random.default_rng(3)
    private = rows(g, OWNERS * EACH, drift=drift)
    public = rows(g, KNOWN, drift=drift)
    data = of_files(tmp_path, private, public)
    real = truths(data)
    assert truths(data.twin()) == pytest.approx(real, rel=0.25, abs=0.03)
    assert len(shown(data).seen) == OWNERS
    assert (shown(data).variance > 0.2) == (drift > 0)
    shuffled = truths(of_files(tmp_path, private, public.sample(frac=1, random_state=1)).twin())
    assert shuffled < 0.12  # whatever the table is, an order that tells nothing makes nobody unlike
    if drift > 0:
        assert real > 0.3


def test_public_rows_that_name_their_owner_do_too(tmp_path):
    g = np.random.default_rng(4)
    private, public = rows(g, OWNERS * EACH, drift=1.0), rows(g, KNOWN, drift=1.0)
    private["who"] = [f"h{i // EACH}" for i in range(len(private))]
    public["who"] = [f"h{i * OWNERS // KNOWN}" for i in range(KNOWN)]
    mixed = public.sample(frac=1, random_state=2)
    data = of_files(tmp_path, private, mixed, owner_column="who")
    assert truths(data.twin()) == pytest.approx(truths(data), rel=0.25, abs=0.03)
    assert len(shown(data).seen) == OWNERS
    unnamed = of_files(tmp_path, private, mixed.drop(columns="who"), owner_column="who")
    assert truths(unnamed.twin()) < 0.12
    assert len(shown(unnamed).seen) == 0


def test_the_last_rows_of_a_table_are_known_to_be_so_and_may_be_off(tmp_path):
    """Along an order, the last rows have a law of their own; rows drawn from all have all laws."""
    g = np.random.default_rng(6)
    whole = rows(g, OWNERS * EACH + KNOWN, drift=1.0)
    drawn = np.sort(g.permutation(len(whole))[:KNOWN])
    models = []
    for last, files in ((True, [whole]), (False, [whole.drop(index=drawn), whole.loc[drawn]])):
        data = of_files(tmp_path, *files).twin()
        found = data.build(OWNERS, (EACH,) * OWNERS, Streams(1))
        models.append(least_squares(np.concatenate(found.features), np.concatenate(found.targets)))
        assert known(data).last == last
    assert np.abs(models[0] - models[1]).max() > 0.4


@pytest.mark.parametrize("last", [-1.0, 0.1])  # the computed mean of 0.1s is not 0.1
def test_public_rows_of_one_class_are_said_to_be_so(tmp_path, last):
    g = np.random.default_rng(7)
    whole = rows(g, OWNERS * EACH + KNOWN, drift=0.0)
    whole["y"] = np.where(np.arange(len(whole)) < 300, 1.0, last)
    data = of_files(tmp_path, whole, preprocessing="eigen-uncentred").twin()
    found = data.build(OWNERS, (EACH,) * OWNERS, Streams(1))
    assert {float(y) for each in found.targets for y in each} == {last}
    with pytest.raises(DataError) as caught:
        truths(of_files(tmp_path, whole).twin())
    [line] = caught.value.lines()
    assert line.startswith(
        "data.public_records: given 480, all with one target; allowed are public rows with "
        "at least two targets: these are the last rows of the table: if it is sorted (by time, by"
    )
    assert line.endswith("a separate file (data.public_path) would be of all")


# Synthetic twins of tables: rows, owners and public rows, whatever the kind.

CHUNK_ROWS = Twin.chunk_rows
LAWS = {
    "fraud_twin": 5_000,
    "hospital_twin": 15_000,
    "lending_twin": 150_000,
    "lending_drift": 300_000,
}
"""Files that ship with the package, and how many bytes they have at most."""


@pytest.mark.parametrize("name", LAWS)
def test_a_shipped_file_is_small_and_holds_no_rows(name):
    file = resources.files("asyncdp_sim.data").joinpath(f"{name}.json")
    assert len(file.read_bytes()) < LAWS[name]
    if name == "fraud_twin":  # moments alone
        lengths = [len(row) for row in shipped(f"{name}.json")["fraud_covariance"]]
        assert lengths == list(range(1, 29))
        return
    for parts in shipped(f"{name}.json")["encodings"].values():
        laws = [parts] if "columns" in parts else parts
        for stored in laws.values() if isinstance(laws, dict) else laws:
            law = Twin.from_json(stored)
            between = 0 if law.between is None else law.between**2
            assert np.allclose(np.sum(between + law.within**2, axis=1), 1)
            assert len(law.variables) <= 15 or law.between is None
            for v in law.variables:
                assert len(v.values) <= 151
                assert v.cuts is None or len(v.values) == len(v.cuts) + 1
                assert np.all(np.diff(v.values if v.cuts is None else v.cuts) >= 0)
                assert v.cuts is None or np.all(np.diff(v.cuts) > 0)


LOANS = [partial(lending_data.twin_table, encoding) for encoding in ("plain", "as-published")]


@pytest.mark.parametrize("draw", [*LOANS, fraud_data.twin_table])
def test_a_row_is_the_same_however_many_are_drawn(draw):
    few = draw(100, 50, Streams(1))
    many = draw(CHUNK_ROWS + 7, CHUNK_ROWS + 3, Streams(1))
    public = CHUNK_ROWS + 7
    for mine, all_rows in ((few.matrix, many.matrix), (few.target, many.target)):
        assert np.array_equal(mine[:100], all_rows[:100])
        assert np.array_equal(mine[100:], all_rows[public:][:50])
    for other in (many.matrix[CHUNK_ROWS:], many.matrix[public:], draw(7, 0, Streams(2)).matrix):
        assert not np.array_equal(many.matrix[:7], other[:7])


TWINS = [LendingData, HospitalData, FraudData]


@pytest.mark.parametrize("kind", TWINS)
def test_adding_owners_leaves_the_others_and_the_projection_unchanged(kind):
    data = kind(features=3, public_records=500)
    few, more = (data.build(len(n), n, Streams(1)) for n in ((30, 40), (30, 40, 50)))
    for i in range(2):
        assert np.allclose(few.features[i], more.features[i], rtol=1e-12, atol=0)
        assert np.array_equal(few.targets[i], more.targets[i])
    assert (more.real, more.source) == (False, None)
    assert more.notes[0].startswith("Synthetic twin")


BY_HOSPITAL = {"column": "Facility Id"}


@pytest.mark.parametrize(
    ("kind", "split"), [*((kind, "in-order") for kind in TWINS), (HospitalData, BY_HOSPITAL)]
)
def test_public_overlap_is_that_of_a_table_of_the_real_size(kind, split, monkeypatch):
    monkeypatch.setattr(kind, "table_rows", 3000)
    data = kind(features=3, public_records=1000, public_overlap=True, split=split)
    for n, overlap in ((500, (0, 0)), (900, (0, 700)), (1500, (0, 1000))):
        assert data.build(2, (n, 2 * n), Streams(1)).public_rows_of_owner == overlap
