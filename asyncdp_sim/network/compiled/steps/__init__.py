"""Steps of the compiled loop, each a function that numba compiles into it."""
