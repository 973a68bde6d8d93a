import numpy as np
import pytest
from loans import REAL, many, needs_real
from psi import final_psi

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.data import LendingData

SPEC = {"features": 2, "public_records": 20}


@pytest.fixture
def path(tmp_path):
    many(100).to_csv(tmp_path / "loan.csv", index=False)
    return str(tmp_path / "loan.csv")


def amounts(path, n_owners=2, records=(30, 40), **fields):
    """Return each owner's loan_amnt − 1000, which is the row's number in the file."""
    spec = LendingData(path=path, preprocessing="none", public_records=20, features=46, **fields)
    data = spec.build(n_owners, records, Streams(1))
    return data, [x[:, data.columns.index("loan_amnt")] - 1000 for x in data.features]


def test_in_order_owners_and_public_rows_are_disjoint(path):
    data, rows = amounts(path)
    assert rows[0].tolist() == list(range(30))
    assert rows[1].tolist() == list(range(30, 70))
    assert data.public_rows_of_owner == (0, 0)
    assert data.notes[-1] == "Unused: 10 of the table's 100 rows, neither owned nor public."
    assert (data.real, data.source.name) == (True, "loan.csv")
    assert data.targets[0].tolist() == many(100)["int_rate"].tolist()[:30]


def test_overlap_lets_owners_reach_the_public_rows(path):
    data, rows = amounts(path, records=(85, 15), public_overlap=True)
    assert rows[1].tolist() == list(range(85, 100))
    assert data.public_rows_of_owner == (5, 15)
    with pytest.raises(DataError, match=r"owners can share 80 rows, and 20 more are public"):
        amounts(path, records=(85, 15))


def test_a_column_splits(path):
    states = many(100)["addr_state"][:80]
    _, rows = amounts(path, n_owners=3, records=None, split={"column": "addr_state"})
    for mine, state in zip(rows, ("AZ", "ME", "NY"), strict=True):
        assert mine.tolist() == np.flatnonzero(states == state).tolist()
    by_state = LendingData(path=path, split={"column": "addr_state"}, **SPEC)
    assert by_state.owner_names() == ("AZ", "ME", "NY")
    published = by_state.model_copy(update={"encoding": "as-published"})
    assert published.owner_names() == ("AZ", "ME", "NY")
    with pytest.raises(DataError, match=r"owners.count: given 2; allowed is 3"):
        amounts(path, n_owners=2, records=None, split={"column": "addr_state"})
    with pytest.raises(DataError, match=r"data.split: given a column 'state'; nearest"):
        amounts(path, n_owners=2, records=None, split={"column": "state"})


def test_features_are_fitted_to_the_last_rows(path):
    data = LendingData(path=path, public_overlap=True, **SPEC).build(1, (100,), Streams(1))
    public = data.features[0][-20:]
    assert np.allclose(public.T @ public, np.eye(2), atol=1e-9)
    assert data.features[0].flags.f_contiguous
    assert not data.features[0].flags.writeable


def test_a_loanstats_file_with_its_notice_and_sums(tmp_path, path):
    notice = "Notes offered by Prospectus (https://www.lendingclub.com/info/prospectus.action)\n"
    plain = many(100).to_csv(index=False)
    (tmp_path / "LoanStats3a.csv").write_text(
        notice + plain + "\n\nTotal amount funded in policy code 1: 460296150\n"
    )
    given = LendingData(path=str(tmp_path / "LoanStats3a.csv"), **SPEC).build(1, (50,), Streams(1))
    expected = LendingData(path=path, **SPEC).build(1, (50,), Streams(1))
    assert np.array_equal(given.features[0], expected.features[0])
    assert given.notes[1] == "1 lines behind the last loan were skipped."


@pytest.fixture(scope="module")
def published():
    """Return the owners' records by n_i on the real table, as published."""
    spec = LendingData(
        path=str(REAL),
        features=10,
        public_records=10_001,
        public_overlap=True,
        encoding="as-published",
    )
    sizes = (1000, 7236, 14_000)
    return {n: spec.build(3, (n,) * 3, Streams(1)) for n in sizes}


@pytest.mark.long
@needs_real
def test_overlap_on_the_real_table(published):
    assert published[14_000].public_rows_of_owner == (0, 0, 42_000 - (42_535 - 10_001))
    assert published[7236].public_rows_of_owner == (0, 0, 0)


@needs_real
@pytest.mark.parametrize(("scalar", "slope"), [(True, 0.3), (False, 0.1)])
@pytest.mark.long
def test_the_cost_of_privacy_is_of_the_published_size(published, scalar, slope):
    """Figures 5 and 6 draw E ψ = 2.1536e9/(ε n_i)², on the full table; this is its first part.

    With 100 runs a slope has a standard error of 0.08 (one scalar draw of noise makes ψ nearly
    χ² with one degree of freedom) or 0.03 (a vector). Over 2000 runs the slopes are -2.05
    and -2.03 along n, -2.00 along ε; the constants 2.9e9 and 2.8e9.
    """
    epsilons, sizes = np.array([0.1, 1.0, 10.0]), np.array(list(published))
    psi = np.array(
        [
            [final_psi(data, e, scalar=scalar, seed=(n, j)).mean() for j, e in enumerate(epsilons)]
            for n, data in published.items()
        ]
    )
    constant = np.exp(np.mean(np.log(psi * epsilons**2 * sizes[:, None] ** 2)))
    assert 1.9e9 < constant < 3.6e9
    assert np.polyfit(np.log(epsilons), np.log(psi[-1]), 1)[0] == pytest.approx(-2, abs=slope)
    assert np.polyfit(np.log(sizes), np.log(psi[:, -1]), 1)[0] == pytest.approx(-2, abs=slope)
