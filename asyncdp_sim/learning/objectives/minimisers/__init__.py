"""Minimisers of convex objectives over a box."""
