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
from asyncdp_sim.exports import plan_of
from asyncdp_sim.exports.private_learning import ledger, server, steps, table
from asyncdp_sim.exports.private_learning import owner as client
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.scored import prepared
from tests.one_in import one_in
from tests.tables import table as table_of_cases
from tests.unit.exports.banks import banks, load_banks
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
TABLES = table_of_cases(__file__, "clock.toml")
CASES = {**ALGORITHMS, **TABLES["others"]}


class _Noise:
    """Laplace noise of the simulated scale, by one generator of all owners."""

    draw = np.random.default_rng(11)

    def __init__(self, _: dict, owner: dict, size: int) -> None:
        self.scale, self.size = owner["simulated_scale"], size

    def answer(self, gradient: list[float]) -> list[float]:
        return (gradient + self.draw.laplace(scale=self.scale, size=self.size)).tolist()


FILES = {"table": "csv", "ledger": "ledger"}


def app_runs(scenario, folder, monkeypatch):
    """Return the plan, each owner's answers, the seconds and the models of runs, (runs, …) each."""
    plan = plan_of(scenario, 1.0)
    names = [each["name"] for each in plan["owners"]]
    monkeypatch.setattr(ledger, "PLAN", folder / "plan.json")
    ledger.PLAN.write_text(json.dumps(plan), encoding="utf-8")
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(server, "_write", lambda *_: None)
    monkeypatch.setattr(_Noise, "draw", np.random.default_rng(11))
    noise = SimpleNamespace(OwnerNoise=_Noise)
    monkeypatch.setitem(sys.modules, f"{client.__package__}.noise", noise)
    ticks = Random(12)
    monkeypatch.setattr(client, "SystemRandom", lambda: ticks)
    digest = ledger.digest()
    monkeypatch.setattr(ledger, "digest", lambda: digest)
    exchange = np.random.default_rng(13)
    owners = []
    for name, each in zip(names, plan["owners"], strict=True):
        ledger.create(str(folder / f"{name}.ledger"), name)
        files = {kind: str(folder / f"{name}.{end}") for kind, end in FILES.items()}
        owners.append(client.OwnerClient(plan, each, files))
    nodes = {
        100 + place: lambda point, place=place: {"owner": place} | owners[place].reply(point)
        for place in range(len(names))
    }
    answers, seconds, models = [], [], []
    for number in range(RUNS):
        for name in names:
            (folder / f"{name}.ledger").unlink()
            ledger.create(str(folder / f"{name}.ledger"), name)
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
    return plan, np.array(answers), np.array(seconds), np.array(models)


def compared(scenario, folder, monkeypatch):
    """Return by figure (runs,) of the app, and (runs,) simulated."""
    plan, answers, seconds, models = app_runs(scenario, folder, monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = run(scenario.replace(run={"replicates": RUNS, "seed": 5}))
    owners = result.owners.set_index(["replicate", "owner"])
    figures = {}
    for place, each in enumerate(plan["owners"]):
        simulated = owners.xs(place + 1, level="owner")
        mine = answers[:, place]
        figures[f"answers {each['name']}"] = mine, simulated.answers_released.to_numpy()
        spent = mine * each["epsilon"] / each["answers"], simulated.epsilon_spent.to_numpy()
        figures[f"ε {each['name']}"] = spent[0].round(9), spent[1].round(9)
    last = result.curve.groupby("replicate").tail(1)
    figures["time"] = seconds, last.time.to_numpy()
    least = last.fitness.iloc[0] / (1 + last.relative_fitness.iloc[0])
    fitness = prepare(scenario, build_dataset(scenario)).task.objective.fitness(models)
    figures["ψ"] = fitness / least - 1, last.relative_fitness.to_numpy()
    return figures


@one_in(len(CASES), "changes", CASES.values(), ids=CASES.keys())
def test_runs_of_the_app_are_those_of_the_simulation(tmp_path, monkeypatch, changes):
    scenario = banks(tmp_path).replace(**changes)
    scenario = scenario.replace(compute={"kind": "exponential", "mean": EXCHANGE})
    for name, (ours, theirs) in compared(scenario, tmp_path, monkeypatch).items():
        spread = np.hypot(ours.std(), theirs.std()) / np.sqrt(RUNS)
        assert ours.mean() == pytest.approx(theirs.mean(), rel=0, abs=4 * spread + 1e-9), name
        assert ks_2samp(ours, theirs).pvalue > 1e-4, name


# Whatever is written in a cell, an app's client computes the simulator's gradient.
#
# Where the simulator refuses a whole file, the client answers all the same, or refuses without a
# word: nothing that one cell decides reaches the server.

LONG = ["1" * 140_000, "x" * 140_000, "-" + "9" * 400]
CELLS = [*LONG, *TABLES["cells"]]
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
def test_what_breaks_the_file_is_read_or_refused_in_one_word(settings, tmp_path, cell, answers):
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
def test_a_ledger_of_anything_is_refused_in_one_word(settings, head):
    Path(settings["ledger"]).write_bytes(head.encode("utf-8", "surrogateescape"))
    reply, line = client.respond(settings, np.zeros(4))
    assert set(reply) == {"owner", "refused"}
    assert ledger.REASONS[reply["refused"]] in ("refused", "wrong owner")
    assert "north refuses" in line


def test_every_setting_that_is_wrong_has_a_reason_of_the_closed_list(settings, tmp_path):

    def reason(**changes: object) -> str:
        reply, line = client.respond({**settings, **changes}, np.zeros(4))
        assert set(reply) <= {"owner", "refused"}
        assert "refuses" in line
        return ledger.REASONS[reply["refused"]]

    for path in (tmp_path, tmp_path / "none"):
        assert (reason(table=str(path)), reason(ledger=str(path))) == ("no table", "no ledger")
    assert reason(owner="east") == reason(owner=["north"]) == reason(owner="south") == "wrong owner"
    text = (tmp_path / "north.csv").read_text(encoding="utf-8")
    for changed in (text.replace("income", "Income"), text[:-30], "", text.replace("debt", "rate")):
        (tmp_path / "other.csv").write_text(changed, encoding="utf-8")
        assert reason(table=str(tmp_path / "other.csv")) == "refused"
    ledger.PLAN.write_text(ledger.PLAN.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert reason() == "wrong plan"


OTHERS = [np.array([value] * 4) for value in (np.nan, "a", None)]


@pytest.mark.parametrize("point", [np.zeros(3), np.zeros((4, 1)), np.array(0.0), *OTHERS])
def test_a_query_of_anything_is_refused_in_one_word_and_not_charged(settings, point):
    assert client.respond(settings, point)[0] == {"owner": 0, "refused": 0}
    assert ledger.spent(settings["ledger"], "north") == (0, "")


def test_unreadable_targets_are_reported_to_their_owner_before_budget_is_spent(settings):
    _with_cells(Path(settings["table"]), 4, ["3,5 %"] * 70, quoted=True)
    reply, line = client.respond(settings, None)
    assert reply["left"] == 15
    assert line.endswith(" of 80 records have no target that can be read")
