"""The catalogue of scenarios, and the command that runs one and draws its figures."""

from scenarios.catalogue import Entry, catalogue, entry

__all__ = ["Entry", "catalogue", "entry"]
