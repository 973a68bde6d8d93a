"""The parts of the nightly run: what each consists of, and how its items are run."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.mutants.hunt import hunt
from tests.mutants.mutant import MUTANTS
from tests.nightly.kept import Found
from tests.nightly.reports import ROOT, reports
from tests.oracles import oracles
from tests.tables import table
from tests.versions import matrix

TABLE = table(__file__, "parts.toml")
FUZZ = TABLE["fuzz"]
"""Files with tests at nightly size whose inputs are drawn, and which count what they try."""


class Part(NamedTuple):
    """A part of the nightly run; what it found of each item is kept by the part's name.

    Attributes
    ----------
    items : callable
        Returns the names of what it consists of.
    run : callable
        Runs items; yields each with what was found, fresh seeds from one number.
    """

    items: Callable[[], list[str]]
    run: Callable[[Sequence[str], int], Iterator[tuple[str, Found]]]


def files_of_oracles() -> list[str]:
    """Return files of tests that oracles name, those of ``tests/verification`` whole."""
    return [*_named(), *(f"verification/test_{name}.py" for name in about_no_kind())]


def run_oracles(items: Sequence[str], seed: int) -> Iterator[tuple[str, Found]]:
    """Yield of each file its tests that passed or not, and the scores of each."""
    for item in items:
        found = list(reports(chosen_of(item), seed))
        yield (
            item,
            {
                "passed": [each.test for each in found if each.outcome == "passed"],
                "failed": {each.test: each.why for each in found if each.outcome != "passed"},
                "scores": {each.test: s for each in found if (s := each.recorded("score"))},
            },
        )


def _named() -> list[str]:
    return list(dict.fromkeys(t.partition("::")[0] for each in oracles() for t in each.tests))


def about_no_kind() -> list[str]:
    """Return the names of the files of ``tests/verification`` that no oracle names."""
    files = (ROOT / "tests" / "verification").glob("test_*.py")
    others = {file.stem.removeprefix("test_") for file in files} - {
        file.removeprefix("verification/test_").removesuffix(".py") for file in _named()
    }
    return sorted(others)


def chosen_of(file: str) -> list[str]:
    """Return what is run of a file: all of it, or the tests that oracles name."""
    if file.startswith("verification/"):
        return [file]
    named = [test for each in oracles() for test in each.tests if test.startswith(f"{file}::")]
    return list(dict.fromkeys(named))


def run_mutants(items: Sequence[str], seed: int) -> Iterator[tuple[str, Found]]:  # noqa: ARG001
    """Yield of each planted mistake the test that noticed it."""
    with tempfile.TemporaryDirectory() as folder:
        for found in hunt([each for each in MUTANTS if each.name in set(items)], Path(folder)):
            yield found.mutant.name, {"noticed_by": found.killer}


def run_versions(items: Sequence[str], seed: int) -> Iterator[tuple[str, Found]]:  # noqa: ARG001
    """Yield of each environment how the whole suite ended, and the packages' versions."""
    chosen = [each for each in matrix.ALL if str(each) in set(items)]
    for found in matrix.run(ROOT / ".versions", ["-n", "2"], chosen):
        yield str(found.environment), {
            "passed": found.passed, "said": found.said, "packages": found.packages,
        }  # fmt: skip


def run_fuzz(items: Sequence[str], seed: int) -> Iterator[tuple[str, Found]]:
    """Yield of each file its tests at nightly size: inputs tried, escapes, outcome."""
    for item in items:
        yield (
            item,
            {
                "tests": {
                    each.test: {
                        "outcome": each.outcome,
                        "tried": sum(each.recorded("tried")),
                        "escapes": sum(each.recorded("escapes")),
                        "why": each.why,
                    }
                    for each in reports([item], seed, "nightly")
                }
            },
        )


PARTS = {
    "oracles": Part(files_of_oracles, run_oracles),
    "mutants": Part(lambda: [each.name for each in MUTANTS], run_mutants),
    "versions": Part(lambda: [str(each) for each in matrix.ALL], run_versions),
    "fuzz": Part(lambda: list(FUZZ), run_fuzz),
}
