"""The ground floor: errors, time units, random streams, the kernel, files."""
