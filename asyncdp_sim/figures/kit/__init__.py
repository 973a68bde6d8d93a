"""The parts of every figure: style, source of the numbers, caption, label, file."""
