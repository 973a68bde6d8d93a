"""Formulas with their assumptions, and which of them hold for which network.

They stand beside what a run measures (``asyncdp check``, figures), and the simulator is tested
against them (``tests/verification``). Formulas, one subject per module:

- :mod:`~asyncdp_sim.theory.formulas.clocks`: independent Poisson clocks seen as one.
- :mod:`~asyncdp_sim.theory.formulas.lock`: a learner that talks to one owner at a time and refuses
  others.
- :mod:`~asyncdp_sim.theory.formulas.queueing`: a learner that lets others wait.
- :mod:`~asyncdp_sim.theory.formulas.channels`: owners that share a channel.
- :mod:`~asyncdp_sim.theory.formulas.packet_loss`: transmissions that are lost, and sent again.
- :mod:`~asyncdp_sim.theory.formulas.broadcast`: a query to all owners at once.
- :mod:`~asyncdp_sim.theory.formulas.rounds`: synchronous rounds, which wait for the slowest owner.
- :mod:`~asyncdp_sim.theory.formulas.staleness`: how stale answers are when owners push.
- :mod:`~asyncdp_sim.theory.formulas.coupon_collector`: who has contributed after T updates, and how
  often.
- :mod:`~asyncdp_sim.theory.moments.gossip_map`: asynchronous learning as a random affine map.
- :mod:`~asyncdp_sim.theory.moments.per_update`: its exact mean and second moment after every
  update.
- :mod:`~asyncdp_sim.theory.moments.with_budgets`: the same where budgets end, over counts of
  answers.
- :mod:`~asyncdp_sim.theory.moments.given_order`: the same given who updates when.
- :mod:`~asyncdp_sim.theory.moments.releases`: answers released, lost ones too, and when budgets
  end.
- :mod:`~asyncdp_sim.theory.moments.noise_gain`: what each owner's noise costs, for all budgets at
  once.
- :mod:`~asyncdp_sim.theory.bounds.async_theorem2`: Theorem 2 of Async with its transient, which
  holds.
- :mod:`~asyncdp_sim.theory.bounds.async_smooth`: a much closer bound for smooth losses.
- :mod:`~asyncdp_sim.theory.moments.synchronous`: the exact moments of synchronous learning, round
  by round.
- :mod:`~asyncdp_sim.theory.bounds.collab_theorem2`: Theorem 2 of Collab, mended.
- :mod:`~asyncdp_sim.theory.formulas.gossip_spectrum`: how fast gossip on a graph brings models
  together.
- :mod:`~asyncdp_sim.theory.formulas.loss_network`: how often neighbours meet there.
- :mod:`~asyncdp_sim.theory.formulas.polar`: how far POLAR's servers are apart.

What holds for a network, by its specification alone:

- :mod:`~asyncdp_sim.theory.predict.all`: every figure of a run's summary that a formula gives.
- :mod:`~asyncdp_sim.theory.predict.facts`: what decides it.
- :mod:`~asyncdp_sim.theory.predict.update_order`: the law of the gaps between updates, and whose
  they are.
- :mod:`~asyncdp_sim.theory.predict.staleness`: the law of the staleness.
- :mod:`~asyncdp_sim.theory.predict.table`: the class that knows each protocol and channel, by
  exact class: exchanges of owners that do not contend for a channel, answers to queries that go
  to all owners, protocols that make the updates, and shared channels.
- :mod:`~asyncdp_sim.theory.predict.shared_channels`: owners that share one.
- :mod:`~asyncdp_sim.theory.predict.packet_loss`: losses, and transmissions per answer; owners
  online.
"""
