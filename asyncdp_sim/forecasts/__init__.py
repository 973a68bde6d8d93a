"""The answer without training: how good, how soon, at what privacy cost, and who gains."""
