"""The figures of this project's own studies; ``asyncdp plot DIR`` draws any result."""
