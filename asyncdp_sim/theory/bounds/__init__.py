"""Bounds on expected fitness that hold."""
