"""Tables whose columns are declared: how they are encoded, calibrated, and drawn as a twin."""
