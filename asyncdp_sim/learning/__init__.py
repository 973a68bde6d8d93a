"""What is learned, and how: objectives, algorithms, replay over traces, live inside the network."""
