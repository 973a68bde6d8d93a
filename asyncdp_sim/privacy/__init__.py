"""Bounds, noise, charges, and what they guarantee."""

from asyncdp_sim.privacy.guarantee import Guarantee, guarantee
from asyncdp_sim.privacy.ledger import spent
from asyncdp_sim.privacy.sensitivity import Clip, Declared, Domain
from asyncdp_sim.privacy.spec import Privacy

__all__ = ["Clip", "Declared", "Domain", "Guarantee", "Privacy", "guarantee", "spent"]
