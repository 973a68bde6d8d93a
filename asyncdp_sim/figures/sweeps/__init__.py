"""Figures that compare the cells of a sweep."""
