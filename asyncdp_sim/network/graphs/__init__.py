"""Graphs: which owners gossip with each other, and which servers exchange models."""
