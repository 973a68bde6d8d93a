"""``--only``, ``--without`` and ``--save``: who takes part, and a choice that is kept and run."""

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from asyncdp_sim.cli.terminal import who
from asyncdp_sim.reports.answer import of_result
from asyncdp_sim.results import open_directory
from tests import tables
from tests.directories import manifest
from tests.scenes import text
from tests.tables import composed, table

pytestmark = pytest.mark.usefixtures("here")
SCENES = table(__file__, "small_banks.toml")
FILES = {f"{name}.toml": text(**composed({}, [parts])) for name, parts in SCENES.items()}


@pytest.fixture
def here(here: Path) -> Path:
    draws = np.random.default_rng(1).normal(size=(140, 3))
    table = pd.DataFrame(draws, columns=["a", "b", "y"])
    table.assign(who=["Harbour", "Valley"] * 70).to_csv(here / "t.csv", index=False)
    return here


def test_owners_are_called_by_name_or_number(command):
    command.done("run", "banks.toml", "--replicates", "1", "--only", 'Kröger "& Sons"', "--only",
                 "1", "--out", "some")  # fmt: skip
    assert pd.read_parquet("some/owners.parquet")["owner"].tolist() == [1, 3]
    command.done("run", "banks.toml", "--replicates", "1", "--without", "Valley", "--out", "rest")
    said = [manifest(name) for name in ("some", "rest")]
    assert said[0]["digest"] == said[1]["digest"]
    shown = command.done("forecast", "banks.toml", "--details", "--without", "2").out
    assert "for the average owner" in shown
    assert "Valley" not in shown
    assert "asyncdp run banks.toml --set 'owners.without=[\"2\"]'" in shown


def test_whoever_is_not_there_is_one_line_with_the_nearest_names(command):
    for asked in ("run", "forecast", "sweep"):
        line = command.refused(asked, "banks.toml", "--only", "Vally")
        assert line == "banks.toml: owners.only: given 'Vally'; nearest names: Valley"
    line = command.refused("run", "banks.toml", "--only", "1", "--without", "2")
    assert line == "asyncdp: given --only and --without; allowed is one of them"


def test_a_name_is_quoted_as_toml_reads_it():
    names = ['"', "\\", "\x1b", "ü", "😀"]
    [setting] = who(names, [])
    assert tomllib.loads(setting)["owners"]["only"] == names


def figure(line: str) -> str:
    """Return the simulated ψ in a line of advice."""
    return line.partition(": ψ ")[2].partition(" ")[0]


MORE = ("--set", "privacy.epsilon=[1000.0,2000.0,500.0]")
FEW = ("--set", "owners.records=[20,30,9]")


@pytest.mark.long
def test_an_invitation_is_saved_and_runs_as_it_was_simulated(command):
    told = command.done("forecast", "banks.toml", *MORE, "--invite", "--save", "best.toml").out
    *_, saved, schema = told.splitlines()
    assert saved == "saved     best.toml; to run it: asyncdp run best.toml"
    assert schema.startswith("also written: asyncdp.schema.json; ")
    saved = tomllib.loads(Path("best.toml").read_text(encoding="utf-8"))
    assert "chosen_from" not in saved
    assert "(Valley)" in told
    command.done("run", "best.toml", "--out", "result")
    psi = manifest("result")["summary"]["psi_final"]["mean"]
    assert float(f"{psi:.3g}") == float(figure(told))


@pytest.mark.long
def test_an_invitation_among_some_is_judged_by_their_records_in_the_saved_one_too(command):
    some = ("--only", "Harbour", "--only", "Valley", "--set", "run.updates=20", *MORE, *FEW)
    told = command.done("forecast", "banks.toml", *some, "--invite", "--save", "best.toml").out
    command.done("run", "best.toml", "--out", "result")
    said = manifest("result")
    assert said["scenario"]["owners"]["count"] == 2
    assert float(f"{said['summary']['psi_final']['mean']:.3g}") == float(figure(told))
    command.done("replay", "result")
    for judges, fault in (
        ("['Nobody']", "'Nobody'; some of the names: Harbour, Valley"),
        ("[4]", "4; allowed are owner numbers 1 to 3, and names"),
        ("[]", "[]; allowed is a list with at least one value"),
    ):
        line = command.refused("run", "best.toml", "--set", f"owners.score_on={judges}")
        assert line == f"best.toml: owners.score_on: given {fault}"


@pytest.mark.long
def test_a_purchase_and_a_tuning_are_saved(command):
    market = ("--market", "1,1,1", "--target", "0.5")
    told = command.done("forecast", "banks.toml", *market, "--save", "bought.toml").out
    epsilon = tomllib.loads(Path("bought.toml").read_text())["privacy"]["epsilon"]
    assert told.splitlines()[1].startswith(f"owner 2 (Valley): ε = {epsilon[1]:.3g} for ")
    told = command.done("forecast", "banks.toml", "--tune", "--save", "tuned.toml").out
    tuned = tomllib.loads(Path("tuned.toml").read_text())
    assert f"T = {tuned['run']['updates']}" in told.splitlines()[0]
    command.done("check", "bought.toml", "tuned.toml")


REFUSED = tables.table(__file__, "refused.toml")["saved"]


@pytest.mark.parametrize("words", REFUSED)
def test_where_nothing_can_be_saved_nothing_is_sought(command, words):
    assert REFUSED[words] in command.refused("forecast", "banks.toml", *words.split())


def test_a_run_judges_the_owners_that_gain_once_more_as_if_the_others_left(command):
    said = command.done("run", "unequal.toml", "--own-best", "linear", "--out", "all").out
    judged = pd.read_parquet("all/gains.parquet")
    assert judged["owner"][judged["verdict"] == "gains"].tolist() == [1, 3]
    remaining = manifest("all")["remaining"]
    assert remaining["assumes"] == "the 2 owners that gain join alone, with these ε"
    [line] = [line for line in said.splitlines() if line.startswith("if others left")]
    assert line.partition("  ")[2].strip().startswith("2 that gain, if they alone join: ")
    only = ["--only", "1", "--only", "3"]
    alone = command.done("run", "unequal.toml", "--own-best", "linear", *only, "--out", "some").out
    assert {**manifest("some")["consortium"], "assumes": remaining["assumes"]} == remaining
    assert "remaining" not in manifest("some")  # of two, both gain or fewer than two do
    assert "if others left" not in alone
    fact = of_result(open_directory(Path("all"))).facts[1]
    assert "2 that gain, if they alone join" in fact.value
