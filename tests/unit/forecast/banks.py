"""A small scenario that exact moments apply to, as raw tables."""

from asyncdp_sim.forecast.exact import exact
from asyncdp_sim.forecast.expected import Recursions
from asyncdp_sim.forecast.population import population


def psi_alike(scenario):
    """Return the exact ψ at the end of owners that all have the second moments of all records."""
    found = exact(population(scenario, "common", private=False), Recursions())
    assert not isinstance(found, tuple), found
    return float(found.psi[-1])


def banks(records=(400, 900, 300), epsilon=(1.0, 2.0, 0.5), updates=60, rho=30.0):
    """Return three owners of made-up records with a declared bound."""
    return {
        "schema": 1,
        "id": "small-banks",
        "title": "Small banks",
        "description": "For tests.",
        "source": "synthetic",
        "run": {"seed": 1, "replicates": 100, "updates": updates, "record_every": updates},
        "owners": {"count": len(records), "records": list(records)},
        "data": {"kind": "gaussian", "features": 3},
        "model": {"kind": "ridge", "regularisation": 0.1},
        "clock": {"kind": "poisson", "rate": 1.0},
        "protocol": {"kind": "request"},
        "algorithm": {"kind": "async-gossip", "rho": rho},
        "privacy": {
            "epsilon": list(epsilon),
            "sensitivity": {"kind": "declared", "bound": 5.0},
        },
    }
