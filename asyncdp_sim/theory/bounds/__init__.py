"""Bounds on expected fitness: those printed in the papers, and those that hold."""
