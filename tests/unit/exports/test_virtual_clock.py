"""An app's own code, by a virtual clock and with hostile cells, beside simulated runs."""

import json
import os
import sys
import warnings
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import ks_2samp

from asyncdp_sim import run
from asyncdp_sim.core.errors import DataError
from asyncdp_sim.exports.flower import plan_of
from asyncdp_sim.exports.flower.private_learning import ledger, server, steps, table
from asyncdp_sim.exports.flower.private_learning import owner as client
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.scored import prepared
from asyncdp_sim.scenario import Scenario
from tests.one_in import one_in
from tests.unit.exports.banks import banks, load_banks, north
from tests.unit.exports.test_flower import ALGORITHMS
from tests.unit.exports.world import World

# Runs of an app's own code by a virtual clock, beside simulated runs of the same scenario.
#
# Owners read their tables, clip, charge ledgers on disk and refuse; the server asks, takes steps
# and logs. Flower, OpenDP, the wait, the syncing of disks and checkpoints are left out: an exchange
# takes an exponential time, and noise is NumPy's at the simulated scale.

RUNS = 200
EXCHANGE = 0.5
"""Mean seconds of an exchange; a time unit has one second."""
QUEUE = {"protocol": {"kind": "request", "busy": "queue"}}
BUFFERED = {**ALGORITHMS["fedbuff"], "run": {"updates": 20}}  # 40 answers, of 45
CASES = {
    **ALGORITHMS,
    "async-gossip in a queue": QUEUE,
    "fedasync by request": {**ALGORITHMS["fedasync"], "protocol": {"kind": "request"}},
    "fedbuff": BUFFERED,
    "fedbuff by request": {**BUFFERED, "protocol": {"kind": "request"}},
}


class _Noise:
    """Laplace noise of the simulated scale, by one generator of all owners."""

    draw = np.random.default_rng(11)

    def __init__(self, _: dict, owner: dict, size: int) -> None:
        self.scale, self.size = owner["simulated_scale"], size

    def answer(self, gradient: list[float]) -> list[float]:
        return (gradient + self.draw.laplace(scale=self.scale, size=self.size)).tolist()


def app_runs(scenario: Scenario, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """Return the answers of each owner, the seconds and the models of many runs, (runs, …) each."""
    plan = plan_of(scenario, 1.0)
    names = [each["name"] for each in plan["owners"]]
    monkeypatch.setattr(ledger, "PLAN", folder / "plan.json")
    ledger.PLAN.write_text(json.dumps(plan), encoding="utf-8")
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(server, "_write", lambda *_: None)
    monkeypatch.setattr(_Noise, "draw", np.random.default_rng(11))
    monkeypatch.setitem(
        sys.modules, f"{client.__package__}.noise", SimpleNamespace(OwnerNoise=_Noise)
    )
    ticks = Random(12)
    monkeypatch.setattr(client, "SystemRandom", lambda: ticks)
    digest = ledger.digest()
    monkeypatch.setattr(ledger, "digest", lambda: digest)
    exchange = np.random.default_rng(13)
    for name in names:
        ledger.create(str(folder / f"{name}.ledger"), name)
    owners = [
        client.OwnerClient(plan, each, {"table": str(folder / f"{each['name']}.csv"),
                                  "ledger": str(folder / f"{each['name']}.ledger")})
        for each in plan["owners"]
    ]  # fmt: skip
    answers, seconds, models = [], [], []
    for number in range(RUNS):
        for name in names:
            (folder / f"{name}.ledger").unlink()
            ledger.create(str(folder / f"{name}.ledger"), name)
        nodes = {
            100 + place: lambda point, place=place: {"owner": place} | owners[place].reply(point)
            for place in range(len(names))
        }
        world = World(nodes, lambda: exchange.exponential(EXCHANGE))
        place = folder / f"run {number}"
        place.mkdir()
        strategy = server.AsyncStrategy(plan, world, place, digest, 600.0)
        assert strategy.start()
        charged = [ledger.spent(str(folder / f"{name}.ledger"), name)[0] for name in names]
        taken = [party.answers for party in strategy.parties]
        most = [each["answers"] for each in plan["owners"]]
        assert np.all(np.less_equal(taken, charged) & np.less_equal(charged, most))
        answers.append(charged)
        seconds.append(world.now() - strategy.begun)
        models.append(strategy.learner.state["central"])
    return {"plan": plan, "answers": np.array(answers), "seconds": np.array(seconds),
            "models": np.array(models)}  # fmt: skip


def compared(scenario: Scenario, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict:
    """Return by figure (runs,) of the app, and (runs,) simulated."""
    app = app_runs(scenario, folder, monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = run(scenario.replace(run={"replicates": RUNS, "seed": 5}))
    owners = result.owners.set_index(["replicate", "owner"])
    figures = {}
    for place, each in enumerate(app["plan"]["owners"]):
        simulated = owners.xs(place + 1, level="owner")
        mine = app["answers"][:, place]
        figures[f"answers {each['name']}"] = mine, simulated.answers_released.to_numpy()
        spent = mine * each["epsilon"] / each["answers"], simulated.epsilon_spent.to_numpy()
        figures[f"ε {each['name']}"] = spent[0].round(9), spent[1].round(9)
    last = result.curve.groupby("replicate").tail(1)
    figures["time"] = app["seconds"], last.time.to_numpy()
    least = last.fitness.iloc[0] / (1 + last.relative_fitness.iloc[0])
    fitness = prepare(scenario, build_dataset(scenario)).task.objective.fitness(app["models"])
    figures["ψ"] = fitness / least - 1, last.relative_fitness.to_numpy()
    return figures


@one_in(len(CASES), "changes", CASES.values(), ids=CASES.keys())
def test_runs_of_the_app_are_those_of_the_simulation(tmp_path, monkeypatch, changes):
    scenario = banks(tmp_path).replace(**changes)
    scenario = scenario.replace(compute={"kind": "exponential", "mean": EXCHANGE})
    for name, (ours, theirs) in compared(scenario, tmp_path, monkeypatch).items():
        spread = np.hypot(ours.std(), theirs.std()) / np.sqrt(RUNS)
        assert abs(ours.mean() - theirs.mean()) <= 4 * spread + 1e-9, (
            name,
            ours.mean(),
            theirs.mean(),
        )
        assert ks_2samp(ours, theirs).pvalue > 1e-4, name


# Whatever is written in a cell, an app's client computes the simulator's gradient.
#
# Where the simulator refuses a whole file, the client answers all the same, or refuses without a
# word: nothing that one cell decides reaches the server.

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
