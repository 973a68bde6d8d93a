"""How long the command line takes to answer, against the imports that it cannot do without."""

import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.benchmark


def seconds(code, *arguments):
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, check=True)
    return time.perf_counter() - began


def test_help(record_property):
    bare = min(seconds("import numpy, pydantic, typer, rich") for _ in range(5))
    ours = min(seconds("import asyncdp_sim.cli as c; c.main()", "--help") for _ in range(5))
    record_property("ratio", ours / bare)
    print(f"asyncdp --help {ours:.2f} s, bare imports {bare:.2f} s: {ours / bare:.2f} times")
    assert ours < 3 * bare
