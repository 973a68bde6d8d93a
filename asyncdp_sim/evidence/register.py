"""Oracles: tests that compare a statistic of the simulator with something independent of it.

The register beside this module is written by ``python -m tests.oracles`` from the marks of tests.
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from asyncdp_sim.spec.base import Variant
from asyncdp_sim.spec.plugins import is_outside


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
            "replay": "a live run equals its replay; there is no formula",
            "unverified": "not checked by an oracle",
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
    kinds : tuple of str
        Names of the classes that the simulated networks or learners are made of, and that would
        fail it.
    basis : Basis
    """

    statistic: str
    formula: str
    source: str
    setting: str
    tests: tuple[str, ...]
    kinds: tuple[str, ...]
    basis: Basis

    @property
    def name(self) -> str:
        """Its first test, by which manifests name it."""
        return self.tests[0]


@cache
def oracles() -> tuple[Oracle, ...]:
    """Return all oracles, in the order of the register."""
    rows = json.loads(files(__package__).joinpath("oracles.json").read_text("utf-8"))
    return tuple(_oracle(**row) for row in rows)


def _oracle(tests: list[str], kinds: list[str], basis: str, **texts: Any) -> Oracle:
    return Oracle(**texts, tests=tuple(tests), kinds=tuple(kinds), basis=Basis(basis))


@cache
def oracles_of(kind: type[Variant]) -> tuple[Oracle, ...]:
    """Return the oracles that a kind is held against; of one from outside there are none."""
    if is_outside(kind):
        return ()
    return tuple(oracle for oracle in oracles() if kind.__name__ in oracle.kinds)


def named(name: str) -> Oracle | None:
    """Return the oracle of a name; None where another version of the package had it."""
    return next((oracle for oracle in oracles() if oracle.name == name), None)


@cache
def basis_of(kind: type[Variant]) -> Basis:
    """Return the strongest basis that any oracle gives a kind."""
    value = {item.basis for item in oracles_of(kind)}
    return next((basis for basis in Basis if basis in value), Basis.unverified)
