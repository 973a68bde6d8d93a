"""Sweeps over a folder that holds another scenario, other data or versions, or only failures."""

import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest

from asyncdp_sim.core.errors import ResultError
from asyncdp_sim.core.messages import Extent, Listed, Noted, gathered, read_notices
from asyncdp_sim.core.messages import FormattedMessage as Formatted
from asyncdp_sim.privacy.guarantee import BROKEN, reason
from asyncdp_sim.results import read_manifest
from asyncdp_sim.results.manifest import versions
from asyncdp_sim.scenario import Scenario, load
from asyncdp_sim.sentences.result import notes
from asyncdp_sim.sentences.warnings import EndedEarly, TargetReached
from asyncdp_sim.sweeps.status import status
from asyncdp_sim.sweeps.sweep import sweep
from asyncdp_sim.trace import ExchangeOutcome
from tests.cli.scenes import ON_A_TABLE, SMALL, rates
from tests.directories import contents
from tests.one_in import one_in
from tests.tables import table
from tests.together import together
from tests.traces import network, traced
from tests.unit.sweeps.conftest import as_if_let_alone, interrupted

# Sweeps over a folder that holds another scenario, other data or versions, or only failures.

SWEPT = ON_A_TABLE + '\n[sweep]\n"privacy.epsilon" = [1.0, 2.0]\n'
NUMPY = versions()["numpy"]


@pytest.fixture
def file(tmp_path):
    """Two cells, each with a network of its own."""
    path = tmp_path / "sweep.toml"
    path.write_text(SMALL + '\n[sweep]\n"run.seed" = [3, 4]\n', encoding="utf-8")
    return path


def on_a_table(folder: Path, text: str = SWEPT) -> Scenario:
    """Return the scenario of two cells over a table, whose files it writes."""
    rates(folder / "rates.csv")
    (folder / "sweep.toml").write_text(text, encoding="utf-8")
    return load(folder / "sweep.toml")[0]


def older(file: Path) -> None:
    """Say in a manifest, or of a network's traces, that another NumPy made it."""
    said = json.loads(file.read_bytes())
    said.get("versions", said)["numpy"] = "1.0"
    file.write_text(json.dumps(said), encoding="utf-8")


def test_what_other_versions_made_is_not_mixed_in_silence(scenario, out):
    interrupted(scenario, out)
    [network] = (out / "traces").iterdir()
    older(out / "cell-0000" / "manifest.json")
    older(network / "versions.json")
    before = contents(out)
    with pytest.raises(ResultError) as error:
        sweep(scenario, out)
    [line] = error.value.lines()
    made = f"cell-0000, traces/{network.name} made with numpy 1.0, here {NUMPY}"
    allowed = "parts of one version, in a new directory, or --mixed-versions"
    assert line == f"{out}: --out: given {made}; allowed are {allowed}"
    assert contents(out) == before
    assert sweep(scenario, out, mixed_versions=True).done == 2
    [other, ours] = read_manifest(out)["mixed_versions"]
    assert (other["versions"]["numpy"], ours["versions"]["numpy"]) == ("1.0", NUMPY)
    assert other["made"] == ["cell-0000", f"traces/{network.name}"]
    assert len(ours["made"]) == 2
    told = [note for note in notes(out) if note.startswith("mixed versions: ")]
    assert told[0].startswith(f"mixed versions: cell-0000, traces/{network.name} by ")
    assert "numpy 1.0" in told[0]
    assert len(told) == 2
    assert sweep(scenario, out).left == 0  # it is finished as it was allowed to be


@pytest.mark.parametrize("part", ["cell", "traces"])
def test_each_part_alone_is_looked_at(part, scenario, out):
    interrupted(scenario, out)
    [network] = (out / "traces").iterdir()
    if part == "cell":
        older(out / "cell-0000" / "manifest.json")
    else:
        (network / "versions.json").unlink()  # as before traces said it
    with pytest.raises(ResultError, match="cell-0000" if part == "cell" else "numpy unknown"):
        sweep(scenario, out)


def test_one_version_is_not_mixed(scenario, out):
    sweep(scenario, out)
    assert "mixed_versions" not in read_manifest(out)


