"""The parts of every figure: drawer, style, scales, layout, files, figures of merit."""
