"""Python's own words reach nobody, and a full output claims no work that is not kept."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.bad_input.transcript import leaked
from tests.cli.command import PROGRAM
from tests.cli.scenes import SMALL, rates

LONG = "1" * 5000
FILES = {"small.toml": SMALL, "long.toml": SMALL.replace("updates = 12", f"updates = {LONG}")}
PYTHON = ("sys.set", "int_max", "invalid literal", "ValueError", "Exceeds")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "long.toml"), "a whole number of more than 4,300 digits"),
        (("check", "small.toml", "--set", f"run.updates={LONG}"), "allowed is a whole number"),
        (("run", "small.toml", "--seed", LONG), "allowed is a whole number below 2^63"),
        (("run", "small.toml", "--replicates", LONG), "allowed is a whole number below 2^63"),
        (("data", "rates.csv", "--target", "rate", "--public", LONG), "--public: given"),
        (("plot", "r"), "no readable manifest.json"),
    ],
)
def test_a_number_of_5000_digits_is_refused_in_our_words(words, said, here, command):
    rates(here / "rates.csv")
    (here / "r").mkdir()
    (here / "r" / "manifest.json").write_text(f'{{"schema": {LONG}}}', encoding="utf-8")
    line = command.refused(*words)
    assert said in line
    assert len(line) < 400
    assert leaked(line) == []
    assert not any(word in line for word in PYTHON)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no such file")
@pytest.mark.parametrize(
    ("words", "kept"),
    [(("describe", "relative_fitness"), False), (("run", "small.toml", "--out", "out"), True)],
    ids=["describe", "run"],
)
def test_only_what_keeps_work_says_so(words, kept, here):
    """Found by attack: with a full output, each command said that finished work was kept."""
    with Path("/dev/full").open("wb") as full:
        ended = subprocess.run(
            [PROGRAM, *words], cwd=here, stdout=full, stderr=subprocess.PIPE, check=False
        )
    said = ended.stderr.decode().splitlines()[-1]
    assert ended.returncode == 4
    assert said.startswith("asyncdp: the machine gave way: no space left on device")
    assert ("finished work is kept" in said) == kept
    if kept:
        manifest = json.loads((here / "out" / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["summary"]["updates"] == 24
