"""Reductions of traces: what figures draw and tests assert."""
