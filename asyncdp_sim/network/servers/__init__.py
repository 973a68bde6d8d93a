"""Several parameter servers: their steps, their clients, and their agreement."""
