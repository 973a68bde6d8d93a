"""Measured exchanges of a network as laws and a scenario."""
