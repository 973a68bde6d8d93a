"""The parts of an exported Flower app, without Flower."""

import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.exports.flower import export_flower, plan_of
from asyncdp_sim.exports.flower.private_learning import ledger, steps, table
from asyncdp_sim.exports.flower.private_learning import owner as client
from asyncdp_sim.exports.flower.private_learning.server import RunServer
from asyncdp_sim.learning.algorithms import AnswerBatch
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.scored import prepared
from asyncdp_sim.scenario import Scenario
from tests.one_in import one_in
from tests.unit.exports.banks import BANKS, banks, north

ROUNDS = {"protocol": {"kind": "rounds"}}
PUSH = {"protocol": {"kind": "push"}}
ALGORITHMS = {
    "async-gossip": {},
    "gossip by push": PUSH,
    "fedasync": {
        "algorithm": {"kind": "fedasync", "step": 0.3, "mixing": 0.5, "weighting": "hinge"},
        **PUSH,
    },
    "fedbuff": {
        "algorithm": {"kind": "fedbuff", "step": 0.3, "server_step": 1.0, "buffer": 2,
                      "weighting": "polynomial"},
        **PUSH,
    },
    "collab-1": {"algorithm": {"kind": "collab-1", "rho": 90.0}, **ROUNDS},
    "collab-2": {"algorithm": {"kind": "collab-2", "step": 0.1}, **ROUNDS},
    "parameter-server": {
        "algorithm": {"kind": "parameter-server", "step": 0.1, "exponent": 0.6}, **ROUNDS
    },
}  # fmt: skip


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    return banks(tmp_path)


