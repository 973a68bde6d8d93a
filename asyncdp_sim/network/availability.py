"""When an owner is online."""

from typing import Literal

from asyncdp_sim.spec import Spec


class Always(Spec):
    """Every owner is online all the time."""

    kind: Literal["always"] = "always"
