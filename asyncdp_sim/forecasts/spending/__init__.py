"""Advice on spending budgets unevenly over an owner's answers: by which rule, if it pays."""

from asyncdp_sim.forecasts.spending.advice import Spending, spend

__all__ = ["Spending", "spend"]
