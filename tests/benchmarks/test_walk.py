"""One live update passes through few files and asks few questions; the counter counts both."""

import sys

from tests.benchmarks.walk import switches, walk
from tests.tables import table

TABLE = table(__file__, "walk.toml")
SNIPPET = TABLE["snippet"]


def test_switches_are_counted_by_line(tmp_path):
    file = tmp_path / "asks.py"
    file.write_text(SNIPPET, encoding="utf-8")
    assert dict(switches(str(file))) == {3: 2, 5: 1, 6: 1, 7: 1}


def test_a_live_update_passes_no_more_than_this():
    """Gradient, clip and noise are said in one method; the kernel goes on in one way.

    Each answer passes 43 questions; a second, inlined loop of the kernel asked four fewer.

    Choosing callables where a run begins asks 26, and hides which noise is added.
    """
    traced = sys.gettrace()
    seen = walk()
    sys.settrace(traced)
    through = {
        "core/kernel.py",
        "network/protocols/star.py",
        "learning/live.py",
        "trace/recorder.py",
    }
    assert through <= set(seen.files)
    assert len(seen.files) <= 13
    assert 0 < seen.switches.total() <= 43
