"""Clocks of all owners as one: superposed in law, or merged tick by tick."""
