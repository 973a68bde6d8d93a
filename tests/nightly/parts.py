"""The parts of the nightly run: what each consists of, and how its items are run."""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

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


class Part(ABC):
    """A part of the nightly run; what it found of each item is kept by the part's name."""

    @abstractmethod
    def items(self) -> list[str]:
        """Return the names of what it consists of."""

    @abstractmethod
    def run(self, items: Sequence[str], seed: int) -> Iterator[tuple[str, Found]]:
        """Run items; yield each with what was found, fresh seeds from one number."""


class Oracles(Part):
    """Files of tests that oracles name, those of ``tests/verification`` whole."""

    def items(self) -> list[str]:
        """Return the files."""
        return [*_named(), *(f"verification/test_{name}.py" for name in about_no_kind())]

    def run(self, items: Sequence[str], seed: int) -> Iterator[tuple[str, Found]]:
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


class Mutants(Part):
    """Planted mistakes, each of which a test must notice."""

    def items(self) -> list[str]:
        """Return the names of all mutants."""
        return [each.name for each in MUTANTS]

    def run(self, items: Sequence[str], seed: int) -> Iterator[tuple[str, Found]]:  # noqa: ARG002
        """Yield of each mutant the test that noticed it."""
        with tempfile.TemporaryDirectory() as folder:
            for found in hunt([each for each in MUTANTS if each.name in set(items)], Path(folder)):
                yield found.mutant.name, {"noticed_by": found.killer}


class Versions(Part):
    """The whole suite on the oldest declared versions and on the newest."""

    def items(self) -> list[str]:
        """Return the environments."""
        return [str(each) for each in matrix.ALL]

    def run(self, items: Sequence[str], seed: int) -> Iterator[tuple[str, Found]]:  # noqa: ARG002
        """Yield of each environment how its suite ended, and the packages' versions."""
        chosen = [each for each in matrix.ALL if str(each) in set(items)]
        for found in matrix.run(ROOT / ".versions", ["-n", "2"], chosen):
            yield str(found.environment), {
                "passed": found.passed, "said": found.said, "packages": found.packages,
            }  # fmt: skip


class Fuzz(Part):
    """Inputs with mistakes in them, random networks, programs that are killed."""

    def items(self) -> list[str]:
        """Return the files of tests."""
        return list(FUZZ)

    def run(self, items: Sequence[str], seed: int) -> Iterator[tuple[str, Found]]:
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


PARTS: dict[str, Part] = {
    "oracles": Oracles(),
    "mutants": Mutants(),
    "versions": Versions(),
    "fuzz": Fuzz(),
}
