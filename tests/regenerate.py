"""``python -m tests.regenerate`` writes all that is generated from the code, in the right order.

That is the reference, the schema, the tables of the parts, what ``asyncdp list`` says of privacy,
the pages of verification, the picture of the house, the list of studies, and the goldens of event
order, of the network, of screens, of pages, of refused calls and of pictures. Read the differences
like code. ``--notebook`` also runs the researcher's notebook and writes its output.
"""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from analysis.studies import every
from tests.unit.api.page import page

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / "docs" / "reference" / "python.md"
DRAW = ROOT / "asyncdp_sim" / "figures" / "draw.py"
IN_CLONE = re.compile(r"(?<=^IN_CLONE = \()[^)]*", re.M)
GOLDENS = (
    "tests/unit/reference/test_lookup.py::test_pages_are_up_to_date",
    "tests/unit/reference/test_lookup.py::test_the_schema_is_up_to_date",
    "tests/ordering/test_goldens.py::test_golden",
    "tests/reproducibility/test_golden.py::test_fingerprints_of_the_network",
    "tests/cli/test_sessions.py::test_a_session",
    "tests/unit/reports/test_page.py::test_a_page_reads_as_it_is_kept",
    "tests/unit/reports/test_forecast_page.py::test_a_page_reads_as_it_is_kept",
    "tests/unit/api/test_wrong_arguments.py::test_calls_are_refused_as_the_session_shows",
    "tests/unit/figures",
)
"""Tests that compare with files, which ``--regen-all`` writes."""


def with_studies(text: str) -> str:
    """Return the module that draws everything with the entries that have studies."""
    names = textwrap.fill(", ".join(f'"{name}"' for name in every()), 96)
    return IN_CLONE.sub(f"\n{textwrap.indent(names, '    ')},\n", text)


def main(arguments: list[str]) -> int:
    """Write everything; return the exit code of the first step that fails, or 0."""
    programs = (
        ["analysis.house"],
        ["tests.documents", *arguments],
        ["tests.nightly", "--only"],  # the pages alone
    )
    for program in programs:
        done = subprocess.run([sys.executable, "-m", *program], check=False)
        if done.returncode != 0:
            return done.returncode
    PYTHON.write_text(page(), encoding="utf-8")
    DRAW.write_text(with_studies(DRAW.read_text("utf-8")), encoding="utf-8")
    marks = "long or not long"  # whatever of them is not run by default
    return int(pytest.main(["-n", "0", "-m", marks, "--regen-all", *GOLDENS]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
