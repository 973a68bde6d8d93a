"""When an owner is online."""

from typing import Annotated, Literal

from asyncdp_sim.faults import lone
from asyncdp_sim.spec import Spec


class Always(Spec):
    """Every owner is online all the time."""

    kind: Literal["always"] = "always"


Availability = Annotated[Always, lone(Always)]
"""Every kind of availability; a new one joins the union here."""
