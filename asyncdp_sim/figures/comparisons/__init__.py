"""Pictures of several results beside each other."""
