"""Discrete-event simulation of asynchronous networks that learn under differential privacy."""

__version__ = "0.1.0"
