"""Scenarios and results as text: JSON, and the parts that cells of a sweep write alike."""
