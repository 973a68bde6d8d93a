"""The basis of a run's numbers: of each of its kinds, and of what they make together.

Oracles are tests that compare a statistic of the simulator with something independent of it. Their
register, beside this module, is written by ``python -m tests.oracles`` from the marks of tests.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from asyncdp_sim.evidence.exact_moments import CLIPPED, SAMPLED, nonlinear, out_of_order
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec.base import Spec, Variant
from asyncdp_sim.spec.plugins import is_outside
from asyncdp_sim.theory.predict.all import predict
from asyncdp_sim.theory.predict.facts import Facts
from asyncdp_sim.theory.predict.protocols import facts_of
from asyncdp_sim.theory.predict.staleness import holds_from, settled_from
from asyncdp_sim.theory.prediction import Prediction


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


PSI = "psi_final"
OF_NETWORK = ("clock", "availability", "channel", "latency", "compute", "protocol", "topology")
"""Sections that decide which messages are sent, and when."""
OUTSIDE = "{} is from outside this package, and no test of the package covers it"
MOMENTS = "exact moments of E ψ"
ORDERED = "moments exact for a given order of owners: {}"
CLIPPED_MOMENTS = "moments with clipping, within 6 % in all tested cases"
_NO_SPEC = frozenset((str, int, float, bool, type(None)))
"""Types of most values: checked first, since that is faster than asking for a specification."""
REPLAYED = "learning inside the network equals replay over its trace; no closed form: {}"


def rests_on(
    scenario: Scenario, *, interior: bool = True, projected: int = 0
) -> dict[str, list[dict[str, Any]]]:
    """Return what the numbers of a scenario's run rest on, for its manifest.

    Parameters
    ----------
    scenario : Scenario
        Without a sweep.
    interior : bool
        Whether the optimum without bounds lies in Θ.
    projected : int
        Updates in which the projection onto Θ changed a model.

    Returns
    -------
    dict
        ``kinds``: ``at`` (key path), ``kind``, ``basis``, ``oracles`` (names of those that give it
        its basis); ``together``: ``figure``, ``basis``, ``why``.
    """
    kinds = dict(_kinds(scenario))
    listed = [
        {
            "at": at,
            "kind": kind.kind,
            "basis": str(basis_of(type(kind))),
            "oracles": list(_names(type(kind))),
        }
        for at, kind in kinds.items()
    ]
    learned = _of_learning(scenario, kinds, interior, projected)
    return {"kinds": listed, "together": [*_of_network(scenario, kinds), learned]}


@lru_cache(maxsize=256)  # cells of a sweep have the same kinds
def _names(kind: type[Variant]) -> tuple[str, ...]:
    """Return the oracles that give a kind its basis."""
    basis = basis_of(kind)
    return tuple(item.name for item in oracles_of(kind) if item.basis == basis)


def _kinds(spec: Spec, at: str = "") -> Iterator[tuple[str, Variant]]:
    """Yield every kind in a specification by its key path, the first of several alike."""
    for name in _fields(type(spec)) or ():
        value = getattr(spec, name)
        if type(value) in _NO_SPEC:
            continue
        several = value if isinstance(value, tuple | list) else (value,)
        inner = value.values() if isinstance(value, dict) else several
        seen = set[str]()
        for item in inner:
            if _fields(item.__class__) is None:
                continue
            path = f"{at}{name}"
            if _is_kind(item.__class__):
                if item.kind in seen:
                    continue
                yield (path if len(seen) == 0 else f"{path} ({item.kind})"), item
                seen.add(item.kind)
            yield from _kinds(item, f"{path}.")


@lru_cache(maxsize=256)  # which takes longer to tell of a class than to look it up
def _fields(of: type) -> tuple[str, ...] | None:
    """Return the fields of a specification; None of what is none."""
    return tuple(of.model_fields) if issubclass(of, Spec) else None


@lru_cache(maxsize=256)
def _is_kind(of: type) -> bool:
    return issubclass(of, Variant)


def _stranger(kinds: dict[str, Variant], sections: tuple[str, ...] | None = None) -> str | None:
    """Name a kind from outside, of some sections or of all."""
    for at, kind in kinds.items():
        if kind.outside and (sections is None or at.split(".")[0].split(" ")[0] in sections):
            return f"{at} = {kind.kind}"
    return None


def _of_network(scenario: Scenario, kinds: dict[str, Variant]) -> Iterator[dict[str, Any]]:
    """Yield a row for each figure of the network that some formula gives, or would."""
    stranger = _stranger(kinds, OF_NETWORK)
    for item in predict(scenario.network):
        if stranger is not None:
            yield _row(item.quantity, Basis.unverified, OUTSIDE.format(stranger))
        elif item.value is None:
            between = "" if item.between is None else "{:.3g} to {:.3g}, ".format(*item.between)
            yield _row(item.quantity, Basis.unverified, f"{between}{item.reason}")
        else:
            yield _in_a_run(facts_of(scenario.network), item)


def _in_a_run(facts: Facts, found: Prediction) -> dict[str, Any]:
    """Return the row of a prediction: exact, or only in runs that are longer than this one."""
    updates, first = facts.network.updates, holds_from(facts, found)
    if found.quantity == "mean_staleness":
        first *= 100  # its spread is small, and shows the last per cent
    if updates >= first:
        return _row(found.quantity, Basis.exact, found.formula)
    off = f"in the long run, about {settled_from(facts) / updates:.2g} % off in {updates} updates"
    return _row(found.quantity, Basis.approximation, f"{found.formula}; {off}")


def _of_learning(
    scenario: Scenario, kinds: dict[str, Variant], interior: bool, projected: int
) -> dict[str, Any]:
    """Return the row of ψ: the validation of the model's quality."""
    stranger = _stranger(kinds)
    if stranger is not None:
        return _row(PSI, Basis.unverified, OUTSIDE.format(stranger))
    doubts = nonlinear(scenario, interior=interior)
    if projected > 0:
        doubts.append(f"the projection onto Θ changed models in {projected} updates")
    order = out_of_order(scenario)
    if len(order) > 0 and scenario.privacy.sampling is not None:
        doubts.append(SAMPLED)
    if len(doubts) == 0 and len(order) == 0:
        return _row(PSI, Basis.exact, MOMENTS)
    if len(doubts) == 0 and scenario.algorithm.in_rounds is None:
        return _row(PSI, Basis.exact, ORDERED.format("; ".join(order)))
    one_on_one = scenario.algorithm.one_on_one is not None
    if doubts == [CLIPPED] and len(order) == 0 and one_on_one:
        return _row(PSI, Basis.approximation, CLIPPED_MOMENTS)
    return _row(PSI, Basis.replay, REPLAYED.format("; ".join(doubts + order)))


def _row(figure: str, basis: Basis, why: str) -> dict[str, Any]:
    return {"figure": figure, "basis": str(basis), "why": why}
