"""Formulas with their assumptions, and which of them hold for which network.

They stand beside what a run measures (``asyncdp check``, figures), and the simulator is tested
against them (``tests/verification``). Formulas, one subject per module:

- :mod:`~asyncdp_sim.theory.clocks`: independent Poisson clocks seen as one.
- :mod:`~asyncdp_sim.theory.availability`: owners that are not always online.
- :mod:`~asyncdp_sim.theory.lock`: a learner that talks to one owner at a time and refuses others.
- :mod:`~asyncdp_sim.theory.queueing`: a learner that lets others wait.
- :mod:`~asyncdp_sim.theory.aloha`, :mod:`~asyncdp_sim.theory.csma`,
  :mod:`~asyncdp_sim.theory.tdma`: owners that share a channel
  (:mod:`~asyncdp_sim.theory.random_access` is what they return).
- :mod:`~asyncdp_sim.theory.loss`: transmissions that are lost, and sent again.
- :mod:`~asyncdp_sim.theory.broadcast`: a query to all owners at once.
- :mod:`~asyncdp_sim.theory.rounds`: synchronous rounds, which wait for the slowest owner.
- :mod:`~asyncdp_sim.theory.staleness`: how stale answers are when owners push.
- :mod:`~asyncdp_sim.theory.contribution`: who has contributed after T updates, and how often.
- :mod:`~asyncdp_sim.theory.gossip`: asynchronous learning as a random affine map.
- :mod:`~asyncdp_sim.theory.moments`: its exact mean and second moment after every update.
- :mod:`~asyncdp_sim.theory.capped`: the same where budgets end, over counts of answers.
- :mod:`~asyncdp_sim.theory.ordered`: the same given who updates when.
- :mod:`~asyncdp_sim.theory.silence`: answers released, lost ones too, and when budgets end.
- :mod:`~asyncdp_sim.theory.noise_gain`: what each owner's noise costs, for all budgets at once.
- :mod:`~asyncdp_sim.theory.bounds`: Theorem 2 of Async with its transient, which holds.
- :mod:`~asyncdp_sim.theory.bounds_smooth`: a much closer bound for smooth losses.
- :mod:`~asyncdp_sim.theory.bounds_printed`: the theorem as printed, large T, shapes to fit.
- :mod:`~asyncdp_sim.theory.descent`: the exact moments of synchronous learning, round by round.
- :mod:`~asyncdp_sim.theory.bounds_collab`: Theorem 2 of Collab, printed and mended.
- :mod:`~asyncdp_sim.theory.bound_fits`: free constants fitted to runs, with intervals.
- :mod:`~asyncdp_sim.theory.spectral`: how fast gossip on a graph brings models together.
- :mod:`~asyncdp_sim.theory.meetings`: how often neighbours meet there.
- :mod:`~asyncdp_sim.theory.polar`: how far POLAR's servers are apart.

What holds for a network, by its specification alone:

- :mod:`~asyncdp_sim.theory.predictions`: every figure of a run's summary that a formula gives.
- :mod:`~asyncdp_sim.theory.facts`: what decides it.
- :mod:`~asyncdp_sim.theory.updating`: the law of the gaps between updates, and whose they are.
- :mod:`~asyncdp_sim.theory.ageing`: the law of the staleness.
- :mod:`~asyncdp_sim.theory.traffic`: exchanges of owners that do not contend for a channel.
- :mod:`~asyncdp_sim.theory.sharing`, :mod:`~asyncdp_sim.theory.curves`: owners that share one.
- :mod:`~asyncdp_sim.theory.answering`: answers to queries that go to all owners.
- :mod:`~asyncdp_sim.theory.synchronous`: rounds, and whatever else makes its own updates.
- :mod:`~asyncdp_sim.theory.delivery`: losses, and transmissions per answer.
- :mod:`~asyncdp_sim.theory.presence`: owners online.
"""
