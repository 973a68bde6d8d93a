"""Gradients of many records at several models at once: products in which models keep their bits."""
