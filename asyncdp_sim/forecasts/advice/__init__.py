"""Choices compared by simulated runs: the step and its length, owners to invite, budgets to buy."""
