"""Objects that the Python door returns: results, forecasts and traces with their pictures."""
