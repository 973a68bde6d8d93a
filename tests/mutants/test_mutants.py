"""The table of mutants fits the code, and (nightly) every one of them is noticed."""

import tomllib

import pytest

from tests.mutants.hunt import hunt
from tests.mutants.mutant import MUTANTS, ROOT
from tests.together import together

PACKAGES = (
    "kernel", "streams", "trace", "network", "learning", "privacy", "data", "theory", "forecasts",
    "measures", "runs", "sweeps", "scenario", "results", "sentences", "figures",
)  # fmt: skip


@together
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_can_be_planted(mutant):
    text = (ROOT / mutant.file).read_text(encoding="utf-8")
    assert text.count(mutant.right) == 1
    assert mutant.right != mutant.wrong
    wrong = text.replace(mutant.right, mutant.wrong)
    compile(wrong, mutant.file, "exec") if mutant.file.endswith(".py") else tomllib.loads(wrong)
    for tests in mutant.noticed_by:
        assert (ROOT / tests.partition("::")[0]).exists()


def test_mutants_are_many_and_everywhere():
    assert len(MUTANTS) >= 40
    assert len({(mutant.file, mutant.right) for mutant in MUTANTS}) == len(MUTANTS)
    for package in PACKAGES:
        assert any(package in mutant.file.replace(".py", "").split("/") for mutant in MUTANTS)


@pytest.mark.nightly
def test_every_mutant_is_noticed(tmp_path):
    survivors = [found.mutant.name for found in hunt(MUTANTS, tmp_path) if found.killer is None]
    assert survivors == []
