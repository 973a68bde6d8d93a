"""Bounds, noise, charges, and what they guarantee."""

from asyncdp_sim.privacy.accountants import Accountant, Gaussian, Pure
from asyncdp_sim.privacy.guarantee import Guarantee, Ledger, ObservedMax, guarantee
from asyncdp_sim.privacy.sensitivity import Clip, Declared, Domain
from asyncdp_sim.privacy.spec import Privacy
