"""Algorithm 1 on quadratic losses, learned for many replicates and cells at once: the fold's twins.

There are three ways to the same bits. :class:`~asyncdp_sim.learning.algorithms.GossipSteps` under
the fold of :mod:`~asyncdp_sim.learning.replay` is the definition, one answer at a time, for every
objective. :mod:`~asyncdp_sim.learning.fused.numpy_loop` stacks cells on the replicates and works
out per block what does not depend on the models. :mod:`~asyncdp_sim.learning.fused.numba_loop` is
that loop compiled, where numba is installed. Tests hold the three equal to the bit.
"""
