"""Exports: what was decided, in forms that other software carries out."""
