"""The register of oracles, and the tests of ``tests/verification`` that are about no kind."""

from functools import cache

from asyncdp_sim.evidence.of_algorithms import OF_ALGORITHMS
from asyncdp_sim.evidence.of_async_gossip import OF_GOSSIP
from asyncdp_sim.evidence.of_channels import OF_CHANNELS
from asyncdp_sim.evidence.of_clocks import OF_AVAILABILITY, OF_CLOCKS
from asyncdp_sim.evidence.of_data import OF_DATA
from asyncdp_sim.evidence.of_links import OF_LINKS
from asyncdp_sim.evidence.of_models import OF_CONDUCT, OF_MODELS
from asyncdp_sim.evidence.of_privacy import OF_BOUNDS, OF_COSTS, OF_NOISE
from asyncdp_sim.evidence.of_protocols import OF_PROTOCOLS
from asyncdp_sim.evidence.oracle import Basis, Oracle
from asyncdp_sim.spec import Kind

ORACLES: tuple[Oracle, ...] = (
    *OF_CLOCKS,
    *OF_AVAILABILITY,
    *OF_PROTOCOLS,
    *OF_CHANNELS,
    *OF_LINKS,
    *OF_GOSSIP,
    *OF_ALGORITHMS,
    *OF_MODELS,
    *OF_CONDUCT,
    *OF_NOISE,
    *OF_COSTS,
    *OF_BOUNDS,
    *OF_DATA,
)

NOT_OF_A_KIND = {
    "adjacency": "another meaning of neighbour than the one that is claimed",
    "advice": "what forecasts advise",
    "handing_out": "what forecasts advise a learner that chooses whom to ask",
    "audit_files": "what an audit finds in loaders of files",
    "calibration": "forecasts of random scenarios",
    "coalition": "forecasts of coalitions",
    "collusion": "what colluders and curious servers work out",
    "common_moments": "forecasts from common moments",
    "comparisons": "differences between two results",
    "fitted": "fits of measured traces",
    "forecast": "forecasts, which replays and networks are held against",
    "long_runs": "predictions of results of others, which played recursions are held against",
    "one_run": "audits in one run: what guesses of coins show, whatever the mechanism",
    "own_table": "forecasts from public rows beside runs, on two real tables",
    "reasons": "reasons for no prediction",
    "second_ways": "what audits work out anew, beside what observers state",
    "sentences": "doubts of forecasts",
    "simpy": "SimPy's own tests, on the kernel",
    "shared_record": "attackers on a record of several owners, beside what is printed of them",
    "spread": "all scores together",
}
"""Files of ``tests/verification`` by name, and what they are about instead."""


@cache
def oracles_of(kind: type[Kind]) -> tuple[Oracle, ...]:
    """Return the oracles that a kind is held against; of one from outside there are none."""
    return tuple(each for each in ORACLES if kind in each.kinds)


def named(name: str) -> Oracle | None:
    """Return the oracle of a name; None where another version of the package had it."""
    return next((each for each in ORACLES if each.name == name), None)


@cache
def basis_of(kind: type[Kind]) -> Basis:
    """Return the strongest basis that any oracle gives a kind."""
    given = {each.basis for each in oracles_of(kind)}
    return next((basis for basis in Basis if basis in given), Basis.unverified)
