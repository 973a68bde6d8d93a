"""Predictions for a network from its specification alone: which formula holds when."""
