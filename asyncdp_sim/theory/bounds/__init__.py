"""Bounds that hold: on expected fitness, what records lose, and how often tasks return."""