@one_in(3, "changes", [
    {},
    {"data": {"preprocessing": "eigen-uncentred"}},
    {"data": {"held_out": 0.2}},
    {"data": {"columns": {"purpose": {"kind": "ordinal", "order": ["study", "car", "house"]}}}},
    {"data": {"columns": {"purpose": {"kind": "classes", "values": ["study", "car", "house"]}}}},
    {"privacy": {"sensitivity": {"kind": "domain", "row_norm": 2.0, "target_max": 3.0}}},
])  # fmt: skip
def test_a_client_reads_what_the_simulation_reads(scenario, tmp_path, changes):
    scenario = scenario.replace(**changes)
    plan = plan_of(scenario, 1.0)
    features, targets = prepared(scenario, build_dataset(scenario)).trained_on
    for owner, x, y in zip(plan["owners"], features, targets, strict=True):
        read = table.read(str(tmp_path / f"{owner['name']}.csv"), owner, plan["data"])
        np.testing.assert_allclose(read[0], x, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(read[1], y)
        assert len(y) == owner["records"]


@one_in(2, "scale", [0.1, 1.0, 1e6, 1e200])
def test_gradients_are_those_of_the_simulation_and_never_move_by_more_than_is_paid_for(
    scenario: Scenario, tmp_path: Path, scale: float
) -> None:
    plan, problem = plan_of(scenario, 1.0), prepare(scenario, build_dataset(scenario))
    point = scale * np.array([1.0, -0.5, 0.25, 2.0])
    for i, owner in enumerate(plan["owners"]):
        x, y = table.read(str(tmp_path / f"{owner['name']}.csv"), owner, plan["data"])
        found = np.array(steps.gradient(x, y, point, plan["model"]))
        expected = problem.task.reply.gradients.gradient(np.array([i]), point[None])[0]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
        other = x.copy()
        other[0], most = 1e40, 2 * plan["privacy"]["bound"] / owner["records"]
        moved = np.array(steps.gradient(other, -y, point, plan["model"])) - found
        one = steps.gradient(np.vstack([other[:1], x[1:]]), y, point, plan["model"])
        assert np.abs(np.array(one) - found).sum() <= most * (1 + 2**-20)
        assert np.isfinite(moved).all()


@one_in(3, "changes", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_steps_are_those_of_the_simulation(scenario: Scenario, changes: dict) -> None:
    scenario = scenario.replace(**changes)
    plan = plan_of(scenario, 1.0)
    theirs = prepare(scenario, build_dataset(scenario)).task.steps
    ours = steps.ServerSteps(plan["algorithm"], {})
    state = theirs.init([Streams(scenario.run.seed).within("replicate", 1)])
    generator, filled = np.random.default_rng(3), 0
    for number in range(12):
        owner, late = number % 3, 0 if number < 3 else number % 4
        turn = AnswerBatch(np.array([owner]), staleness=np.array([late]))
        point, answer = theirs.query(state, turn), generator.normal(size=(1, 4))
        np.testing.assert_allclose(ours.query(owner), point[0], rtol=1e-12)
        ours.take(owner, point[0].copy(), answer[0].copy(), late)
        if getattr(theirs, "apply_at", "") == "current":
            point = theirs.query(state, turn)
        theirs.apply(state, turn, point, answer)
        filled += 1
        if filled == (theirs.answers_per_update or 3):
            theirs.update(state)
            if ours.state["weight"] > 0:
                ours.end_round()
            filled = 0
        ours = steps.ServerSteps(plan["algorithm"], json.loads(json.dumps(ours.state)))
    np.testing.assert_allclose(ours.state["central"], state.central[0], rtol=1e-12)


class World:
    """A link to owners in one process, by a clock that is told: exchanges take a second."""

    def __init__(self, plan: dict, answers: dict[int, int]) -> None:
        self.plan, self.left, self.clock, self.open = plan, answers, 0.0, {}
        self.charged = dict.fromkeys(answers, 0)
        self.draw = np.random.default_rng(5)
        self.lost: set[int] = set()
        self.silent: set[int] = set()

    def nodes(self) -> set[int]:
        return {100 + owner for owner in self.left}

    def send(self, node: int, point: list[float] | None) -> str:
        message = f"m{self.clock}-{node}-{len(self.open)}"
        self.open[message] = (self.clock + 1.0, node - 100, point)
        return message

    def receive(self, ids: list[str]) -> Iterator[tuple[str, dict]]:
        self.clock += 0.1
        assert self.clock < 1000, "the run does not end"
        for message in [m for m in ids if self.open[m][0] <= self.clock]:
            _, owner, point = self.open[message]
            if point is not None and owner in self.silent:
                continue
            del self.open[message]
            reply = {"owner": owner}
            if self.plan["owners"][owner]["mean_gap"] is not None:
                reply["gaps"] = self.draw.exponential(size=8).tolist()
            if point is not None and self.left[owner] == 0:
                yield message, {"refused": "no budget is left"}
                continue
            if point is not None:
                self.charged[owner] += 1
                self.left[owner] -= 1
                reply["answer"] = [0.1] * len(point)
            lost = point is not None and owner in self.lost
            yield message, {} if lost else {**reply, "left": self.left[owner]}

    def now(self) -> float:
        return self.clock


@one_in(7, "changes", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_a_new_run_goes_on_from_the_checkpoint(scenario, tmp_path, changes):
    plan = plan_of(scenario.replace(**changes), 1.0)
    world = World(plan, dict.fromkeys(range(3), 100))
    first = RunServer({**plan, "updates": 7}, world, tmp_path, "digest")
    assert first.run() == "all updates are made"
    second = RunServer(plan, world, tmp_path, "digest")
    assert second.k == 7
    assert second.learner.state["central"] == first.learner.state["central"]
    assert second.run() == "all updates are made"
    assert second.k == 30
    lines = (tmp_path / "exchanges.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "client,sent,received"
    assert {line.split(",")[0] for line in lines[1:]} == set(BANKS)


@pytest.mark.parametrize("changes", [{}, PUSH, ALGORITHMS["collab-1"]])
def test_owners_without_budget_end_the_run_even_if_answers_are_lost(scenario, tmp_path, changes):
    plan = plan_of(scenario.replace(**changes), 1.0)
    world = World(plan, {0: 2, 1: 3, 2: 1})
    world.lost = {0}
    assert RunServer(plan, world, tmp_path, "digest").run() == "no owner has budget left"
    assert world.charged == {0: 2, 1: 3, 2: 1}


@pytest.mark.parametrize("changes", [{}, PUSH, ALGORITHMS["collab-1"]])
def test_an_owner_that_is_silent_is_named_and_the_others_go_on(scenario, tmp_path, changes, caplog):
    plan = {**plan_of(scenario.replace(**changes), 1.0), "updates": 6, "patience": 5.0}
    world = World(plan, dict.fromkeys(range(3), 100))
    world.silent = {1}
    assert RunServer(plan, world, tmp_path, "digest").run() == "all updates are made"
    [text], name = set(caplog.messages), plan["owners"][1]["name"]
    assert text.startswith(f"no answer from {name}: if this goes on, its owner ")
    rows = (tmp_path / "exchanges.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert {row.split(",")[0] for row in rows if row.endswith(",")} == {name}


def test_a_tick_just_before_a_reply_finds_the_server_busy(scenario, tmp_path):
    plan = {**plan_of(scenario, 1.0), "updates": 2}
    world = World(plan, dict.fromkeys(range(3), 9))
    gaps = iter([[1.0], [1.95, 9.0], [99.0], [99.0], [99.0]])
    world.draw = SimpleNamespace(exponential=lambda **_: np.array(next(gaps)))
    assert RunServer(plan, world, tmp_path, "digest").run() == "all updates are made"
    sent = (tmp_path / "exchanges.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert [line.split(",")[0] for line in sent] == ["north", "south"]
    assert 12 < float(sent[1].split(",")[1]) < 12.5


@pytest.fixture
def charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    plan = tmp_path / "plan.json"
    plan.write_text("{}", encoding="utf-8")
    monkeypatch.setattr(ledger, "PLAN", plan)
    path = str(tmp_path / "north.ledger")
    ledger.create(path, "north")
    return path


def test_a_ledger_refuses_when_it_is_spent(charged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        ledger.charge(charged, "north", 3)
    monkeypatch.setattr(time, "time", lambda: 0.0)  # a clock that is set back gives no budget
    with pytest.raises(ledger.RefusedError, match="no budget is left"):
        ledger.charge(charged, "north", 3)
    assert ledger.spent(charged, "north") == (3, "")


def test_whatever_a_crash_leaves_in_a_ledger_counts(charged: str) -> None:
    ledger.charge(charged, "north", 3)
    with Path(charged).open("ab") as file:
        file.write(b"\0")
    ledger.charge(charged, "north", 3)
    with pytest.raises(ledger.RefusedError):
        ledger.charge(charged, "north", 3)
    assert ledger.spent(charged, "north") == (3, "")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    without_noise = SimpleNamespace(OwnerNoise=lambda *_: SimpleNamespace(answer=list))
    monkeypatch.setitem(sys.modules, f"{client.__package__}.noise", without_noise)
    return north(tmp_path, monkeypatch)


def test_a_ledger_is_charged_on_disk_before_an_answer_leaves(settings, monkeypatch):
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "answer" not in client.respond(settings, [0.0] * 4)[0]
    assert ledger.spent(settings["ledger"], "north")[0] == 1  # written, perhaps not synced


def test_an_answer_is_charged_before_it_is_given(settings, monkeypatch):
    on_disk, fsync = [], os.fsync

    def watched(descriptor: int) -> None:
        fsync(descriptor)
        on_disk.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(os, "fsync", watched)
    before = Path(settings["ledger"]).stat().st_size
    assert len(client.respond(settings, [0.0] * 4)[0]["answer"]) == 4
    assert on_disk == [before + 1]


def test_two_processes_of_one_client_share_a_budget(charged: str) -> None:
    fork = multiprocessing.get_context("fork")  # no module is imported anew, as by a client
    workers = [fork.Process(target=_spend, args=(charged,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert ledger.spent(charged, "north")[0] == 10


def _spend(path: str) -> None:
    for _ in range(8):
        try:
            ledger.charge(path, "north", 10)
        except ledger.RefusedError:
            return


def test_a_copied_ledger_warns_and_another_owners_or_plans_is_refused(charged, tmp_path):
    copy = tmp_path / "copy.ledger"
    copy.write_bytes(Path(charged).read_bytes())
    assert "copied or moved" in ledger.spent(str(copy), "north")[1]
    with pytest.raises(ledger.RefusedError, match="another owner or plan"):
        ledger.charge(charged, "south", 3)
    ledger.PLAN.write_text("[]", encoding="utf-8")
    with pytest.raises(ledger.RefusedError, match="another owner or plan"):
        ledger.charge(charged, "north", 3)
    with pytest.raises(FileNotFoundError):
        ledger.charge(str(tmp_path / "none"), "north", 3)


@pytest.mark.parametrize(("changes", "key"), [
    ({"protocol": {"kind": "broadcast", "interval": 1.0}}, "protocol.kind"),
    ({"privacy": {"mechanism": "none"}}, "privacy.mechanism"),
    ({"clock": {"kind": "deterministic"}}, "clock.kind"),
    ({"data": {"columns": {"debt": "money", "income": {"kind": "date"}}}}, "columns.*\n.*columns"),
])  # fmt: skip
def test_what_the_app_cannot_carry_out_is_refused_by_name(scenario, tmp_path, changes, key):
    with pytest.raises(SpecError, match=key):
        export_flower(scenario.replace(**changes), tmp_path / "app")
    assert not (tmp_path / "app").exists()


def test_an_app_is_whole_and_short(scenario: Scenario, tmp_path: Path) -> None:
    export_flower(scenario, tmp_path / "app", unit=2.0)
    files = [path for path in (tmp_path / "app").rglob("*") if path.suffix in (".py", ".toml")]
    text = "".join(path.read_text(encoding="utf-8") for path in files)
    assert "import asyncdp_sim" not in text
    assert "from asyncdp_sim" not in text
    assert (tmp_path / "app/private_learning/plan.json").exists()
