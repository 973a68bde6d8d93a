"""The simulator against theory: closed forms and exact recursions (docs: ORACLES)."""
