"""A scenario in words."""

from asyncdp_sim.describe.scenario import describe, network_findings, privacy_findings

__all__ = ["describe", "network_findings", "privacy_findings"]
