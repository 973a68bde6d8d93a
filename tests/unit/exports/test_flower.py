"""The parts of an exported Flower app, without Flower."""

import io
import json
import multiprocessing
import os
import re
import time
import tokenize
from contextlib import suppress
from functools import partial
from itertools import chain, cycle, islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.core.errors import SpecError
from asyncdp_sim.core.streams import Streams
from asyncdp_sim.exports import export_flower, plan_of
from asyncdp_sim.exports.private_learning import ledger, steps, table
from asyncdp_sim.exports.private_learning import owner as client
from asyncdp_sim.exports.private_learning.server import AsyncStrategy
from asyncdp_sim.learning.algorithms import AnswerBatch
from asyncdp_sim.privacy.mechanisms import LaplaceNoise
from asyncdp_sim.runs.problem import build_dataset, prepare
from asyncdp_sim.runs.scored import prepared
from asyncdp_sim.scenario import Scenario
from tests.one_in import one_in
from tests.tables import composed
from tests.tables import table as table_of_cases
from tests.unit.exports.banks import BANKS, banks
from tests.unit.exports.world import FakeOwner, World, fake_world

PUSH = {"protocol": {"kind": "push"}}
TABLE = table_of_cases(__file__, "flower.toml")
ALGORITHMS = TABLE["algorithms"]


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    return banks(tmp_path)


