"""Assumptions under which moments of learning are exact."""
