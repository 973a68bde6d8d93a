"""Every sentence on scenarios, decisions, forecasts and results; the meanings of names."""
