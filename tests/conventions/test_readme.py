"""Examples of the README work as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs():
    [example] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    psi, private = done.stdout.split()
    assert float(psi) > 0
    assert private == "True"


def test_both_commands_are_where_the_ci_script_looks():
    for mark in ("main command", "test command"):
        [command] = re.findall(rf"<!-- {mark} -->\n```bash\n(.*)\n```", README)
        assert command.startswith("python3 -m venv .venv && ")
    assert command.endswith("-m pytest -n 2")


def test_commands_named_are_commands():
    named = set(re.findall(r"`asyncdp (\w[\w-]*)", README))
    listed = subprocess.run(
        [sys.executable, "-m", "asyncdp_sim", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    words = "list new run sweep check forecast audit plot report compare replay import data"
    commands = {*words.split(), "describe", "schema", "play-release"}
    assert named == commands
    assert all(name in listed for name in named)
