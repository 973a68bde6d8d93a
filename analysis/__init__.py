"""The figures of this project's own studies; ``python -m analysis DIR`` draws any result."""
