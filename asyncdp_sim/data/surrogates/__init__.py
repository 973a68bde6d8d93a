"""Stand-ins: what is drawn in place of private rows, so that a forecast needs none of them."""

from typing import Annotated

from asyncdp_sim.data.surrogates.public_rows import PublicRows
from asyncdp_sim.spec.registry import FAMILY_BY_NAME

StandIn = Annotated[PublicRows, FAMILY_BY_NAME]
"""Every kind of substitute rows; a new one is added here."""
