"""Recorded runs: their traces on disk, and models learned again over them."""
