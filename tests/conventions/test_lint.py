"""Lint, types and import contracts: how the code reads is tested like what it does.

They need tools whose versions are pinned, so they are not run with other versions of packages.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
import networkx as nx
import pytest

from analysis.house import PICTURE, layers

ROOT = Path(__file__).resolve().parents[2]
GRAPH = grimp.build_graph("asyncdp_sim", cache_dir=None, exclude_type_checking_imports=True)


def tool(*command):
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    "command",
    [
        ("ruff", "check", "--no-cache", "."),
        ("ruff", "format", "--check", "--no-cache", "."),
        pytest.param(("mypy",), marks=pytest.mark.long),
    ],
    ids=["ruff check", "ruff format", "mypy --strict"],
)
def test_lint_and_types(command):
    done = tool(*command)
    assert done.returncode == 0, done.stdout + done.stderr


def test_import_contracts():
    code = "import sys; from importlinter.cli import lint_imports_command as run; sys.exit(run())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def contracts():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]
    return {each["name"].split(":")[0]: each for each in settings["importlinter"]["contracts"]}


def test_every_module_has_its_floor():
    """Contracts name modules: one that none names could import whatever it likes."""
    floors = re.split(r" [|:] |\n", "\n".join(contracts()["Floors"]["layers"]))
    assert len(floors) == len(set(floors)) > 20
    modules = set(GRAPH.modules) - {"asyncdp_sim", "asyncdp_sim.__main__"}
    lower = {floor for floor in floors if floor.startswith("asyncdp_sim.")}

    def held(module):
        inside = {each for each in lower if each.startswith(f"{module}.")}
        below = GRAPH.find_children(module)
        return any(f"{module}.".startswith(f"{floor}.") for floor in lower) or (
            inside and all(held(child) for child in below)
        )

    assert lower <= modules
    assert [module for module in sorted(modules) if not held(module)] == []


def test_no_module_but_those_of_figures_may_draw():
    drawing = next(each for name, each in contracts().items() if name.startswith("Drawing"))
    top = GRAPH.find_children("asyncdp_sim") - {"asyncdp_sim.figures", "asyncdp_sim.__main__"}
    assert set(drawing["source_modules"]) == top


def test_no_circle():
    """Of modules, whatever packages they are in; what types alone name is not imported."""
    arrows = ((m, n) for m in GRAPH.modules for n in GRAPH.find_modules_directly_imported_by(m))
    circles = nx.strongly_connected_components(nx.DiGraph(arrows))
    assert [sorted(circle) for circle in circles if len(circle) > 1] == []


def test_the_drawn_house_has_every_room():
    words = re.findall(r">([\w.]+)</text>", PICTURE.read_text(encoding="utf-8"))
    drawn = set(" ".join(words).replace(". ", ".").split())  # a long name takes two lines
    assert drawn == {room for layer in layers() for room in layer}
