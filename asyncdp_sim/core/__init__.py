"""What everything stands on: errors, time units, random streams, the kernel, files."""
