"""The multilayer perceptron: its function, its fitness and how that is descended."""
