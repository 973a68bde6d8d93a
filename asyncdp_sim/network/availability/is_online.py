"""Presence of an owner, worked out when its clock ticks."""

from collections.abc import Callable

IsOnline = Callable[[int, int], bool]
"""From an owner (from 1) and a tick to whether it is online then; ticks never go back."""