def test_a_sweep_does_not_go_on_over_other_data(tmp_path):
    """The scenario's text is the same; what its table holds is not."""
    scenario = on_a_table(tmp_path)
    interrupted(scenario, tmp_path / "half")
    sweep(scenario, tmp_path / "whole")
    rates(tmp_path / "rates.csv", 1.0)
    for out in ("half", "whole"):
        with pytest.raises(ResultError, match="data files with other contents"):
            sweep(scenario, tmp_path / out)


def test_a_finished_sweep_over_a_table_that_moved_is_done(tmp_path):
    sweep(on_a_table(tmp_path), tmp_path / "result")
    (tmp_path / "new").mkdir()
    for name in ("rates.csv", "sweep.toml"):
        shutil.move(tmp_path / name, tmp_path / "new" / name)
    before = contents(tmp_path / "result")
    sweep(load(tmp_path / "new" / "sweep.toml")[0], tmp_path / "result")
    assert contents(tmp_path / "result") == before


def test_a_finished_sweep_that_lost_a_cell_is_not_finished(scenario, out):
    sweep(scenario, out)
    whole = contents(out)
    shutil.rmtree(out / "cell-0001")
    sweep(scenario, out)
    assert contents(out) == whole


def test_status_is_of_the_directorys_own_scenario(command, file, scenario, out):
    sweep(scenario, out)
    shutil.rmtree(out / "cell-0001")
    (out / "cell-0099").mkdir()  # of nobody's grid
    assert status(scenario, out).done == status(None, out).done == 1
    said = command.done("sweep", out, "--status")
    assert [line.split()[-1] for line in said.out.splitlines()[:4]] == ["2", "1", "0", "1"]
    fewer = ("--set", 'sweep."run.seed"=[3]')
    line = command.refused("sweep", file, "--status", "--out", out, *fewer)
    assert "a sweep of another scenario (sweep.run.seed.1 (4, asked nothing))" in line


def test_a_directory_is_gone_on_with_by_its_own_scenario(command, scenario, tmp_path):
    interrupted(scenario, tmp_path / "half")
    command.done("sweep", tmp_path / "half")
    as_if_let_alone(scenario, tmp_path / "half")
    said = command.done("sweep", tmp_path / "half")
    assert "already finished: nothing was computed again" in said.out.splitlines()
    said = command("sweep", tmp_path / "half", "--out", tmp_path / "other")
    assert said.code == 2
    assert "given --out with the directory of a sweep" in said.err
    allowed = "the directory of a sweep; to begin one: asyncdp sweep FILE"
    assert command.refused("sweep", tmp_path) == f"{tmp_path}: given no sweep; allowed is {allowed}"


@one_in(2, "faulty", ["target='nothing'", "public_records=100000"])
def test_nothing_is_left_where_every_cell_fails_on_its_input(faulty, command, here):
    on_a_table(here)
    said = command("sweep", "sweep.toml", "--out", "result", "--set", f"data.{faulty}")
    assert (said.code, said.out) == (2, "")
    first, last = said.lines
    assert first.startswith("sweep.toml: cells 0, 1: ")
    assert last == "sweep.toml: all cells failed; nothing is kept in result"
    assert sorted(os.listdir(here)) == ["rates.csv", "sweep.toml"]
    command.done("sweep", "sweep.toml", "--out", "result")


def test_what_others_put_there_stays(tmp_path):
    scenario, out = on_a_table(tmp_path, SWEPT.replace('"rate"', '"nothing"')), tmp_path / "result"

    def note(*_: Any) -> None:
        (out / "mine.txt").write_text("mine", encoding="utf-8")

    assert list(sweep(scenario, out, progress=note).failed) == [0, 1]
    assert os.listdir(out) == ["mine.txt"]


def test_what_others_put_beside_cells_stops_no_sweep(scenario, out):
    """A link to nothing hides no cell, and a file whose name begins as theirs is none."""
    interrupted(scenario, out)
    (out / "gone").symlink_to("nowhere")
    (out / "cell-notes.txt").touch()
    assert status(scenario, out).done == 1
    sweep(scenario, out)
    (out / "cell-notes.txt").unlink()
    as_if_let_alone(scenario, out)


