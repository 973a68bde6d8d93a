"""Results that are of observers: of sums of answers, and of messages between nodes."""
