"""The suite on the oldest versions that the project declares, and on the newest there are."""
