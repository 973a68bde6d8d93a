"""Audits of observers that receive no single answer: of sums, of models, of nodes' views."""
