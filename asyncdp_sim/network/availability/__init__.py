"""Availability of owners, one kind per file."""

from typing import Annotated

from asyncdp_sim.families import FAMILY
from asyncdp_sim.network.availability.always import Always
from asyncdp_sim.network.availability.bernoulli import Bernoulli
from asyncdp_sim.network.availability.churn import Churn
from asyncdp_sim.network.availability.diurnal import Diurnal
from asyncdp_sim.network.availability.intervals import Intervals
from asyncdp_sim.network.availability.on_off import OnOff
from asyncdp_sim.network.availability.outages import Outages

Availability = Annotated[Always | Bernoulli | OnOff | Diurnal | Churn | Outages | Intervals, FAMILY]
"""Every kind of availability; a new one joins by its line here."""

__all__ = [
    "Always",
    "Availability",
    "Bernoulli",
    "Churn",
    "Diurnal",
    "Intervals",
    "OnOff",
    "Outages",
]
