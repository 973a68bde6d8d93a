"""The bits of every entry of the catalogue, in layers, to prove that a restructuring keeps them."""
