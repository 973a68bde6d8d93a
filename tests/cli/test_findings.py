"""Findings on every cell of a sweep, and on owners that are never online."""

from pathlib import Path

import pytest

from tests.directories import manifest
from tests.scenes import text
from tests.tables import table

pytestmark = pytest.mark.usefixtures("here")


TABLE = table(__file__, "scenes_of_findings.toml")
SMALL = text(**TABLE["small"])
NEVER = "never online: {}; its records count in f and θ*, and make no update"
SWEPT = table(__file__, "findings.toml")


@pytest.mark.parametrize("case", SWEPT)
def test_every_cell_of_a_sweep_is_judged(case, command):
    """What is found in some cells stands behind their numbers; each kind of finding is a line."""
    needs, swept = SWEPT[case].get("needs", ""), SWEPT[case]["swept"]
    Path("s.toml").write_text(f"{SMALL}{needs}[sweep]\n{swept}\n", encoding="utf-8")
    said = command.done("check", "s.toml").out.splitlines()
    at = next(number for number, line in enumerate(said) if line.startswith("  sweep: "))
    found = [line for line in said[at + 1 :] if not line.startswith("  step: ")]
    assert sorted(found) == sorted(f"  {line}" for line in SWEPT[case]["findings"])


def test_owners_that_answer_once_are_not_to_be_weighted(command):
    """Their algorithm has no steps, and no field that divides them."""
    Path("s.toml").write_text(SMALL)
    unequal = "clock={kind='poisson', rate=[1.0, 2.0, 3.0]}"
    once = ["algorithm={kind='noisy-statistics'}"]
    once += ["model.theta_max=5.0", "privacy.budget={kind='per-owner-cap', answers=1}"]
    once += ["privacy.sensitivity={kind='domain', row_norm=1.0, target_max=2.0}"]
    said = "i_k is not uniform"
    assert said in command.done("check", "s.toml", "--set", unequal).out
    settings = [part for setting in (unequal, *once) for part in ("--set", setting)]
    assert said not in command.done("check", "s.toml", *settings).out


def test_a_cell_that_cannot_fit_into_memory_is_refused(command):
    Path("s.toml").write_text(f'{SMALL}[sweep]\n"run.updates" = [20, 2147483647]\n')
    assert command.refused("check", "s.toml", "--set", "run.until=1e9").startswith(
        "s.toml: run.updates: given 2147483647 in 2 replicates, which takes"
    )


OFFLINE = TABLE["offline"]


@pytest.mark.parametrize("case", OFFLINE)
def test_an_owner_that_never_comes_online_is_a_note(case, command):
    """Known before a run, or seen in it: device b comes online after the run's end."""
    available, known = OFFLINE[case]
    Path("online.csv").write_text("owner,start,end\na,0,60\nb,55,60\nc,1,40\n")
    Path("numbered.csv").write_text("owner,start,end\n1,0,60\n3,1,40\n")
    Path("s.toml").write_text(f"availability = {available}\n{SMALL}", encoding="utf-8")
    note = NEVER.format("owner 2")
    assert (f"  {note}" in command.done("check", "s.toml").out.splitlines()) == known
    assert f"note: {note}" in command.done("run", "s.toml", "--out", "result").lines
    assert note in manifest("result")["warnings"]
    rest = command.done("run", "s.toml", "--set", "availability={kind='always'}", "--out", "all")
    assert "never online" not in rest.err
