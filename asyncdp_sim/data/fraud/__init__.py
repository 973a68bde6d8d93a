"""ULB's table of card transactions: its columns, its synthetic twin, its kind of data."""
