"""A small scenario, as raw tables, and coalitions of its owners."""

from asyncdp_sim.forecasts.advice.contest import ends
from asyncdp_sim.forecasts.advice.invite import by_themselves
from tests.scenes import fields


def banks(records=(400, 900, 300), epsilon=(1.0, 2.0, 0.5), updates=60, rho=30.0):
    """Return three owners of made-up records with a declared bound."""
    return fields(
        title="Small banks",
        description="For tests.",
        source="synthetic",
        run={"seed": 1, "replicates": 100, "updates": updates, "record_every": updates},
        owners={"count": len(records), "records": list(records)},
        data={"features": 3},
        clock={"kind": "poisson", "rate": 1.0},
        protocol={"kind": "request"},
        algorithm={"rho": rho},
        privacy={"epsilon": list(epsilon), "sensitivity": {"kind": "declared", "bound": 5.0}},
    )


def trial(known, coalition, numbers):
    """Return ψ at the end of simulated runs of a coalition's members alone, (R,)."""
    scenario, dataset = by_themselves(known, coalition)
    return ends(scenario, numbers, dataset=dataset)
