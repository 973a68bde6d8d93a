import re
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from asyncdp_sim.figures import draw_all
from asyncdp_sim.runs.run import run, write
from asyncdp_sim.scenario import load
from asyncdp_sim.sweeps.sweep import sweep
from tests.scenes import text
from tests.tables import table
from tests.unit.figures.looks import faults
from tests.unit.figures.read import alike, as_read

SMALL = text(**table(__file__, "small.toml"))
DIGEST = re.compile(r"\b[0-9a-f]{12}\b")
SWEPT = """
[sweep]
"privacy.epsilon" = [0.5, 1.0, inf]
"""


@pytest.fixture(autouse=True)
def looked_at(monkeypatch):
    """Hold, of every figure that a test draws, that nothing is cut off or lies on anything else."""
    execute = ConstrainedLayoutEngine.execute

    def held(self: ConstrainedLayoutEngine, figure: Figure) -> None:
        execute(self, figure)
        assert faults(figure) == []

    monkeypatch.setattr(ConstrainedLayoutEngine, "execute", held)


@pytest.fixture
def reads(request, file_regression):
    """Compare pictures, or pages of captions, with the file that has the test's name."""

    def compare(*shown):
        name = request.node.name.removeprefix("test_").replace("[", "-").removesuffix("]")
        file = Path(__file__).parent / "pictures" / f"{name}.txt"
        text = "\n".join(
            DIGEST.sub("…", each) if isinstance(each, str) else as_read(each) for each in shown
        )
        file_regression.check(text, encoding="utf-8", fullpath=file, check_fn=alike)

    return compare


@pytest.fixture(scope="session")
def outcome(tmp_path_factory):
    file = tmp_path_factory.mktemp("scenario") / "s.toml"
    file.write_text(SMALL)
    return run(load(file)[0])


@pytest.fixture
def result(outcome, tmp_path):
    write(outcome, tmp_path / "result")
    return tmp_path / "result"


@pytest.fixture(scope="session")
def drawn_result(outcome, tmp_path_factory):
    """One result with its figures, for tests that only read."""
    directory = tmp_path_factory.mktemp("drawn") / "result"
    write(outcome, directory)
    draw_all(directory)
    return directory


@pytest.fixture
def swept(tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(SMALL + SWEPT)
    sweep(load(file)[0], tmp_path / "sweep")
    return tmp_path / "sweep"
