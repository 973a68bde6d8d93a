"""Commands: what their help says, what importing costs, and what sessions do not show."""

import hashlib
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.core import TyperArgument

from asyncdp_sim import cli
from asyncdp_sim.cli import COMMANDS
from asyncdp_sim.cli.catalogue import BEYOND, MARKS, SECONDS, listed
from asyncdp_sim.cli.terminal import who
from asyncdp_sim.data import SYNTHETIC
from asyncdp_sim.network import Network
from asyncdp_sim.network.laws import Exponential
from asyncdp_sim.network.protocols import Push
from asyncdp_sim.proposals import sheets
from asyncdp_sim.scenario import SCHEMA_LINE, load
from asyncdp_sim.scenario.catalogue import catalogue, commented, entry
from tests import tables
from tests.cli.scenes import SMALL, SWEEP
from tests.documents.listed import marks
from tests.unit.forecasts.clinics import clinics
from tests.unit.imports.measure import measured, shuffled

# ``asyncdp --help``, and what importing costs.

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
ROOT = Path(__file__).parents[2]


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
        charge = "asyncdp_sim.privacy.accountants.Pure.spent"
        monkeypatch.setattr(charge, lambda account, released: 2.0 * released * account.epsilon)
        rule = "the ledger is above a budget: owner 1 spent ε = 6 of 1 (row 1)"
    said = command("run", "small.toml", "--out", "r")
    assert said.code == 3
    assert said.lines[0].startswith(f"asyncdp: {rule}: a mistake of the simulator")
    assert said.lines[1] == "to see it again: asyncdp run small.toml --out r"
    assert not (here / "r").exists()


def test_scenario_files_begin_with_the_line_that_names_the_schema():
    files = (ROOT / "asyncdp_sim" / "catalogue").glob("*.toml")
    lines = {file.read_text("utf-8").partition("\n")[0] for file in files}
    assert lines == {SCHEMA_LINE}


@pytest.mark.long
def test_a_trace_becomes_a_scenario_whatever_the_order_of_its_rows(command, here):
    network = Network(
        answers_allowed=(10**6,) * 2,
        updates=10**6,
        until=300.0,
        compute=Exponential(mean=0.1),
        protocol=Push(),
    )
    measured(network, here / "t.csv")
    first = command.done("import", "trace", "t.csv", "--fit", "-o", "t.toml")
    text = (here / "t.toml").read_text()
    shuffled(here / "t.csv", 3)
    again = command.done("import", "trace", "t.csv", "--fit", "-o", "t.toml").out
    schema = "also written: asyncdp.schema.json; editors use it to complete and check the file\n"
    assert again + schema == first.out
    assert (here / "t.toml").read_text() == text
    assert "#   1: 'bank 1'" in text
    scenario, _ = load(here / "t.toml")
    assert abs(scenario.compute.mean - 0.1) < 0.02
    assert scenario.latency.answer.instant
    command.done("run", "t.toml", "--set", "run.updates=20")


# The catalogue, and what the list says of it.

ENTRIES = catalogue()


@pytest.mark.long
def test_the_list_is_what_validated_scenarios_say():
    """``python -m tests.documents`` writes anew what is said of privacy."""
    assert MARKS.read_text("utf-8") == marks()
    told = {each.name: each for each in listed()}
    for found in ENTRIES:
        each, source = told.pop(found.name), found.as_it_is.source
        assert (each.title, each.privacy) == (found.as_it_is.title, found.privacy)
        assert each.command == ("sweep" if len(found.as_it_is.sweep) > 0 else "run")
        paper = each.group.removeprefix("From the papers: ")
        assert (source in (None, SYNTHETIC)) is (each.group == BEYOND)
        assert each.group == BEYOND or source.startswith(f"{paper},")
    assert told == {}
    assert set(json.loads(SECONDS.read_text("utf-8"))) == {found.name for found in ENTRIES}


def test_a_sweep_is_marked_for_each_of_its_cells():
    assert entry("every-owner-a-learner").privacy == "in part NOT private"
    learners = entry("every-owner-a-learner").as_it_is
    private = [cell for cell in learners.grid() if "exact" not in str(cell)]
    assert 0 < len(private) < len(list(learners.grid()))


def test_comments_change_nothing_and_are_there():
    """No entry names a file, so that a copy loads wherever it lies."""
    texts = {found.name: found.file.read_text(encoding="utf-8") for found in ENTRIES}
    assert not any(re.search(r"path\" ?=|^path ?=|path =", each) for each in texts.values())
    for found in ENTRIES[::3]:
        text, plain = commented(found.name), texts[found.name]
        assert tomllib.loads(text) == tomllib.loads(plain), found.name
        assert text.count("\n# ") > plain.count("\n# ") + 10, found.name
    assert "# ε_i: privacy budget of each owner for the whole run" in commented("lending-sound")


def test_the_version(command):
    assert command.done("--version").out == f"asyncdp {version('asyncdp_sim')}\n"


# Code of an installed module, owners, and sheets of a scenario for the machine of each.


@pytest.mark.long
def test_an_installed_module_is_executed_where_that_is_allowed(command, here, monkeypatch):
    code = (ROOT / "docs" / "kinds" / "momentum.py").read_text("utf-8")
    package = here / "installed" / "steps_of_ours"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text('open("executed", "w").close()', encoding="utf-8")
    (package / "momentum.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(here / "installed")
    kind = 'kind = "python:steps_of_ours.momentum:Momentum"\nstep = 0.01'
    text = SMALL.replace('kind = "async-gossip"\nrho = 0.01', kind)
    (here / "small.toml").write_text(text, encoding="utf-8")
    digest = hashlib.sha256(code.encode()).hexdigest()
    line = command.refused("run", "small.toml", "--out", "one")
    assert f"({package}/momentum.py, SHA-256 {digest})" in line
    assert not (here / "executed").exists()
    command.done("run", "small.toml", "--allow-code", "--out", "one", "--workers", "2")
    command.done("replay", "one", "--allow-code")


def test_a_name_of_an_owner_is_quoted_as_toml_reads_it():
    names = ['"', "\\", "\x1b", "ü", "😀"]
    [setting] = who(names, [])
    assert tomllib.loads(setting)["owners"]["only"] == names


def test_each_owner_has_a_file_of_its_own():
    names = ("A-3", "a", "A", "Public", "Köln", "東京")
    look = SimpleNamespace(owners=dict.fromkeys(names, 30), least=5, public_path="x/public.csv")
    found = sheets(["#:schema", "path = 1", "rest"], look)
    assert [*found] == ["a-3", "a", "a-4", "public-4", "k-ln", "owner"]
    assert all(f'own_path = "{stem}.csv"' in "".join(lines) for stem, lines in found.items())


def test_sheets_that_are_interrupted_are_not_kept(command, here, monkeypatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    clinics(here, owners=8, rows=30, public=400)
    monkeypatch.setattr("asyncdp_sim.proposals.whole", interrupted)
    asked = ("--target", "stay", "--owner", "clinic", "--public", "public.csv", "--epsilon", 10)
    said = command("data", "all.csv", *asked, "--sheets", "members")
    assert said.lines[0] == "interrupted: nothing is kept"
    assert not (here / "members").exists()


@pytest.mark.long
def test_a_first_verdict_on_an_entry_of_the_catalogue_takes_seconds(command):
    assert command.done("audit", "lending-sound").seconds <= 30
