"""The base of frozen specifications, families of kinds, plug-ins, and validation."""
