"""Commands but those that run: what they print, what they refuse, and what importing costs."""

import inspect
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer.core import TyperArgument

from asyncdp_sim import cli
from asyncdp_sim.cli import COMMANDS
from asyncdp_sim.figures import style
from asyncdp_sim.network import Network
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.scenario import SCHEMA_LINE, load
from asyncdp_sim.sentences.pages import schema_text
from tests import tables
from tests.cli.scenes import SMALL, SWEEP
from tests.manifests import changed
from tests.unit.exports.banks import banks
from tests.unit.imports.measure import measured, shuffled

# ``asyncdp check``, ``asyncdp replay``, ``asyncdp --help``, and what importing costs.

HEAVY = {"matplotlib", "scipy", "pandas", "networkx"}
"""Not imported at start-up (DESIGN, "Speed, by design")."""
OF_OTHER_COMMANDS = {"jinja2", "pyarrow", "sklearn"} | {
    f"asyncdp_sim.{room}" for room in ("api", "audits", "figures", "reports", "sweeps")
}
"""Not imported by ``check``."""
OF_HELP = (
    "", ".__main__", ".cli", ".cli.terminal", ".core", ".core.errors", ".core.gone",
    ".core.starting", ".core.words",
)  # fmt: skip


FILES = {"small.toml": SMALL, "sweep.toml": SWEEP}
REFUSED = tables.table(__file__, "refused.toml")


@pytest.mark.parametrize("events", [[], ["--events"]], ids=["bare", "with events"])
@pytest.mark.parametrize("learning", ["replay", "live"])
def test_replay_of_what_was_run(events, learning, command, here):
    command.done("run", "small.toml", "--out", "r", "--set", f"run.learning={learning}", *events)
    before = {path.name: path.read_bytes() for path in (here / "r").iterdir()}
    said = command.done("replay", "r")
    assert said.out == "r: reproduced (manifest, scenario and every table agree)\n"
    assert said.err == ""
    assert {path.name: path.read_bytes() for path in (here / "r").iterdir()} == before


def test_replay_always_names_other_versions(command, here):
    command.done("run", "small.toml", "--out", "r")
    with changed(here / "r") as manifest:
        manifest["versions"]["numpy"] = "1.0"
    said = command.done("replay", "r")
    ours = np.__version__
    assert said.lines == [f"note: r was made with numpy 1.0, here {ours}"]
    with changed(here / "r") as manifest:
        manifest["fingerprints"]["models"] = "0" * 64
    line = command.refused("replay", "r", code=3)
    assert "fingerprints.models (" in line
    assert line.endswith(f" differ; made with numpy 1.0, here {ours}")


