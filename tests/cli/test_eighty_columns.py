"""All that commands show fits 80 columns: 12 long columns, 169 owners of long names."""

import json
import re
import tomllib

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.cli import terminal as cli_terminal
from asyncdp_sim.core.words import SCREEN
from tests.cli.scenes import SMALL
from tests.tables import table

pytestmark = pytest.mark.long

OWNERS, PUBLIC, EACH = 169, 60, 5
COLUMNS = [f"a_column_with_a_long_name_{letter}" for letter in "abcdefghijkl"]
NAMES = [f"Savings and Loan Association of Place {i:03}" for i in range(OWNERS)]
TABLE = table(__file__, "eighty_columns.toml")
SCENARIO = TABLE["scenario"]
SWEEP = """
[sweep]
"privacy.epsilon" = [0.123456789, 1.0]
"availability" = [{ kind = "always" }, { kind = "bernoulli", probability = 0.123456789 }]
"""


DATA = (
    "data", "table.csv", "--target", "the_target_which_has_a_long_name", "--owner",
    "the_owner_which_has_a_long_name", "--public", "60",
)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the table and its scenario; slow to read, so that it is written once."""
    folder = tmp_path_factory.mktemp("eighty")
    g = np.random.default_rng(1)
    rows = OWNERS * EACH + PUBLIC
    frame = pd.DataFrame(g.normal(size=(rows, 12)), columns=COLUMNS)
    frame["the_target_which_has_a_long_name"] = frame.sum(axis=1) + g.normal(size=rows)
    frame["the_owner_which_has_a_long_name"] = [NAMES[row % OWNERS] for row in range(rows)]
    frame.to_csv(folder / "table.csv", index=False)
    (folder / "long.toml").write_text(SCENARIO, encoding="utf-8")
    (folder / "sweep.toml").write_text(SCENARIO + SWEEP, encoding="utf-8")
    few = SCENARIO.replace("updates = 40", "updates = 4").replace(
        "replicates = 3", "replicates = 2"
    )
    (folder / "worth.toml").write_text(few, encoding="utf-8")
    (folder / "small.toml").write_text(SMALL, encoding="utf-8")
    wrong = SMALL.replace("replicates = 2", "replicates = 0").replace("ridge", "a" * 60)
    (folder / "wrong.toml").write_text(wrong, encoding="utf-8")
    return folder


@pytest.fixture
def terminal(made, monkeypatch):
    monkeypatch.chdir(made)
    monkeypatch.setenv("COLUMNS", str(SCREEN))
    monkeypatch.setattr(cli_terminal, "watched", lambda err: not err)
    return made


def fits(text):
    """Hold lines to the screen, but for what is copied: a command, an example, or a path."""
    lines = text.splitlines()
    wide = [line for line in lines if len(line) > SCREEN and len(line.split()) > 1]
    copied = re.compile(r": +asyncdp |  example  ")
    assert [line for line in wide if copied.search(line) is None] == []
    return lines


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(
    "words", TABLE["commands"], ids=lambda words: " ".join(words[:3]) + f" {len(words)}"
)
def test_a_command_fits(words, command):
    assert len(fits(command.done(*words).out)) > 3


@pytest.mark.usefixtures("terminal")
def test_runs_sweeps_their_status_and_comparisons_fit(command):
    fits(command.done("run", "long.toml", "--out", "a").out)
    fits(command.done("run", "long.toml", "--set", "privacy.epsilon=3.0", "--out", "b").out)
    fits(command.done("compare", "a", "b").out)
    told = fits(command.done("sweep", "sweep.toml", "--out", "s").out)
    assert sum("0.123456789" in line for line in told) >= 2
    fits(command.done("sweep", "s", "--status").out)
    fits(command.done("compare", "s/cell-0000", "s/cell-0003").out)


def test_errors_are_folded_on_a_terminal_and_one_line_each_in_a_pipe(command, made, monkeypatch):
    monkeypatch.chdir(made)
    piped = command("check", "wrong.toml", "long.toml")
    assert piped.code == 2
    assert [line.split(": ")[:2] for line in piped.lines] == [
        ["wrong.toml", "run.replicates"], ["wrong.toml", "model.kind"],
    ]  # fmt: skip
    assert max(map(len, piped.lines)) > SCREEN
    monkeypatch.setattr(cli_terminal, "watched", lambda err: err)
    folded = command("check", "wrong.toml")
    assert "".join(fits(folded.err)).replace(" ", "") == "".join(piped.lines).replace(" ", "")


@pytest.mark.usefixtures("terminal")
def test_settings_that_are_folded_are_the_same_settings(command, monkeypatch):
    """What is copied from the screen is what a pipe has."""
    folded = command.done(*DATA).out.partition("\n\n")[2]
    monkeypatch.setattr(cli_terminal, "watched", lambda **_: False)
    assert tomllib.loads(folded) == tomllib.loads(command.done(*DATA).out.partition("\n\n")[2])
    assert "\n# its unit, used when errors are reported: please fill in\n# unit = " in f"\n{folded}"


@pytest.mark.usefixtures("terminal")
def test_what_goes_into_a_file_is_not_folded(command):
    assert json.loads(command.done("forecast", "small.toml", "--json").out)["psi"] > 0
