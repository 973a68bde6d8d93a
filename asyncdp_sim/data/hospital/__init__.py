"""New York's hospital discharges: columns, two encodings, a synthetic twin, a kind of data."""
