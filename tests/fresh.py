"""Fresh seeds: every nightly test has its own from one number, which is told and can be given."""

import os
import secrets
from collections.abc import Callable, Sequence
from zlib import crc32

GIVEN = "ASYNCDP_NIGHTLY_SEED"
"""Environment variable of the one number; without it a test draws one."""

Record = Callable[[str, object], None]
"""pytest's ``record_property``: what a test tells of itself along with its outcome."""


def fresh_seed() -> int:
    """Return a seed below 2³¹ that only the running test has, and print what it comes from."""
    number = int(os.environ.get(GIVEN) or secrets.randbits(32))
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    seed = crc32(f"{number} {test}".encode()) >> 1
    print(f"fresh seed {seed}, of {GIVEN}={number}")  # shown by pytest when the test fails
    return seed


def none_escapes(record: Record, tried: int, escapes: Sequence[object]) -> None:
    """Tell how many inputs a test tried, and fail with those that escaped."""
    record("tried", tried)
    record("escapes", len(escapes))
    if len(escapes) > 0:
        raise AssertionError("\n".join(map(str, escapes)))