def loaded(doing: str, folder: Path) -> set[str]:
    """Return the modules that a program has imported after it did this."""
    ended = subprocess.run(
        [sys.executable, "-c", f"{doing}\nimport sys\nprint(*sys.modules)"],
        cwd=folder, capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    return set(ended.stdout.splitlines()[-1].split())


PROGRAMS = tables.table(__file__, "programs.toml")
STARTED = PROGRAMS["started"]


def test_what_is_imported_before_anything_is_done(here):
    helped = loaded(STARTED.format("--help"), here)
    ours = {name for name in helped if name.partition(".")[0] == "asyncdp_sim"}
    assert ours == {f"asyncdp_sim{part}" for part in OF_HELP}
    assert helped & (HEAVY | {"numpy", "pydantic", "rich"}) == set()
    for words in ("list", "docs", "schema"):
        assert loaded(STARTED.format(words), here) & {"asyncdp_sim.scenario", "numpy"} == set()
    checked = loaded(STARTED.format("check small.toml"), here)
    assert checked & (HEAVY | OF_OTHER_COMMANDS) == set()
    assert sum(name.partition(".")[0] == "asyncdp_sim" for name in checked) <= 175
    assert loaded("import asyncdp_sim.sweeps.sweep", here) & HEAVY == set()


def test_each_line_of_help_is_what_the_command_says_of_itself():
    told = {}
    for found in pkgutil.iter_modules(cli.__path__):
        module = import_module(f"{cli.__name__}.{found.name}")
        for name, each in vars(module).items():
            if name.endswith("_command") and each.__module__ == module.__name__:
                called = name.removesuffix("_command").replace("_", "-")
                told[called] = (found.name, str(inspect.getdoc(each)).partition("\n")[0])
    assert {name: (each.module, each.does) for name, each in COMMANDS.items()} == told


def test_help_has_each_command_under_one_subject(command):
    said = command.done("-h").out
    assert sorted(name for names in cli.GROUPS.values() for name in names) == sorted(COMMANDS)
    found = re.findall(r"^  ([a-z][a-z-]*) {2,}[A-Z]", said, re.M)
    assert found == [name for names in cli.GROUPS.values() for name in names]
    assert "..." not in said.partition("Commands:")[2]  # each line is whole
    assert said.endswith("    asyncdp sweep twenty-small-banks --plot\n    asyncdp run --help\n")


LEAN = PROGRAMS["lean"]


def test_a_lean_installation_neither_plots_nor_reports(here):
    ended = subprocess.run(
        [sys.executable, "-c", LEAN], cwd=here, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert [line for line in ended.stderr.splitlines() if "install" in line] == [
        f"asyncdp: {missing} is not installed: pip install {missing}"
        for missing in ("matplotlib", "jinja2")
    ]


@pytest.mark.parametrize("words", REFUSED["fields"])
def test_a_field_that_is_named_without_its_table(words, command):
    assert REFUSED["fields"][words] in command.refused("run", "lending-sound", *words.split())


@pytest.mark.long
def test_no_report_is_written_over_a_directory(command, here):
    command.done("run", "small.toml", "--out", "result")
    Path("pages").mkdir()
    for place in ("", "pages"):
        assert "Is a directory" in command.refused("report", "result", "-o", place)
    assert list(here.glob("*.tmp")) == list(here.glob(".*tmp")) == []


VERBS = (
    "Assume|Attack|Check|Compare|Compute|Continue|Count|Describe|Draw|Execute|Find|Fit|Forecast|Keep|Lay|"
    "Leave|Let|Look|Name|Predict|Print|Protect|Put|Read|Recommend|Refuse|Release|Run|Scale|Set|"
    "Show|Simulate|Take|Train|Use|Write|Copy"
)
"""Words that the help of an option or an argument may begin with: each is a sentence."""


def test_arguments_keep_their_help_where_click_empties_it(monkeypatch):
    """As click 8.5 does to typer 0.20, which one has beside Flower."""
    sound = TyperArgument.__init__

    def emptied(argument: TyperArgument, **given: object) -> None:
        sound(argument, **given)
        argument.help = None

    monkeypatch.setattr(TyperArgument, "__init__", emptied)
    made = cli.LateGroup(name="asyncdp").get_command(None, "run")
    assert made.params[0].help.startswith("Use this scenario")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command(name, command):
    """Sentences with a verb, a default for each value, and examples of options that exist."""
    said = command.done(name, "-h").out
    assert said == command.done(name, "--help").out
    assert "Path]" not in said
    assert "<path>" not in said
    made = cli.LateGroup(name="asyncdp").get_command(None, name)
    options = {option for each in made.params for option in each.opts}
    for each in made.params:
        assert re.match(rf"({VERBS})\b.*\.", each.help), each.name
        flag = getattr(each, "is_flag", False)
        stated = each.required or flag or each.default not in (None, []) or each.multiple
        stated = stated or isinstance(each.show_default, str)
        assert stated or re.search(r"default: |needs --", each.help), each.name
    for example in COMMANDS[name].examples:
        words = example.partition(" | ")[0].split()
        assert words[:2] == ["asyncdp", name]
        assert {word for word in words[2:] if word.startswith("-")} <= options
        assert f"  {example}\n" in said


@pytest.mark.long
def test_python_m_is_the_same(command, here):
    start = [sys.executable, "-m", "asyncdp_sim", "check", "small.toml"]
    ended = subprocess.run(start, cwd=here, capture_output=True, encoding="utf-8", check=True)
    assert ended.stdout == command.done("check", "small.toml").out != ""


@pytest.mark.parametrize("where", ["network", "ledger"])
def test_a_broken_invariant_names_the_command_that_shows_it_again(
    where, command, here, monkeypatch
):
    (here / "small.toml").write_text(SMALL, encoding="utf-8")
    if where == "network":
        monkeypatch.setattr("asyncdp_sim.trace.tables._rises", lambda _: False)
        rule = "the trace contradicts itself: updates are not numbered one by one "
        rule += "(replicate 1 of seed 3)"
    else:
        charge = "asyncdp_sim.privacy.accountants.own.Pure.spent"
        monkeypatch.setattr(charge, lambda account, released: 2.0 * released * account.epsilon)
        rule = "the ledger is above a budget: owner 1 spent ε = 6 of 1 (row 1)"
    said = command("run", "small.toml", "--out", "r")
    assert said.code == 3
    assert said.lines[0].startswith(f"asyncdp: {rule}: a mistake of the simulator")
    assert said.lines[1] == "to see it again: asyncdp run small.toml --out r"
    assert not (here / "r").exists()


# ``asyncdp compare``: what it prints, what it draws, what it refuses.


@pytest.mark.long
def test_two_results_side_by_side(command, tmp_path, monkeypatch):
    monkeypatch.setattr(style, "DPI", 20)
    (tmp_path / "s.toml").write_text(SMALL, encoding="utf-8")
    one, other = tmp_path / "one", tmp_path / "other"
    command.done("run", tmp_path / "s.toml", "--out", one)
    command.done("run", tmp_path / "s.toml", "--out", other, "--set", "privacy.epsilon=7.0")
    lines = command.done("compare", one, other, "--out", tmp_path / "drawn").out.splitlines()
    drawn = [line.removeprefix("drawn: ") for line in lines if line.startswith("drawn: ")]
    assert [Path(each).is_file() for each in drawn] == [True] * 3
    table = json.loads(command.done("compare", one, other, "--json").out)
    assert table["comparisons"][0]["figures"][0]["figure"] == "psi_final"
    said = command.done("compare", one, other, "--json", "--out", tmp_path / "beside-json")
    assert json.loads(said.out) == table
    names = [Path(each).name for each in drawn]
    assert said.err.splitlines() == [
        f"note: drawn: {tmp_path}/beside-json/{name}" for name in names
    ]
    command.refused("compare", one, other, "--out", tmp_path / "drawn")


# ``asyncdp describe`` and ``asyncdp schema``, and the line by which editors find the latter.

CATALOGUE = Path(__file__).resolve().parents[2] / "asyncdp_sim" / "catalogue"


@pytest.mark.long
def test_the_schema_is_printed_or_written(command, here):
    assert command.done("schema").out == schema_text()
    name = SCHEMA_LINE.removeprefix("#:schema ")
    assert f"written to {name}" in command.done("schema", "-o", name).out
    assert (here / name).read_text("utf-8") == schema_text()
    command.refused("schema", "-o", here / "nowhere" / name)


def test_scenario_files_begin_with_the_line(command, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    command.done("run", tmp_path / "small.toml", "--out", tmp_path / "r")
    written = tmp_path / "r" / "scenario.toml"
    for file in CATALOGUE.glob("*.toml"):
        assert file.read_text("utf-8").splitlines()[0] == SCHEMA_LINE, file
    assert "#:schema" not in written.read_text("utf-8")  # no schema lies beside results
    assert tomllib.loads(written.read_text("utf-8"))["id"] == "small"
    assert load(written)[0] == load(tmp_path / "small.toml")[0]


# ``asyncdp export``: an app from a scenario file, and one line for what it refuses.


@pytest.fixture
def with_banks(here: Path) -> Path:
    banks(here)
    (here / "full").mkdir()
    return here


def test_an_app_is_written(command, with_banks):
    said = command.done("export", "flower", "banks.toml", "-o", "app", "--unit", "2")
    assert said.out.splitlines()[-1] == "written to app"
    assert (with_banks / "app/private_learning/plan.json").exists()


@pytest.mark.parametrize("words", REFUSED["exports"])
def test_refusals_are_one_line_and_write_nothing(command, with_banks, words):
    before = sorted(with_banks.rglob("*"))
    assert REFUSED["exports"][words] in command.refused("export", *words.split())
    assert sorted(with_banks.rglob("*")) == before


# ``asyncdp import``: what it prints and writes, and how it refuses.


@pytest.fixture
def folder(here: Path) -> Path:
    (here / "t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    return here


@pytest.mark.parametrize("words", REFUSED["imports"])
def test_what_is_wrong_is_one_line(words, command, folder):
    before = sorted(folder.iterdir())
    assert REFUSED["imports"][words] in command.refused("import", *words.split())
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("text", REFUSED["traces"])
def test_a_wrong_trace_or_log_is_one_line(text, command, folder):
    (folder / "t.csv").write_text(text)
    said = command.refused("import", "trace", "t.csv", "--fit", "-o", "t.toml")
    assert REFUSED["traces"][text] in said
    assert not (folder / "t.toml").exists()


@pytest.mark.long
def test_a_trace_becomes_a_scenario_whatever_the_order_of_its_rows(command, folder):
    network = Network(
        answers_allowed=(10**6,) * 2,
        updates=10**6,
        until=300.0,
        compute=Exponential(mean=0.1),
        protocol=Push(),
    )
    measured(network, folder / "t.csv")
    first = command.done("import", "trace", "t.csv", "--fit", "-o", "t.toml")
    text = (folder / "t.toml").read_text()
    shuffled(folder / "t.csv", 3)
    again = command.done("import", "trace", "t.csv", "--fit", "-o", "t.toml").out
    schema = "also written: asyncdp.schema.json; editors use it to complete and check the file\n"
    assert again + schema == first.out
    assert (folder / "t.toml").read_text() == text
    assert "#   1: 'bank 1'" in text
    scenario, _ = load(folder / "t.toml")
    assert abs(scenario.compute.mean - 0.1) < 0.02
    assert scenario.latency.answer.instant
    command.done("run", "t.toml", "--set", "run.updates=20")
