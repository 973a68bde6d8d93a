"""Figures of one run, or of a few runs in one frame."""
