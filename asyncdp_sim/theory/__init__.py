"""Formulas with their assumptions, without simulation.

They stand beside what a run measures (``asyncdp check``, figures), and the simulator is tested
against them (``tests/verification``). One subject per module:

- :mod:`~asyncdp_sim.theory.clocks`: independent Poisson clocks seen as one.
- :mod:`~asyncdp_sim.theory.availability`: owners that are not always online.
- :mod:`~asyncdp_sim.theory.lock`: a learner that talks to one owner at a time and refuses others.
- :mod:`~asyncdp_sim.theory.staleness`: how stale answers are when owners push.
- :mod:`~asyncdp_sim.theory.contribution`: who has contributed after T updates, and how often.
- :mod:`~asyncdp_sim.theory.gossip`: asynchronous learning as a random affine map.
- :mod:`~asyncdp_sim.theory.moments`: its exact mean and second moment after every update.
- :mod:`~asyncdp_sim.theory.noise_gain`: what each owner's noise costs, for all budgets at once.
"""
