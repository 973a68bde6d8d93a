"""Clocks of all owners as one, superposed in law."""
