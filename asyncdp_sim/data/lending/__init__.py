"""LendingClub's loans: columns, two encodings, a synthetic twin, a kind of data."""
