"""Accountants: the joint cost of answers, and the closed forms that attacks compare them with."""
