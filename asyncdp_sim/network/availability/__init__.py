"""Availability of owners, one kind per file."""

from typing import Annotated

from asyncdp_sim.core.specification import FAMILY
from asyncdp_sim.network.availability.intervals import Intervals
from asyncdp_sim.network.availability.kind import Always, Bernoulli, Churn, Diurnal, OnOff, Outages

Availability = Annotated[Always | Bernoulli | OnOff | Diurnal | Churn | Outages | Intervals, FAMILY]
"""Every kind of availability; a new one joins by its line here."""
