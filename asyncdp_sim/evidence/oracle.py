"""An oracle: a test that holds a statistic of the simulator against something independent of it."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from asyncdp_sim.spec import Kind, members


class Basis(StrEnum):
    """Grounds on which a number rests, the strongest first."""

    exact = "exact"
    approximation = "approximation"
    replay = "replay"
    unverified = "unverified"

    @property
    def words(self) -> str:
        """What it means."""
        return {
            "exact": "an exact oracle",
            "approximation": "an approximation, with its range",
            "replay": "live = replay only",
            "unverified": "unverified",
        }[self]


@dataclass(frozen=True)
class Oracle:
    """A statistic with an independent value, and the tests that compare them.

    Attributes
    ----------
    statistic : str
        What is measured of the simulator.
    formula : str
        What it must equal.
    source : str
        Where that comes from: an author, a module of the package, a method.
    setting : str
        Where it was checked: what it says nothing beyond.
    tests : tuple of str
        Ids, ``folder/file.py::function`` beneath ``tests``.
    kinds : tuple of classes
        The kinds that the simulated networks or learners are made of, and that would fail it.
    basis : Basis
    """

    statistic: str
    formula: str
    source: str
    setting: str
    tests: tuple[str, ...]
    kinds: tuple[type[Kind], ...]
    basis: Basis = Basis.exact

    @property
    def name(self) -> str:
        """Its first test, by which manifests name it."""
        return self.tests[0]


def tests(file: str, *functions: str) -> tuple[str, ...]:
    """Return the ids of tests of one file, each named by what follows ``test_``."""
    ends = (function.rpartition("::") for function in functions)
    return tuple(f"{file}.py::{within}{colons}test_{name}" for within, colons, name in ends)


def verified(name: str, *functions: str) -> tuple[str, ...]:
    """Return the ids of tests of one file of ``tests/verification``."""
    return tests(f"verification/test_{name}", *functions)


def every(*families: Any) -> tuple[type[Kind], ...]:
    """Return the members of families whose suites try each member, those to come too."""
    return tuple(member for family in families for member in members(family))
