"""Results held against each other: their figures, and their files."""
