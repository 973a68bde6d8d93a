"""Owners that share one radio channel and send without listening: ALOHA, pure and slotted.

Two answers that overlap at the hub destroy each other, unless capture is in play. Throughput is
the rate of answers that survive. *Infinite population*: attempts form a Poisson process with G
of them per airtime, whatever happened before; time unit = airtime, and the throughput S is also
the share of the time that surviving answers take. *N owners*: an idle owner's clock ticks at
rate λ, and a tick starts an answer; ticks while the owner is waiting or sending are dropped.
"""

from collections.abc import Callable
from math import exp, expm1

from asyncdp_sim.theory.formulas.arguments import count, nonnegative, positive, refused
from asyncdp_sim.theory.formulas.channels.random_access import RandomAccess


def aloha_infinite(load: float) -> float:
    """Return S = G e^{−2G}, pure ALOHA with an infinite population; G = ``load`` ≥ 0.

    An answer survives if no other starts within an airtime before or after its own start.

    Raises
    ------
    SpecError
        If the load is negative or not finite.

    References
    ----------
    Abramson, The ALOHA system (1970), AFIPS Conference Proceedings 37.
    """
    offered = nonnegative("load", load)
    return offered * exp(-2 * offered)


def aloha_infinite_capture(load: float, threshold: float) -> float:
    """Return S = G e^{−2Gz/(1+z)}, pure ALOHA with Rayleigh fading and capture.

    The powers of the answers are independent and Exp(1). An answer survives if its power exceeds
    z = ``threshold`` ≥ 0 times the *sum* of the powers of all answers that overlap it, however
    briefly. These are Poisson(2G) in number, and each of them spares it with probability
    1/(1+z): P(X > zY) = E e^{−zY}. Without limit on z: :func:`aloha_infinite`.

    Raises
    ------
    SpecError
        If an argument is negative or not finite.

    References
    ----------
    Arnbak and van Blitterswijk, Capacity of slotted ALOHA in Rayleigh-fading channels (1987),
    IEEE Journal on Selected Areas in Communications 5 (slotted; here 2G interferers, not G).
    """
    offered, ratio = nonnegative("load", load), nonnegative("threshold", threshold)
    return offered * exp(-2 * offered * ratio / (1 + ratio))


def aloha(
    n_owners: int,
    rate: float,
    mean_airtime: float,
    transform: Callable[[float], float] | None = None,
) -> RandomAccess:
    """Return pure ALOHA with N owners: P(success) = b*((N−1)λ)/(1+ρ)^{N−1}, ρ = λ E S.

    For constant airtime τ it is [e^{−λτ}/(1+λτ)]^{N−1}. Attempts come at rate Nλ/(1+ρ).

    Notes
    -----
    Owners are independent of one another; each alternates between an idle time, exponential with
    mean 1/λ, and an airtime S of any law. An answer survives if each other owner is idle at its
    start (probability 1/(1+ρ)) and does not tick during S (e^{−λS}). Owners of surviving answers
    are uniform.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    rate : float
        λ > 0, ticks of an idle owner per time unit.
    mean_airtime : float
        E S ≥ 0.
    transform : callable, optional
        b*(s) = E e^{−sS} for s ≥ 0, of the same law; absent: constant airtime.

    Raises
    ------
    SpecError
        If an argument is outside its domain, or b* is no transform of a law with this mean.

    References
    ----------
    Abramson (1970) for many owners; derived as above for N.
    """
    others = count("n_owners", n_owners) - 1
    each, mean = positive("rate", rate), nonnegative("mean_airtime", mean_airtime)
    load = each * mean
    undisturbed = exp(-others * load)
    if transform is not None:
        least = undisturbed * (1 - 1e-9)  # Jensen: E e^{−sS} ≥ e^{−s E S}
        undisturbed = transform(others * each)
        if not least <= undisturbed <= 1 + 1e-12:
            allowed = f"b* with e^(−s·mean_airtime) ≤ b*(s) ≤ 1 at s = {others * each!r}"
            raise refused("transform", repr(undisturbed), allowed)
    return RandomAccess.of(undisturbed / (1 + load) ** others, n_owners * each / (1 + load))


def aloha_capture(n_owners: int, rate: float, airtime: float, threshold: float) -> RandomAccess:
    """Return pure ALOHA with N owners, Rayleigh fading and capture, for a constant airtime.

    With ρ = λτ and c = 1/(1+z), an answer survives with probability
    [(e^{−ρ} + 2(1−e^{−ρ})c + (ρ−1+e^{−ρ})c²)/(1+ρ)]^{N−1}. As :func:`aloha` otherwise: N ≥ 1,
    λ > 0, τ ≥ 0, z = ``threshold`` ≥ 0.

    Notes
    -----
    Powers as for :func:`aloha_infinite_capture`, drawn anew for every answer. Another owner
    overlaps a given answer with none, one or two answers of its own: none if it is idle at the
    start and silent for τ, (e^{−ρ})/(1+ρ); two if it is busy at the start, with a residual time
    uniform on [0, τ], and ticks again before the end, (ρ−1+e^{−ρ})/(1+ρ). Every overlapping
    answer costs a factor c.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    others = count("n_owners", n_owners) - 1
    each = positive("rate", rate)
    load = each * nonnegative("airtime", airtime)
    spared = 1 / (1 + nonnegative("threshold", threshold))
    once = -expm1(-load)
    factor = (exp(-load) + 2 * once * spared + (load - once) * spared**2) / (1 + load)
    return RandomAccess.of(factor**others, n_owners * each / (1 + load))


def slotted_aloha_infinite(load: float) -> float:
    """Return S = G e^{−G}, slotted ALOHA with Poisson(G) attempts a slot; G = ``load`` ≥ 0.

    Raises
    ------
    SpecError
        If the load is negative or not finite.

    References
    ----------
    Roberts, ALOHA packet system with and without slots and capture (1975), ACM SIGCOMM Computer
    Communication Review 5.
    """
    offered = nonnegative("load", load)
    return offered * exp(-offered)


def slotted_aloha(
    n_owners: int, rate: float, slot: float, airtime: float | None = None
) -> RandomAccess:
    """Return slotted ALOHA with N owners; N q (1−q)^{N−1} answers survive per slot.

    An idle owner ticks within a slot with probability p = 1 − e^{−λτ}, τ = ``slot``, and then
    sends in the next one; so it spends 1/p idle slots in the mean for each run of slots it sends
    in, and sends in a share q = p/(1 + p − r) of the slots. r = 1 − e^{−λ(τ − ``airtime``)} is the
    probability that it ticks again between the end of its answer and the end of the slot: 0
    where answers fill their slots (the default). Owners are independent of one another. q = p,
    as in textbooks, needs independent attempts per slot. Here N ≥ 1, λ > 0, τ > 0 and
    0 ≤ airtime ≤ τ. Rates are per time unit, not per slot.

    Notes
    -----
    Where answers fill their slots, the owner of the last one cannot send in the next slot: owners
    of successive answers are not independent.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    others, length = count("n_owners", n_owners) - 1, positive("slot", slot)
    each = positive("rate", rate)
    sending = length if airtime is None else nonnegative("airtime", airtime)
    if sending > length:
        raise refused("airtime", repr(airtime), f"a number ≤ slot = {slot!r}")
    ticks, silent = -expm1(-each * length), exp(-each * (length - sending))
    return RandomAccess.of(
        (silent / (ticks + silent)) ** others, n_owners * ticks / (ticks + silent) / length
    )
