"""Examples of the README work as they stand there."""

import random
import re
import tomllib
from pathlib import Path

import pytest

import asyncdp_sim
from scenarios.command import main as scenarios
from tests.cli.command import Command
from tests.cli.pages import fenced, missing

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "README.md"
README = FILE.read_text(encoding="utf-8")


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(monkeypatch, capsys)


def test_the_python_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    [(_, example)] = fenced(FILE, "python")
    assert len(example.splitlines()) <= 10
    exec(compile(example, "README.md", "exec", dont_inherit=True), {})
    label, psi, *_ = capsys.readouterr().out.splitlines()
    assert label.startswith("Private as claimed: ε = 10 per owner")
    assert 0 < float(psi) < 1
    assert Path("psi.png").stat().st_size > 1000


def test_the_scenario_for_a_table_of_ones_own_runs(tmp_path: Path, command: Command) -> None:
    [(_, scenario)] = fenced(FILE, "toml")
    assert len(scenario.splitlines()) <= 25
    draw = random.Random(1)
    rows = ["site,age,dose,days"]
    for row in range(900):
        site = "" if row >= 600 else ("North", "South", "East")[row % 3]
        age, dose = draw.uniform(20, 80), draw.gauss(5, 1)
        rows.append(f"{site},{age:.1f},{dose:.2f},{0.1 * age + dose + draw.gauss(0, 1):.2f}")
    (tmp_path / tomllib.loads(scenario)["data"]["path"]).write_text("\n".join(rows) + "\n")
    (tmp_path / "stays.toml").write_text(scenario, encoding="utf-8")
    said = command.done("run", tmp_path / "stays.toml", "--out", tmp_path / "out")
    assert "private as claimed   yes (true ε 10)" in said.out
    [median] = re.findall(r"ψ at the end +median ([\d.]+)", said.out)
    assert float(median) < 0.05


def test_both_commands_are_where_the_ci_script_looks():
    for mark in ("main command", "test command"):
        [command] = re.findall(rf"<!-- {mark} -->\n```bash\n(.*)\n```", README)
        assert command.startswith("python3 -m venv .venv && ")
    assert command.endswith("-m pytest -n 2")


@pytest.mark.documents
def test_the_main_command_prints_what_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: Command
) -> None:
    [(_, block)] = fenced(FILE, "console")
    asked, *shown = block.splitlines()
    [main] = re.findall(r"<!-- main command -->\n```bash\n(.*)\n```", README)
    assert main.endswith(f".venv/bin/{asked.removeprefix('$ ')}")
    assert scenarios(["lending-three-budgets", "--out", str(tmp_path / "three")]) == 0
    assert missing(tuple(shown), capsys.readouterr().out.splitlines()) is None
    assert (tmp_path / "three" / "figures" / "three-budgets.png").is_file()
    one_step = ("run", "lending-sound", "--set", "privacy.epsilon=0.1", "--out")
    assert "median 79.92" in command.done(*one_step, tmp_path / "sound").out
    lesson = command.done("run", "lending-convergence", "--out", tmp_path / "published").out
    assert "median 0.02327" in lesson
    assert re.search(r"^private as claimed +NO", lesson, re.M), lesson
    assert "one draw of noise on all coordinates" in lesson


@pytest.mark.documents
def test_whether_joining_pays(command: Command) -> None:
    said = command.done("forecast", "lending-three-budgets").out
    assert "no owner should join at ε = 0.1" in said
    [alone] = re.findall(r"together, ([\d.]+) alone", said)
    assert f"{100 * float(alone):.2f} %" == "0.06 %"
    assert "should join at ε = 1" in command.done("forecast", "value-of-collaboration").out


def test_commands_named_are_commands():
    from asyncdp_sim.cli import COMMANDS

    named = set(re.findall(r"`asyncdp\s(\w[\w-]*)", README))
    assert named == set(COMMANDS)


def test_rows_of_speed_are_those_that_were_measured():
    measured = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8").splitlines()
    [table] = re.findall(r"^\| what \| ours .*\n\| ---.*\n((?:\|.*\n)+)", README, re.M)
    rows = table.splitlines()
    assert len(rows) == 4
    assert [row for row in rows if row not in measured] == []


def test_pages_that_are_linked_are_there():
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert len(links) > 15
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_what_an_index_shows_has_no_link_and_its_example_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is shown without the repository, whose address nobody knows."""
    page = ROOT / "PACKAGE.md"
    assert "](" not in page.read_text(encoding="utf-8")
    [(_, example)] = fenced(page, "python")
    exec(compile(example, page.name, "exec", dont_inherit=True), {})
    assert capsys.readouterr().out.startswith("Private as claimed: ε = 10 per owner")


def test_one_cites_the_version_that_this_is() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {asyncdp_sim.__version__}\n" in citation
