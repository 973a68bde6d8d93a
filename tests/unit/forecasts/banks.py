"""A small scenario, as raw tables, and coalitions of its owners."""

from asyncdp_sim.forecasts.contest import ends
from asyncdp_sim.forecasts.invite import by_themselves
from tests.scenes import fields
from tests.tables import table


def banks(records=(400, 900, 300), epsilon=(1.0, 2.0, 0.5), updates=60, rho=30.0):
    """Return three owners of made-up records with a declared bound."""
    asked = table(__file__, "banks.toml")
    asked["run"] |= {"updates": updates, "record_every": updates}
    asked["privacy"]["epsilon"] = list(epsilon)
    owners = {"count": len(records), "records": list(records)}
    return fields(owners=owners, algorithm={"rho": rho}, **asked)


def trial(known, coalition, numbers):
    """Return ψ at the end of simulated runs of a coalition's members alone, (R,)."""
    scenario, dataset = by_themselves(known, coalition)
    return ends(scenario, numbers, dataset=dataset)
