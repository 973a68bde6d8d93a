"""Exact first and second moments of learning on quadratic losses: an oracle for simulated runs."""
