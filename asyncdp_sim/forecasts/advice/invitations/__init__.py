"""Invitations of owners: the costs that they go by, and their words."""
