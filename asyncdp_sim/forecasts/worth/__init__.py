"""Worth of joining for every owner, in the target's own unit."""
