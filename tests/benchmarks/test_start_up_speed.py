"""Time that the command line takes to answer, against the imports that it cannot do without."""

import subprocess
import sys
from functools import partial

import pytest

from tests.benchmarks.ratio import best_times, told

pytestmark = pytest.mark.benchmark


def python(code, *arguments):
    subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=True)


def test_help(record_property):
    bare = partial(python, "import typer, rich")
    help_asked = partial(python, "import asyncdp_sim.cli as c; c.main()", "--help")
    ours, baseline = best_times(help_asked, bare, rounds=25)
    told(record_property, "help", ours, baseline)
