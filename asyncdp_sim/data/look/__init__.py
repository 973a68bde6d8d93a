"""A look at a table: what its columns hold, what is suspicious, and how they would be encoded."""
