"""Whatever is written in a cell, an app's client computes the simulator's gradient.

Where the simulator refuses a whole file, the client answers all the same, or refuses without a
word: nothing that one cell decides reaches the server.
"""

from pathlib import Path

import numpy as np
import pytest

from asyncdp_sim.core.errors import DataError
from asyncdp_sim.exports.flower import plan_of
from asyncdp_sim.exports.flower.private_learning import ledger, steps, table
from asyncdp_sim.exports.flower.private_learning import owner as client
from asyncdp_sim.runs.problem import build_dataset
from asyncdp_sim.runs.scored import prepared
from tests.unit.exports.banks import banks, load_banks, north

CELLS = [
    "1" * 140_000, "x" * 140_000, "-" + "9" * 400, "1e400", "-1e400", "nan", " NaN ", "inf", "",
    " ", "1_000", "0x10", "٣", "1,5", ".5", "5.", "+5", "-0", "1E5", "1e-400", "TRUE", "false",
    "12:30", "25:00", "2020-05-17", "2020-13-01", "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "2020-05-17 10:00Z", "5\0", "\0", "\x1f5", "\xa05", "\u2003NA", "\ufeff5", "\x0b5", "\x855",
    "5\u20286", "5\n6", "5\r6", '"', '""', "'5'", "\\5", "\t5", "\U0001f600", "nuLL", "n/a", "None",
    "car", " car", "CAR", "car\n", "1.0", "=1+1", "$5", "5%", "i\u0307nf", "\u017fvm",
    "\x1fNA", "\x85NA", "NA\u2028",
]  # fmt: skip
"""Written as a CSV's writer writes them: quoted where that is needed."""

RAW = ['5"0', '"5"0', ' "5"', '"5" ', "car\\", "'", '5"']
"""Written as they are: stray quotation marks."""

BROKEN = [('"', False), ('"5', False), ("1,2,3,4,5", True), ("\udcff\udcfe", True)]
"""Written as they are, and whether the client answers; the simulator refuses the file."""


def _with_cells(path: Path, column: int, cells: list[str], *, quoted: bool) -> None:
    """Write cells into the column of as many rows, from the first."""
    lines = path.read_bytes().decode("utf-8").split("\r\n")
    for place, cell in enumerate(cells, 1):
        row = lines[place].split(",")
        row[column] = '"' + cell.replace('"', '""') + '"' if quoted else cell
        lines[place] = ",".join(row)
    path.write_bytes("\r\n".join(lines).encode("utf-8", "surrogateescape"))


@pytest.mark.parametrize("column", [1, 2, 3, 4], ids=["income", "purpose", "debt", "rate"])
@pytest.mark.parametrize(("cells", "quoted"), [(CELLS, True), (RAW, False)], ids=["quoted", "raw"])
def test_client_and_simulator_compute_one_gradient(tmp_path, column, cells, quoted):
    scenario = banks(tmp_path)
    plan = plan_of(scenario, 1.0)
    for name in ("north", "loans"):
        _with_cells(tmp_path / f"{name}.csv", column, cells, quoted=quoted)
    features, targets = prepared(scenario, build_dataset(scenario)).trained_on
    x, y, _ = table.read(str(tmp_path / "north.csv"), plan["owners"][0], plan["data"])
    np.testing.assert_allclose(x, features[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(y, targets[0])
    point = np.array([1.0, -0.5, 0.25, 2.0])
    ours = steps.gradient(x, y, point, plan["model"])
    theirs = steps.gradient(features[0], targets[0], point, plan["model"])
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(("cell", "answers"), BROKEN)
def test_what_breaks_the_file_is_read_or_refused_in_one_word(tmp_path, monkeypatch, cell, answers):
    settings = north(tmp_path, monkeypatch)
    _with_cells(Path(settings["table"]), 3, [cell], quoted=False)
    _with_cells(tmp_path / "loans.csv", 3, [cell], quoted=False)
    with pytest.raises(DataError):
        build_dataset(load_banks(tmp_path))
    reply, line = client.respond(settings, np.zeros(4))
    assert ("answer" in reply) is answers
    if not answers:
        assert reply == {"owner": 0, "refused": 0}
        assert "records, the plan 80" in line


LEDGERS = ["", "[]", "[" * 100_000, "null", "{}", '{"owner": ["north"], "plan": 1}', "\udcff\n"]


@pytest.mark.parametrize("head", LEDGERS, ids=range(len(LEDGERS)))
def test_a_ledger_of_anything_is_refused_in_one_word(tmp_path, monkeypatch, head):
    settings = north(tmp_path, monkeypatch)
    Path(settings["ledger"]).write_bytes(head.encode("utf-8", "surrogateescape"))
    reply, line = client.respond(settings, np.zeros(4))
    assert set(reply) == {"owner", "refused"}
    assert ledger.REASONS[reply["refused"]] in ("refused", "wrong owner")
    assert "north refuses" in line


def test_every_setting_that_is_wrong_has_a_reason_of_the_closed_list(tmp_path, monkeypatch):
    settings = north(tmp_path, monkeypatch)

    def reason(**changes: object) -> str:
        reply, line = client.respond({**settings, **changes}, np.zeros(4))
        assert set(reply) <= {"owner", "refused"}
        assert "refuses" in line
        return ledger.REASONS[reply["refused"]]

    assert reason(table=str(tmp_path / "none.csv")) == "no table"
    assert reason(ledger=str(tmp_path / "none.ledger")) == "no ledger"
    assert reason(owner="east") == reason(owner=["north"]) == reason(owner="south") == "wrong owner"
    assert reason(table=str(tmp_path)) == "no table"
    assert reason(ledger=str(tmp_path)) == "no ledger"
    text = (tmp_path / "north.csv").read_text(encoding="utf-8")
    for changed in (text.replace("income", "Income"), text[:-30], "", text.replace("debt", "rate")):
        (tmp_path / "other.csv").write_text(changed, encoding="utf-8")
        assert reason(table=str(tmp_path / "other.csv")) == "refused"
    ledger.PLAN.write_text(ledger.PLAN.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert reason() == "wrong plan"


@pytest.mark.parametrize("point", [
    np.zeros(3), np.zeros((4, 1)), np.full(4, np.nan), np.array(["a"] * 4), np.array([None] * 4),
    np.array(0.0),
])  # fmt: skip
def test_a_query_of_anything_is_refused_in_one_word_and_not_charged(tmp_path, monkeypatch, point):
    settings = north(tmp_path, monkeypatch)
    assert client.respond(settings, point)[0] == {"owner": 0, "refused": 0}
    assert ledger.spent(settings["ledger"], "north") == (0, "")


def test_unreadable_targets_are_reported_to_their_owner_before_budget_is_spent(
    tmp_path, monkeypatch
):
    settings = north(tmp_path, monkeypatch)
    _with_cells(Path(settings["table"]), 4, ["3,5 %"] * 70, quoted=True)
    reply, line = client.respond(settings, None)
    assert reply["left"] == 15
    assert line.endswith(" of 80 records have no target that can be read")
