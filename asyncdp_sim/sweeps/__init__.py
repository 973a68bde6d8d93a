"""Many scenarios: the grid of a ``[sweep]``, cell by cell, each network simulated once."""
