"""Private learning over Flower: clients that answer with noise, and a server that learns."""
