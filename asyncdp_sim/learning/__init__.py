"""Learning: objectives, algorithms, replay over traces, live inside the network."""
