"""Formulas of figures that no part of the package asks for: simulations are held against them."""
