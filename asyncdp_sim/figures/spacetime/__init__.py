"""The space–time diagram: messages, locks and absences of a window of simulated time."""
