"""Forecasts from second moments: exact, or exact given the order of updates."""