@one_in(3, "changes", TABLE["read"])
def test_a_client_reads_what_the_simulation_reads(scenario, tmp_path, changes):
    scenario = scenario.replace(**changes).base()
    plan = plan_of(scenario, 1.0)
    features, targets = prepared(scenario, build_dataset(scenario)).trained_on
    for owner, x, y in zip(plan["owners"], features, targets, strict=True):
        read = table.read(str(tmp_path / f"{owner['name']}.csv"), owner, plan["data"])
        np.testing.assert_allclose(read[0], x, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(read[1], y)
        assert len(y) == owner["records"]


@one_in(4, ("names", "spellings"), TABLE["labels"])
def test_a_client_reads_the_labels_that_the_simulation_reads(scenario, tmp_path, names, spellings):
    cells = {bank: [*islice(cycle(spellings), n)] for bank, n in BANKS.items()}
    cells["loans"] = [*chain(*cells.values()), *islice(cycle(names), 100)]  # the last are public
    for file, texts in cells.items():
        frame = pd.read_csv(tmp_path / f"{file}.csv", dtype=str, keep_default_na=False)
        frame.assign(rate=texts).to_csv(tmp_path / f"{file}.csv", index=False)
    model = {"kind": "logistic", "regularisation": 0.01, "intercept": True}
    declared = {"rate": {"kind": "classes", "values": [*names]}} if "Yes" in names else {}
    scenario = scenario.replace(model=model, data={"columns": declared})
    plan = plan_of(scenario, 1.0)
    _, targets = prepared(scenario, build_dataset(scenario)).trained_on
    for owner, y in zip(plan["owners"], targets, strict=True):
        found = table.read(str(tmp_path / f"{owner['name']}.csv"), owner, plan["data"])[1]
        np.testing.assert_array_equal(found, y)


def test_a_client_reads_a_charset_that_is_declared_with_its_byte_order_mark(scenario, tmp_path):
    plan = plan_of(scenario.replace(data={"charset": "utf-8-sig"}), 1.0)
    assert plan["data"]["charset"] == "utf-8-sig"
    owner = plan["owners"][0]
    _, y, _ = table.read(str(tmp_path / f"{owner['name']}.csv"), owner, plan["data"])
    assert len(y) == owner["records"]


@one_in(2, "scale", [0.1, 1.0, 1e6, 1e200])
def test_gradients_are_the_simulations_and_move_by_no_more_than_is_paid(scenario, tmp_path, scale):
    plan, problem = plan_of(scenario, 1.0), prepare(scenario, build_dataset(scenario))
    point = scale * np.array([1.0, -0.5, 0.25, 2.0])
    for i, owner in enumerate(plan["owners"]):
        x, y, _ = table.read(str(tmp_path / f"{owner['name']}.csv"), owner, plan["data"])
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


@one_in(7, "changes", ALGORITHMS.values(), ids=ALGORITHMS.keys())
def test_a_new_run_goes_on_from_the_checkpoint(scenario, tmp_path, changes):
    plan = plan_of(scenario.replace(**changes), 1.0)
    plan["owners"] = [{**owner, "answers": 100} for owner in plan["owners"]]
    world, _ = fake_world(plan, [100] * 3)
    first = AsyncStrategy({**plan, "updates": 7}, world, tmp_path, "digest", 600.0)
    assert first.start()
    world.end_run()
    second = AsyncStrategy(plan, world, tmp_path, "digest", 600.0)
    assert second.k == 7
    assert second.learner.state["central"] == first.learner.state["central"]
    assert second.start()
    assert second.k == 30
    lines = (tmp_path / "exchanges.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "client,sent,received"
    assert {line.split(",")[0] for line in lines[1:]} == set(BANKS)


class Play:
    """A run of a plan over fake owners, each with 15 answers left where nothing else is said."""

    def __init__(self, scenario, folder):
        self.plan, self._folder = plan_of(scenario, 1.0), folder

    def begin(self, left=(15, 15, 15), **changes):
        """Change the plan, and return a new world and its owners."""
        self.plan |= changes
        self.world, owners = fake_world(self.plan, left)
        return self.world, owners

    def end(self, wait: float = 600.0, *, complete: bool = True) -> dict:
        """Return model.json once a run has come to its own end, or has not, as is said."""
        strategy = AsyncStrategy(self.plan, self.world, self._folder, "digest", wait)
        assert strategy.start() is complete
        model = json.loads((self._folder / "model.json").read_text(encoding="utf-8"))
        assert model["complete"] is complete
        return model

    def exchanges(self) -> list[str]:
        """Return the rows of exchanges.csv."""
        return (self._folder / "exchanges.csv").read_text(encoding="utf-8").splitlines()[1:]


PROTOCOLS = {"request": {}, "push": PUSH, "rounds": ALGORITHMS["collab-1"]}


@pytest.fixture(params=PROTOCOLS.values(), ids=PROTOCOLS)
def play(request, scenario, tmp_path) -> Play:
    return Play(scenario.replace(**request.param), tmp_path)


@pytest.mark.parametrize("case", TABLE["plays"].values(), ids=TABLE["plays"])
def test_a_run_ends_and_is_logged_as_its_owners_do(play, caplog, case):
    """With owners as they are set at the beginning, and at times."""
    if "answers" in case:
        allowed = [{**owner, "answers": case["answers"]} for owner in play.plan["owners"]]
        play.plan |= {"owners": allowed}
    world, owners = play.begin(case.get("left", [15, 15, 15]), **case.get("changes", {}))
    for time_, place, what in case.get("set", ()):
        change = partial(vars(owners[place]).update, composed({}, [what]))
        world.at.append((time_, change))
    model = play.end(case.get("wait", 600.0), complete=case.get("complete", True))
    assert model["end"] == case.get("end", "all updates are made")
    assert {**model["owners"], **case.get("owners", {})} == model["owners"]
    found = {
        "statuses": [owner["status"] for owner in model["owners"].values()],
        "charged": [owner.charged for owner in owners.values()],
        "silent": sorted({row.split(",")[0] for row in play.exchanges() if row.endswith(",")}),
        "messages": caplog.messages[: case.get("told")],
    }
    assert {key: case.get(key, value) for key, value in found.items()} == found
    assert min((at for at, _, query in world.sent if query), default=600.0) >= case.get("wait", 0.0)
    assert case.get("over", 0.0) <= world.now() < case.get("over", 1e5) + 5
    assert len(world.sent) < 30 or "over" not in case
    assert all(owners[place].charged > 0 for place in case.get("asked", ()))


def test_an_answer_that_is_late_is_charged_and_counted_and_changes_nothing(play):
    world, owners = play.begin(updates=40, patience=5.0)
    world.exchange = lambda: 8.0 if world.messages == 4 else 1.0  # of the first query
    model = play.end()
    late = next(node for _, node, query in world.sent if query) - 100
    parts = list(model["owners"].values())
    assert [part["lost"] for part in parts] == [int(place == late) for place in range(3)]
    for owner, part in zip(owners.values(), parts, strict=True):
        assert owner.charged == part["answers"] + part["lost"]
    [unanswered] = [line for line in play.exchanges() if line.endswith(",")]
    assert unanswered.split(",")[0] == play.plan["owners"][late]["name"]


def test_every_owner_has_connected_before_the_first_query(play, caplog):
    world, _ = play.begin(updates=6)
    late = world.parties.pop(102)
    world.at.append((90.0, lambda: world.parties.update({102: late})))
    play.end()
    assert min(at for at, _, query in world.sent if query) > 90
    assert caplog.messages == []


def test_a_run_to_which_nobody_connects_ends(play, tmp_path):
    (tmp_path / "model.json").write_text("of an earlier run", encoding="utf-8")
    play.world = World({}, lambda: 1.0)
    model = play.end(complete=False)
    assert {each["status"] for each in model["owners"].values()} == {"never connected"}


def test_progress_is_logged_with_the_time_left_by_forecast_and_pace(scenario, tmp_path, caplog):
    caplog.set_level("INFO", logger="flwr")
    play = Play(scenario, tmp_path)
    world, _ = play.begin(updates=30, expected_seconds=30 * 600.0)
    world.exchange = lambda: 60.0
    play.end()
    lines = [text for text in caplog.messages if "minutes left" in text]
    assert lines[1] == "update 1 of 30: about 290 minutes left"  # ten minutes each, expected
    update, left = (int(word) for word in re.findall(r"[0-9]+", lines[13])[::2])
    assert update == 13
    assert left == pytest.approx((30 - 13) * world.now() / 30 / 60, rel=0.1)


def test_a_silent_node_is_asked_less_and_less_and_once_at_a_time(play):
    world, owners = play.begin([10_000] * 3, updates=10_000, patience=120.0)
    for owner in owners.values():
        owner.silent = True
    world.limit = 7200.0
    with pytest.raises(AssertionError, match="does not end"):
        play.end()
    queries = [at for at, node, query in world.sent if node == 101 and query]
    assert 4 <= len(queries) <= 16  # after 130 s, 140 s, 160 s, ... at most 720 s
    assert np.diff(queries).min() >= 120


def test_a_second_node_of_an_owner_is_reported_and_not_asked(play, caplog):
    world, owners = play.begin(updates=12)
    world.parties[200] = second = FakeOwner(0, 15, owners[0].ticks)
    play.end()
    assert second.charged == 0
    assert caplog.messages == [TABLE["second_node"]]


def test_a_node_that_is_started_again_takes_the_place_of_the_first(play):
    world, owners = play.begin(updates=24)

    world.at.append((6.0, lambda: world.parties.update({300: world.parties.pop(100)})))
    model = play.end()
    assert model["owners"]["north"]["answers"] == owners[0].charged
    assert any(at > 7 for at, node, query in world.sent if node == 300 and query)


def test_an_answer_to_the_introductory_question_stops_no_server(play):
    world, owners = play.begin(updates=12)

    world.parties[100] = lambda point: {"answer": [9.0] * play.plan["size"], **owners[0](point)}
    model = play.end()
    assert model["updates"] == 12
    charged = sum(owner.charged for owner in owners.values())
    assert sum(owner["answers"] for owner in model["owners"].values()) == charged


ANSWERS = [{"answer": np.array([value] * 4)} for value in ("a", 1j, np.nan)]


@pytest.mark.parametrize("ill", [*ANSWERS, *TABLE["ill"]])
def test_a_reply_of_the_wrong_types_stops_no_server(play, ill, caplog):
    world, owners = play.begin(updates=12)
    world.parties[100] = lambda point: {**owners[0](point), **ill}
    model = play.end()
    assert (model["updates"], model["owners"]["north"]["answers"]) == (12, 0)
    assert any("gives no answer" in text for text in caplog.messages)


@one_in(2, "kind", ["fedasync", "fedbuff", "gossip by push"])
@pytest.mark.parametrize("updates", [1, 2])
def test_replies_at_one_time_make_no_more_than_the_last_update(scenario, tmp_path, kind, updates):
    play = Play(scenario.replace(**ALGORITHMS[kind], run={"updates": updates}), tmp_path)
    _, owners = play.begin()
    for owner in owners.values():
        owner.ticks = lambda: {"gaps": [1.0, 9.0]}
    assert play.end()["updates"] == updates


def test_a_node_that_is_started_again_for_another_owner_leaves_the_first(play):
    world, owners = play.begin([15, 15], updates=20)
    world.parties[100], second = owners[1], world.parties.pop(101)
    world.at.append((66.0, lambda: world.parties.update({100: owners[0], 101: second})))
    model = play.end(wait=60.0)
    names = [play.plan["owners"][place]["name"] for place in range(2)]
    for place, name in enumerate(names):
        part = model["owners"][name]
        assert part["answers"] + part["lost"] == owners[place].charged > 1


def test_names_are_quoted_in_the_log_of_exchanges(scenario, tmp_path):
    play = Play(scenario, tmp_path)
    names = ("Bank, North", 'the "south"', "west")
    for owner, name in zip(play.plan["owners"], names, strict=True):
        owner["name"] = name
    play.begin(updates=12)
    play.end()
    rows = pd.read_csv(tmp_path / "exchanges.csv").dropna()
    assert {*rows["client"]} == {*names}
    assert (rows["received"] >= rows["sent"]).all()


def test_a_tick_just_before_a_reply_finds_the_server_busy(scenario, tmp_path):
    play = Play(scenario, tmp_path)
    gaps = {0: [[1.0, 90.0], [9.0]], 1: [[1.95, 9.0], [99.0]], 2: [[99.0]]}
    _, owners = play.begin([9] * 3, updates=2)
    for place, owner in owners.items():
        owner.ticks = lambda place=place: {"gaps": gaps[place].pop(0)}
    play.end()
    sent = play.exchanges()
    assert [line.split(",")[0] for line in sent] == ["north", "south"]
    assert float(sent[1].split(",")[1]) == 1.95 + 9.0  # from when clocks began


@pytest.fixture
def charged(settings):
    return settings["ledger"]


def test_a_ledger_refuses_when_it_is_spent(charged: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        ledger.charge(charged, "north", 3)
    monkeypatch.setattr(time, "time", lambda: 0.0)  # a clock that is set back gives no budget
    with pytest.raises(ledger.RefusedError, match="spent"):
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


def test_a_ledger_is_charged_on_disk_before_an_answer_leaves(settings, monkeypatch):
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "answer" not in client.respond(settings, np.zeros(4))[0]
    assert ledger.spent(settings["ledger"], "north")[0] == 1  # written, perhaps not synced


def test_an_answer_is_charged_before_it_is_given(settings, monkeypatch):
    on_disk, fsync = [], os.fsync

    def watched(descriptor: int) -> None:
        fsync(descriptor)
        on_disk.append(os.fstat(descriptor).st_size)

    monkeypatch.setattr(os, "fsync", watched)
    before = Path(settings["ledger"]).stat().st_size
    assert len(client.respond(settings, np.zeros(4))[0]["answer"]) == 4
    assert on_disk == [before + 1]


def test_two_processes_of_one_client_share_a_budget(charged):
    fork = multiprocessing.get_context("fork")  # no module is imported anew, as by a client
    workers = [fork.Process(target=_spend, args=(charged,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert ledger.spent(charged, "north")[0] == 10


def _spend(path):
    with suppress(ledger.RefusedError):
        for _ in range(8):
            ledger.charge(path, "north", 10)


def test_a_copied_ledger_warns_and_another_owners_or_plans_is_refused(charged, tmp_path):
    copy = tmp_path / "copy.ledger"
    copy.write_bytes(Path(charged).read_bytes())
    assert "copied or moved" in ledger.spent(str(copy), "north")[1]
    with pytest.raises(ledger.RefusedError, match="wrong owner"):
        ledger.charge(charged, "south", 3)
    ledger.PLAN.write_text("[]", encoding="utf-8")
    with pytest.raises(ledger.RefusedError, match="wrong plan"):
        ledger.charge(charged, "north", 3)
    with pytest.raises(FileNotFoundError):
        ledger.charge(str(tmp_path / "none"), "north", 3)


@pytest.mark.parametrize(("changes", "key"), TABLE["refused"])
def test_what_the_app_cannot_carry_out_is_refused_by_name(scenario, tmp_path, changes, key):
    with pytest.raises(SpecError, match=key):
        export_flower(scenario.replace(**changes), tmp_path / "app")
    assert not (tmp_path / "app").exists()


def test_the_page_states_the_noise_of_one_evaluation():
    page = Path(__file__).parents[3] / "docs/from-decision-to-deployment.md"
    text = " ".join(page.read_text(encoding="utf-8").split())
    [(rows, most, deviation)] = re.findall(
        r"one mean of ([0-9]+) errors, each clipped at ([0-9]+), would have a standard deviation "
        r"of ([0-9.]+) at ε = 1,", text
    )  # fmt: skip
    noise = LaplaceNoise(np.array([int(most) / int(rows) / 1.0]))  # one error moves the mean so far
    assert f"{noise.variance[0] ** 0.5:.2f}" == deviation


def _lines_of_code(text: str) -> int:
    """Return how many lines hold code: no docstring, comment or blank line."""
    lines, new = set(), True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
            new = True
        elif token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER):
            if not (new and token.type == tokenize.STRING):
                lines |= set(range(token.start[0], token.end[0] + 1))
            new = False
    return len(lines)


def test_an_app_is_whole_and_short(scenario, tmp_path):
    assert _lines_of_code('"""A\nB"""\n\nx = (\n    1\n)  # C\n') == 3
    app = tmp_path / "app"
    export_flower(scenario, app, unit=2.0)
    code = {path.name: path.read_text(encoding="utf-8") for path in app.rglob("*.py")}
    project = (app / "pyproject.toml").read_text(encoding="utf-8")
    text = "".join([*code.values(), project])
    assert "import asyncdp_sim" not in text
    assert "from asyncdp_sim" not in text
    assert _lines_of_code(code.pop("adapt.py")) <= 160  # no run needs it
    assert sum(map(_lines_of_code, code.values())) <= 600
    assert (app / "private_learning/plan.json").exists()
    assert 'name = "private-learning-banks"' in project


def test_one_machine_runs_on_public_rows_or_is_charged_for_real(scenario, tmp_path, monkeypatch):
    export_flower(scenario, tmp_path / "app")
    for module, name in ((ledger, "plan"), (table, "public")):
        file = tmp_path / f"app/private_learning/{name}.json"
        monkeypatch.setattr(module, name.upper(), file)
    config = {"folder": str(tmp_path / "run"), "table": "", "ledgers": str(tmp_path)}
    node, point = {"partition-id": 1, "num-partitions": 3}, np.zeros(4)
    reply, line = client.respond(node, point, config)
    assert (reply["owner"], reply["left"], line) == (1, 14, "")
    assert client.respond(node, None, config)[0]["left"] == 14
    other = client.respond({"partition-id": 0}, point, config)[0]["answer"]
    assert np.abs(np.subtract(other, reply["answer"])).max() < 0.5  # 80 and 60 of 100 public rows
    real = {**config, "table": str(tmp_path / "loans.csv")}
    reply, line = client.respond(node, point, real)
    assert ledger.REASONS[reply["refused"]] == "no ledger"
    ledger.create(str(tmp_path / "south.ledger"), "south")
    reply, _ = client.respond(node, point, {**real, "table": str(tmp_path / "south.csv")})
    assert reply["left"] == 14
    assert ledger.spent(str(tmp_path / "south.ledger"), "south")[0] == 1
    assert "refused" in client.respond({}, point, real)[0]  # a real node names its owner itself
