"""Accountants: what answers cost together, and the closed forms that attacks hold them to."""
