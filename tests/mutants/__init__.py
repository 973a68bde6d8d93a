"""Plausible mistakes, planted one at a time: each must be noticed by a test that is named."""