# Warnings of the cells of a sweep: records merged, then put into words.

NOTICES = table(__file__, "notices.toml")


def test_answers_of_runs_that_ended_early_are_counted_and_no_others():
    asked = {"protocol": {"kind": "push"}, "channel": {"kind": "aloha", "airtime": 0.2}}
    traces = [traced(network(4, 50, updates=30, until=until, **asked)) for until in (40.0, 4.0)]
    assert [trace.n_updates < 30 for trace in traces] == [False, True]
    [note] = EndedEarly.of_runs(traces, 30)
    n_collided = int(traces[1].ended(ExchangeOutcome.collided).sum())
    assert (note.replicates, note.of) == (1, 2)
    assert note.released == traces[1].released.sum() < traces[0].released.sum()
    assert dict(note.fates)["collided"] == n_collided


def notice(told):
    """Return a notice of the table."""
    match told:
        case {"ended": [replicates, low, high]}:
            fates = tuple(told.get("fates", {}).items())
            why, released = told.get("why", "the time horizon was reached"), told.get("released", 0)
            return EndedEarly(replicates, 8, 50, Extent(low, high), why, released, fates)
        case {"reached": [replicates, low, high]}:
            return TargetReached(replicates, 8, Extent(low, high))
        case {"exceeded": largest}:
            sentence = f"{BROKEN}the declared bound is exceeded: {{largest:.4g}} at owner {{owner}}"
            return reason(sentence, largest=largest, owner=3)
        case {"silent": owners}:
            sentence = "ε = ∞ for {owners}: {owners:their} answers are exact"
            return reason(sentence, owners=Listed.from_numbers(owners))
        case {"rows": rows}:
            return Noted.from_sentence(Formatted("{n} rows of {who}", n=rows, who="V2"))
    return Noted.from_sentence(told)


@together
@pytest.mark.parametrize("case", NOTICES["cases"], ids=str)
def test_what_is_said_of_all_cells(case):
    cells = [None if cell == "null" else list(map(notice, cell)) for cell in case["cells"]]
    assert [each.describe() for each in gathered(cells)] == case["said"]


def test_yes_and_no_are_no_numbers():
    known = {flag: reason("public: {public}", public=flag) for flag in (True, False)}
    assert known[True].alike() != known[False].alike()
    assert known[True].with_others([known[True]]) == known[True]


def test_numbers_stand_in_fields_beside_the_words():
    [both] = gathered([[notice({"exceeded": n})] for n in range(6, 12)])
    content = both.content()
    assert (content["kind"], content["cells"]) == ("noted", [0, 1, 2, 3, 4, 5])
    assert content["values"] == {"largest": [6, 11], "owner": [3, 3]}


RECORDS = (
    *map(notice, NOTICES["records"]),
    reason("timing: {why}", why="a trigger {of braces}"),
    Noted.from_sentence(Formatted("{codes} codes", codes=Extent(0, 2)), "of a table: {}"),
)


@pytest.mark.parametrize("record", RECORDS, ids=lambda each: each.describe()[:20])
def test_a_record_is_read_back_as_it_was(record):
    manifest = {"warnings": [record.describe()], "warning_fields": [record.content()]}
    assert read_notices(manifest) == [record]
    assert pickle.loads(pickle.dumps(record)) == record


def test_manifests_without_fields_and_of_other_fields_keep_their_lines():
    line, other = notice({"exceeded": 9.5}).describe(), notice({"exceeded": 9.6})
    others = ([], [other.content()], [{"kind": "unheard-of"}], [None])
    for fields in ({}, *({"warning_fields": each} for each in others)):
        [known] = read_notices({"warnings": [line], **fields})
        assert known == Noted.from_sentence(line)
        assert known.describe() == line


def test_a_sentence_with_its_numbers_is_a_text_as_any_other():
    said = Formatted("{n} rows", n=3)
    assert said == "3 rows"
    assert pickle.loads(pickle.dumps(said)).fields == {"n": 3}
