"""Choices sought by moments and settled by simulated runs: step, length, coalition, budgets."""
