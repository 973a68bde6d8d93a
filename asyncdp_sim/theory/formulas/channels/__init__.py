"""Closed forms of the channels."""
