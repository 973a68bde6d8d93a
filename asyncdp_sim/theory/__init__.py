"""Formulas with their assumptions, and which of them hold for which network.

They stand beside what a run measures (``asyncdp check``, figures), and the simulator is tested
against them (``tests/verification``).

- :mod:`~asyncdp_sim.theory.formulas`: closed forms, a subject in each module.
- :mod:`~asyncdp_sim.theory.predict`: what holds for a network, by its specification alone.
"""
