"""Closed forms that know no network: a formula a subject, with its domain and its source."""
