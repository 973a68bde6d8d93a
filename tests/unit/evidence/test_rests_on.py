"""The basis of a run follows its scenario: kinds, formulas that hold, moments that apply."""

from pathlib import Path
from typing import Any

import pytest

from asyncdp_sim.evidence import Basis, named, oracles_of, rests_on
from asyncdp_sim.network.clocks import PoissonClock
from asyncdp_sim.results import read_manifest
from asyncdp_sim.runs import run, write
from asyncdp_sim.scenario import Scenario
from asyncdp_sim.spec.base import parse
from tests.scenes import fields

BASE: dict[str, Any] = fields(
    id="rests",
    run={"replicates": 2},
    owners={"records": 20},
    model={"regularisation": 0.2},
    algorithm={"rho": 1.0},
    privacy={"sensitivity": {"kind": "declared", "bound": 3.0}},
)
CLIP = {"epsilon": 1.0, "sensitivity": {"kind": "clip", "bound": 3.0}}
PARALLEL = {"kind": "exponential", "mean": 0.3}


def together(**parts: Any) -> dict[str, tuple[str, str]]:
    rows = rests_on(parse(Scenario, BASE | parts))["together"]
    return {row["figure"]: (row["basis"], row["why"]) for row in rows}


@pytest.mark.parametrize(
    ("parts", "basis", "why"),
    [
        ({}, Basis.exact, "exact moments"),
        ({"privacy": CLIP}, Basis.approximation, "6 %"),
        ({"model": {"kind": "logistic", "regularisation": 0.2}, "data": {
            "kind": "gaussian", "features": 2, "labels": True}}, Basis.replay, "not quadratic"),
        ({"protocol": {"kind": "push"}, "compute": PARALLEL}, Basis.replay, "may be stale"),
        ({"run": {"updates": 20, "replicates": 2, "until": 3.0}}, Basis.exact, "given order"),
    ],
    ids=["exact", "clipped", "logistic", "stale", "until"],
)  # fmt: skip
def test_psi_rests_on_what_holds(parts: dict[str, Any], basis: Basis, why: str) -> None:
    given, said = together(**parts)["psi_final"]
    assert given == basis
    assert why in said


def test_one_projection_is_enough_to_leave_the_moments() -> None:
    last = rests_on(parse(Scenario, BASE), projected=1)["together"][-1]
    assert last["basis"] == Basis.replay
    assert "the projection onto Θ changed models in 1 updates" in last["why"]


def test_figures_of_a_network_rest_on_formulas_that_hold() -> None:
    assert together(run={"updates": 100})["throughput"][0] == Basis.exact
    basis, why = together()["throughput"]
    assert basis == Basis.approximation
    assert "about 5 % off in 20 updates" in why
    gamma = {"kind": "gamma", "rate": 1.0, "cv": 0.5}
    busy = together(clock=gamma, compute=PARALLEL)["throughput"]
    assert busy[0] == Basis.unverified
    assert "not Poisson" in busy[1]


class Mine(PoissonClock):
    """A clock that this package does not know."""

    kind: str = "mine"  # type: ignore[assignment]


def test_a_kind_from_outside_is_unverified_and_so_is_all_that_it_is_part_of() -> None:
    found = rests_on(parse(Scenario, BASE).model_copy(update={"clock": Mine()}))
    assert {row["basis"] for row in found["together"]} == {"unverified"}
    assert all("outside" in row["why"] for row in found["together"])
    clock = next(row for row in found["kinds"] if row["at"] == "clock")
    assert clock == {"at": "clock", "kind": "mine", "basis": "unverified", "oracles": []}


def test_a_name_of_ours_gives_a_kind_from_outside_no_oracle() -> None:
    namesake = type("PoissonClock", (PoissonClock,), {"__module__": __name__})
    assert len(oracles_of(PoissonClock)) > 5
    assert oracles_of(namesake) == ()


def test_a_manifest_says_it_and_its_projections_count(tmp_path: Path) -> None:
    write(run(parse(Scenario, BASE)), tmp_path / "free")
    confined = BASE | {"model": {"kind": "ridge", "regularisation": 0.2, "theta_max": 1e-3}}
    write(run(parse(Scenario, confined)), tmp_path / "confined")
    free, held = (
        read_manifest(tmp_path / name, "rests_on")["rests_on"] for name in ("free", "confined")
    )
    assert free == rests_on(parse(Scenario, BASE))
    assert free["together"][-1]["basis"] == "exact"
    assert held["together"][-1]["basis"] == "replay"
    assert "projection" in held["together"][-1]["why"]
    kinds = {row["at"]: row for row in free["kinds"]}
    assert {"data", "clock", "channel", "protocol", "algorithm", "model", "compute"} <= set(kinds)
    assert kinds["privacy.mechanism"]["kind"] == "laplace"
    assert all(named(name) is not None for row in kinds.values() for name in row["oracles"])
