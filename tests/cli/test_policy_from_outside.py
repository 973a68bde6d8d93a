"""A policy of a file: the scenario names it, the manifest its digest, replay finds it."""

import hashlib

import pytest

from tests.cli.scenes import SMALL
from tests.tables import table

TABLE = table(__file__, "from_outside.toml")
POLICY = TABLE["policy"]
PROTOCOL = TABLE["protocol"]
AS_ASKED = '\n[privacy.budget]\nkind = "as-asked"\n'


FILES = {"least.py": POLICY, "small.toml": SMALL + PROTOCOL}


def test_nothing_is_executed_unasked(command, here):
    line = command.refused("check", "small.toml")
    assert line.startswith(
        f"small.toml: protocol.policy.kind: given 'python:{here}/least.py:LeastAnswered'; allowed "
        "with --allow-code"
    )
    checked = command.done("check", "small.toml", "--allow-code").out
    assert "2 tasks at a time, to owners that have answered least" in checked


def test_a_result_names_its_digest_and_replays(command, here):
    command.done("run", "small.toml", "--allow-code", "--out", "one")
    digest = hashlib.sha256((here / "least.py").read_bytes()).hexdigest()
    manifest = (here / "one/manifest.json").read_text(encoding="utf-8")
    assert f'"kind": "python:least.py:LeastAnswered sha256:{digest}"' in manifest
    assert command("replay", "one").code == 2
    command.done("replay", "one", "--allow-code")
    (here / "least.py").write_text(f"{POLICY}# another\n", encoding="utf-8")
    assert "protocol.policy.kind" in command.refused("replay", "one", "--allow-code", code=3)


def test_what_it_chooses_counts(command, here):
    command.done("run", "small.toml", "--allow-code", "--out", "one")
    other = ("--set", "protocol.policy.first=3", "--allow-code", "--out", "other")
    command.done("run", "small.toml", *other)
    curves = [(here / name / "curve.parquet").read_bytes() for name in ("one", "other")]
    assert curves[0] != curves[1]


def test_budgets_that_follow_chances_are_refused_by_name(command, here):
    text = (here / "small.toml").read_text(encoding="utf-8")
    (here / "small.toml").write_text(text + AS_ASKED, encoding="utf-8")
    line = command.refused("check", "small.toml", "--allow-code")
    assert "privacy.budget.kind: given 'as-asked'; allowed is anything else: " in line


@pytest.mark.parametrize("verb", ["run", "forecast"])
def test_an_owner_that_is_none_is_one_line(verb, command, here):
    assert (here / "least.py").exists()
    line = command.refused(verb, "small.toml", "--allow-code", "--set", "protocol.policy.first=4")
    assert "protocol.policy: given 4 by least-answered; allowed is an owner that may" in line
