"""Owners that share one radio channel: ALOHA, slotted or not, CSMA, time division, DCF, losses.

Two answers that overlap at the hub destroy each other, unless capture is in play. Throughput is
the rate of answers that survive. *Infinite population*: attempts form a Poisson process with G
of them per airtime, whatever happened before; time unit = airtime, and the throughput S is also
the share of the time that surviving answers take. *N owners*: an idle owner's clock ticks at
rate λ, and a tick starts an answer; ticks while the owner is waiting or sending are dropped.
Under CSMA, where owners listen before they send, a transmission [s, e) is heard everywhere, at
the sender too, in [s + a, e + a). There an attempt, or a tick, that finds the channel busy begins
no answer: it is given up, or waits under 1-persistent CSMA.

From :func:`delivered` on an attempt is one transmission of an answer, which is sent until one
arrives or R are spent; R = 1 + ``retransmissions``.

Under DCF, the contention of Wi-Fi (802.11), owners always have an answer.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import comb, exp, expm1, inf, log

import numpy as np

from asyncdp_sim.core.arrays import Array


@dataclass(frozen=True)
class RandomAccess:
    """Long-run behaviour of owners that contend for a channel.

    Attributes
    ----------
    success_probability : float
        Share of the answers begun that survive.
    attempt_rate : float
        Answers begun per time unit, of all owners together.
    """

    success_probability: float
    attempt_rate: float

    @property
    def success_rate(self) -> float:
        """Answers that survive per time unit, of all owners together."""
        return self.success_probability * self.attempt_rate


def aloha_infinite(load: float) -> float:
    """Return S = G e^{−2G}, pure ALOHA with an infinite population; G = ``load`` ≥ 0.

    An answer survives if no other starts within an airtime before or after its own start.

    References
    ----------
    Abramson, The ALOHA system (1970), AFIPS Conference Proceedings 37.
    """
    return load * exp(-2 * load)


def aloha_infinite_capture(load: float, threshold: float) -> float:
    """Return S = G e^{−2Gz/(1+z)}, pure ALOHA with Rayleigh fading and capture.

    The powers of the answers are independent and Exp(1). An answer survives if its power exceeds
    z = ``threshold`` ≥ 0 times the *sum* of the powers of all answers that overlap it, however
    briefly. These are Poisson(2G) in number, and each of them spares it with probability
    1/(1+z): P(X > zY) = E e^{−zY}. Without limit on z: :func:`aloha_infinite`.

    References
    ----------
    Arnbak and van Blitterswijk, Capacity of slotted ALOHA in Rayleigh-fading channels (1987),
    IEEE Journal on Selected Areas in Communications 5 (slotted; here 2G interferers, not G).
    """
    return load * exp(-2 * load * threshold / (1 + threshold))


def aloha(n_owners: int, rate: float, airtime: float) -> RandomAccess:
    """Return pure ALOHA with N owners: P(success) = [e^{−ρ}/(1+ρ)]^{N−1}, ρ = λτ.

    The airtime τ is constant. Answers begin at rate Nλ/(1+ρ).

    Notes
    -----
    Owners are independent of one another; each alternates between an idle time, exponential with
    mean 1/λ, and an airtime. An answer survives if each other owner is idle at its start
    (probability 1/(1+ρ)) and does not tick during it (e^{−λτ}). Owners of surviving answers are
    uniform.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    rate : float
        λ > 0, ticks of an idle owner per time unit.
    airtime : float
        τ ≥ 0.

    References
    ----------
    Abramson (1970) for many owners; derived as above for N.
    """
    rivals, rho = n_owners - 1, rate * airtime
    survives = exp(-rivals * rho) / (1 + rho) ** rivals
    return RandomAccess(survives, n_owners * rate / (1 + rho))


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
    """
    rho, c = rate * airtime, 1 / (1 + threshold)
    ticks = -expm1(-rho)  # the probability of a tick within an airtime
    spared = (exp(-rho) + 2 * ticks * c + (rho - ticks) * c**2) / (1 + rho)
    return RandomAccess(spared ** (n_owners - 1), n_owners * rate / (1 + rho))


def slotted_aloha_infinite(load: float) -> float:
    """Return S = G e^{−G}, slotted ALOHA with Poisson(G) attempts a slot; G = ``load`` ≥ 0.

    References
    ----------
    Roberts, ALOHA packet system with and without slots and capture (1975), ACM SIGCOMM Computer
    Communication Review 5.
    """
    return load * exp(-load)


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
    """
    unused = 0.0 if airtime is None else slot - airtime
    ticks, silent = -expm1(-rate * slot), exp(-rate * unused)
    survives = (silent / (ticks + silent)) ** (n_owners - 1)
    return RandomAccess(survives, n_owners * ticks / (ticks + silent) / slot)


def csma_one_persistent_infinite(load: float, delay: float) -> float:
    """Return the throughput of 1-persistent CSMA, without slots.

    As :func:`csma_giving_up`, but a sender that finds the channel busy starts when it is idle:

        S = G [1 + G + aG(1 + G + aG/2)] e^{−G(1+2a)}
            / (G(1+2a) − (1−e^{−aG}) + (1+aG) e^{−G(1+a)})

    Notes
    -----
    After the first start of a busy stretch, attempts within a start too, the last one at Y; those
    in the 1 + Y after that wait, and start together at Y + 1 + a, a new stretch. It survives if
    it has one first start and none within a. Stretches follow one another as long as any attempt
    waited: with q_k = E (G(1+Y))^k e^{−G(1+Y)}, S = e^{−aG}(q_0 + q_1)/(1 + a + E Y + q_0/G)
    by Wald's identity. Each attempt is sent once, so that G is also the rate of transmissions.

    References
    ----------
    Kleinrock and Tobagi (1975).
    """
    g, a = load, delay
    sent = g * (1 + g + a * g * (1 + g + a * g / 2)) * exp(-g * (1 + 2 * a))
    return sent / (g * (1 + 2 * a) + expm1(-a * g) + (1 + a * g) * exp(-g * (1 + a)))


def csma_giving_up(load: float, delay: float, *, detecting: bool = False) -> RandomAccess:
    """Return non-persistent CSMA: S = G e^{−aG}/(G(1+2a) + e^{−aG}).

    A transmission [s, e) is detected everywhere, at the sender too, in [s+a, e+a); who finds the
    channel busy gives up. G ≥ 0 counts attempts to send, those given up included; the delay is
    0 ≤ a < 1 airtimes. With collision detection (``detecting``) a sender that detects another
    transmission stops at once; for a ≤ ½

        S = G e^{−aG}/(G e^{−aG} + 2aG(1−e^{−aG}) + 2 − e^{−aG}).

    Rates are per airtime.

    Notes
    -----
    The first sender is alone for a; the last to start within it does so at Y, and the channel
    falls silent at Y + 1 + a, whatever started in between (for a < 1, heard without a gap):
    E Y = a − (1−e^{−aG})/G. Then the channel is idle for 1/G. Renewal-reward theorem. In a cycle
    1 + aG answers begin in the mean, and the first survives with probability e^{−aG}; attempts
    that are given up do not begin.

    With detection: if the first of the others starts at X < a, they all stop at a, when they
    detect the first sender, and that one at X + a unless it has finished before: the channel is
    heard busy until min(X + a, 1) + a, where X has the law of an Exp(G) that is below a. Without
    a collision the channel is silent at 1 + a. Any a < 1.

    References
    ----------
    Kleinrock and Tobagi, Packet switching in radio channels: part I (1975), IEEE Transactions on
    Communications 23. Tobagi and Hunt, Performance analysis of carrier sense multiple access with
    collision detection (1980), Computer Networks 4 (with no jamming signal).
    """
    g, a = load, delay
    alone, begun = exp(-a * g), 1 + a * g
    # G times the busy time and the idle time 1/G, so that G = 0 divides nothing
    g_busy = g * _mean_detected(g, a) if detecting else g * (1 + 2 * a) + expm1(-a * g)
    return RandomAccess(alone / begun, g * begun / (1 + g_busy))


def csma(n_owners: int, rate: float, airtime: float, propagation_delay: float) -> RandomAccess:
    """Return non-persistent CSMA with N owners; ticks that find the channel busy are lost.

    With the airtime as time unit and g = (N−1)λ, answers survive at rate
    e^{−ga}/(1 + 2a − ∫₀^a (1 − e^{−λy} + e^{−λa})^{N−1} dy + 1/(Nλ)). The rates that are returned
    are per time unit of the caller.

    Notes
    -----
    All owners are idle when the channel falls silent, and memoryless. After the first start each
    *other* owner starts within a at its first tick, if that comes in time, and at most once, as
    a < 1: P(last start ≤ y) = (1 − e^{−λy} + e^{−λa})^{N−1}. The rest as for
    :func:`csma_giving_up`; 1 + (N−1)(1−e^{−λa}) answers begin in a cycle. Lost ticks
    begin no answer. Owners of surviving answers are independent and uniform.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    rate : float
        λ > 0, ticks of an idle owner per time unit.
    airtime : float
        > 0, constant.
    propagation_delay : float
        In [0, ``airtime``), the same between all stations.

    References
    ----------
    Kleinrock and Tobagi (1975) for many owners; derived as above for N.
    """
    from scipy.integrate import quad  # only here: a slow import

    rivals, per_airtime, a = n_owners - 1, rate * airtime, propagation_delay / airtime
    late = exp(-per_airtime * a)
    early = quad(lambda y: (late - expm1(-per_airtime * y)) ** rivals, 0, a, epsabs=1e-12)[0]
    return _sensing(rivals, per_airtime, a, airtime, 1 + 2 * a - early)


def csma_detecting(
    n_owners: int, rate: float, airtime: float, propagation_delay: float
) -> RandomAccess:
    """Return non-persistent CSMA with collision detection and N owners.

    Arguments and assumptions as for :func:`csma`, senders that detect another stop as for
    :func:`csma_giving_up`: the first of the others starts at X, an Exp((N−1)λ), so that
    the mean busy time is the infinite population's at load (N−1)λ, and the idle time 1/(Nλ).
    Answers that are broken off count as begun.
    """
    rivals, per_airtime, a = n_owners - 1, rate * airtime, propagation_delay / airtime
    return _sensing(rivals, per_airtime, a, airtime, _mean_detected(rivals * per_airtime, a))


def _sensing(
    rivals: int, per_airtime: float, a: float, airtime: float, busy: float
) -> RandomAccess:
    """Return what cycles yield, in the caller's time unit.

    λ = ``per_airtime`` and the mean ``busy`` time of a cycle are in units of the airtime.
    """
    cycle = (busy + 1 / ((rivals + 1) * per_airtime)) * airtime
    begun = 1 - rivals * expm1(-per_airtime * a)
    return RandomAccess(exp(-rivals * per_airtime * a) / begun, begun / cycle)


def _mean_detected(rate: float, a: float) -> float:
    """Return the mean busy time of a cycle whose first sender meets others at this rate."""
    alone, cut = exp(-rate * a), min(a, 1 - a)
    until = cut if rate == 0 else -expm1(-rate * cut) / rate  # E min(X, cut)
    # E[min(X, 1 − a); X < a] = E min(X, cut) − cut · P(X ≥ a), for a above ½ too
    return (1 + a) * alone + 2 * a * (1 - alone) + until - cut * alone


def tdma(n_owners: int, slot: float, airtime: float, rate: float = inf) -> float:
    """Return answers per time unit: owner i may start at the beginning of every N-th slot.

    The frame is F = N·``slot`` long. Saturated owners send once a frame: 1/``slot`` answers per
    time unit in all. An owner that ticks at rate λ while idle sends every F(1 + x) in the mean,
    x = e^{−λ(F−τ)}/(1 − e^{−λF}). None collides.

    Notes
    -----
    The owner is idle from the end of its answer, F − τ before its next slot. If it ticks in that
    time, it uses that slot; otherwise each later one if it ticks in the frame before it: a
    geometric number with mean 1/(1 − e^{−λF}).

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    slot : float
        > 0: from one owner's start to the next one's, any guard time included.
    airtime : float
        0 ≤ τ ≤ ``slot``.
    rate : float, optional
        λ > 0, ticks of an idle owner per time unit; default: always an answer ready.
    """
    frame, skipped = n_owners * slot, 0.0
    if rate != inf:
        skipped = exp(-rate * (frame - airtime)) / -expm1(-rate * frame)
    return 1 / (slot * (1 + skipped))


def delivered(loss: float, attempts: int) -> float:
    """Return P(delivered) = 1 − l^R where each attempt is lost with probability l, on its own.

    Parameters
    ----------
    loss : float
        l in [0, 1].
    attempts : int
        R ≥ 1.
    """
    return 1.0 if loss == 0 else -expm1(attempts * log(loss))


def mean_attempts(loss: float, attempts: int) -> float:
    """Return the mean number of attempts per answer, delivered or not: (1 − l^R)/(1 − l).

    Its limit for l → 1 is R. Arguments and assumptions as for :func:`delivered`.
    """
    arrives = delivered(loss, attempts)
    return float(attempts) if loss == 1 else arrives / (1 - loss)


def lost_in_bursts(
    attempts: int, *, to_bad: float, to_good: float, loss_good: float, loss_bad: float
) -> float:
    """Return the long-run share of answers of which all R ≥ 1 attempts are lost in bursts.

    A chain of two states advances one step with every transmission. Answers use one channel in
    succession, each until an attempt arrives or R are spent. Answers that take long do so in bad
    states: the state at an answer's first attempt has the stationary law κ of

        K = Σ_{r=0}^{R−2} (DP)^r (I−D) P + (DP)^{R−1} P

    and the share is κ D (P D)^{R−1} 1, with P the steps and D the losses by state. For R = 1 it is
    the share of all transmissions that are lost.

    Parameters
    ----------
    attempts : int
        R ≥ 1.
    to_bad, to_good : float
        Probabilities in [0, 1] of a step from good to bad and back; not both 0.
    loss_good, loss_bad : float
        Probabilities in [0, 1] that a transmission in this state is lost.

    References
    ----------
    Gilbert, Capacity of a burst-noise channel (1960), and Elliott, Estimates of error rates for
    codes on burst-noise channels (1963), Bell System Technical Journal 39 and 42.
    """
    k_out, k_back = to_bad, to_good
    steps, losses = (
        np.array([[1 - k_out, k_out], [k_back, 1 - k_back]]),
        np.diag([loss_good, loss_bad]),
    )
    again, arrived = losses @ steps, (np.eye(2) - losses) @ steps
    reached, between = np.eye(2), np.zeros((2, 2))  # ``between`` sums up to K
    for _ in range(attempts - 1):
        between += reached @ arrived
        reached = reached @ again
    between += reached @ steps
    # 0 only if all is lost, every step changes the state, and R is even: any start then gives 1
    if between[0, 1] + between[1, 0] > 0:
        k_out, k_back = between[0, 1], between[1, 0]
    start = np.array([k_back, k_out]) / (k_out + k_back)  # κ
    return float((start @ losses @ np.linalg.matrix_power(steps @ losses, attempts - 1)).sum())


Station = tuple[int, int]
"""How often its window is doubled, and slots that it still counts."""


@dataclass(frozen=True, kw_only=True)
class Contention:
    """The contents of one slot of contention, in the long run.

    Attributes
    ----------
    idle, success : float
        Probability that nobody sends in it, or one alone.
    sent : float
        Mean number of those that send as it begins.
    frozen : bool
        Whether counts are frozen while the channel is busy. A transmission is then followed by a
        slot in which all others count one; after a success its owner may send in that slot, again
        and again.
    again : float
        Probability that it does, each time.
    """

    idle: float
    success: float
    sent: float
    frozen: bool = False
    again: float = 0.0

    def access(
        self, slot: float, airtime: float, after_success: float = 0.0, after_collision: float = 0.0
    ) -> RandomAccess:
        """Return how much gets through per time unit.

        A slot of contention lasts ``slot`` where nobody sends, else the airtime and what follows
        it: E[length] = P(idle) σ + P(success) T_s + P(collision) T_c. Where counts are frozen, T_s
        is T_s/(1 − B) + σ, and T_c is T_c + σ, with B the probability of sending again.

        Parameters
        ----------
        slot, airtime : float
            > 0, in time units.
        after_success, after_collision : float
            ≥ 0: how long the channel stays taken after an answer that survives, or does not.
        """
        run = 1 / (1 - self.again)
        length = self.idle * slot + self.success * run * (airtime + after_success)
        length += (1 - self.idle - self.success) * (airtime + after_collision)
        length += (1 - self.idle) * slot * self.frozen
        sent = self.sent + self.success * (run - 1)
        return RandomAccess(self.success * run / sent, sent / length)


def dcf_fixed_point(
    n_owners: int, window: int, doublings: int, *, frozen: bool = False
) -> Contention:
    """Return a slot of contention by Bianchi's fixed point, which is an approximation.

    An attempt meets another with probability p = 1 − (1 − τ)^(N−1), taken to be the same whatever
    has happened before; then an owner sends in a share

        τ = 2(1 − 2p) / ((1 − 2p)(W + 1) + pW(1 − (2p)^m))

    of the slots. Where counts are frozen, an owner that has succeeded sends again at once with
    probability 1/W, and else counts uniformly many of 0 … W − 2 further slots, so that W + 1 is
    W + p. Exact for N = 1.

    Parameters
    ----------
    n_owners : int
        N ≥ 1.
    window : int
        W ≥ 1, slots of the first window: a count is uniform on 0 … W − 1.
    doublings : int
        m ≥ 0: after i collisions in a row the window has W·2^min(i, m) slots.
    frozen : bool
        Whether counts are frozen while the channel is busy; then W ≥ 2.

    References
    ----------
    Bianchi, Performance analysis of the IEEE 802.11 distributed coordination function (2000), IEEE
    Journal on Selected Areas in Communications 18(3), equations 7 and 9. Tinnirello, Bianchi and
    Xiao, Refinements on IEEE 802.11 distributed coordination function modeling approaches (2010),
    IEEE Transactions on Vehicular Technology 59(3).
    """
    from scipy.optimize import brentq  # only here: a slow import

    def share(p: float) -> float:
        growth = sum((2 * p) ** i for i in range(doublings))  # (1 − (2p)^m)/(1 − 2p), at 1/2 too
        return 2 / (window + (p if frozen else 1) + p * window * growth)

    def excess(p: float) -> float:
        return p - 1 + (1 - share(p)) ** (n_owners - 1)

    sends = share(0.0 if n_owners == 1 else float(brentq(excess, 0.0, 1.0, xtol=1e-15)))
    idle = (1 - sends) ** n_owners
    alone = n_owners * sends * (1 - sends) ** (n_owners - 1)
    again = 1 / window if frozen else 0.0
    return Contention(idle=idle, success=alone, sent=n_owners * sends, frozen=frozen, again=again)


def dcf_states(n_owners: int, window: int, doublings: int) -> int:
    """Return how many states the chain of :func:`exact` has."""
    places = window * (2 ** (doublings + 1) - 1)
    return comb(places + n_owners - 1, n_owners)


def dcf_exact(n_owners: int, window: int, doublings: int, *, frozen: bool = False) -> Contention:
    """Return a slot of contention from the chain of all owners' windows and counts.

    Owners are equal, so that a state is how many of them are where. In a slot those whose count is
    0 send; who is alone begins the first window anew, who collides doubles its own, up to m times,
    and both draw; all others count down by one. Where counts are frozen, a slot contains what the
    one alone sends in a row, and the slot in which the others count; of its first draw that is not
    0 it has then counted one.

    Parameters
    ----------
    n_owners, window, doublings, frozen
        As of :func:`fixed_point`; :func:`states` says how many equations are solved.
    """
    alone = [(i, left) for i in range(doublings + 1) for left in range(window << i)]
    joint = list(combinations_with_replacement(alone, n_owners))
    place = {state: number for number, state in enumerate(joint)}
    chain = np.zeros((len(joint), len(joint)))
    for state, row in zip(joint, chain, strict=True):
        for after, chance in _next(state, window, doublings, frozen=frozen):
            row[place[after]] += chance
    law = _stationary(chain)
    sending = np.array([sum(left == 0 for _, left in state) for state in joint])
    idle, success = law[sending == 0].sum(), law[sending == 1].sum()
    return Contention(
        idle=float(idle),
        success=float(success),
        sent=float(law @ sending),
        frozen=frozen,
        again=1 / window if frozen else 0.0,
    )


def _next(
    state: tuple[Station, ...], window: int, doublings: int, *, frozen: bool
) -> Iterator[tuple[tuple[Station, ...], float]]:
    """Yield the states that may follow, with their probabilities."""
    waiting = [(i, left - 1) for i, left in state if left > 0]
    senders = [i for i, left in state if left == 0]
    begins = [0] if len(senders) == 1 else [min(i + 1, doublings) for i in senders]
    fewer = frozen and len(senders) == 1
    drawn = Counter(
        tuple(sorted(zip(begins, lefts, strict=True)))
        for lefts in product(*(range((window << i) - fewer) for i in begins))
    )
    for stations, times in drawn.items():
        yield tuple(sorted([*waiting, *stations])), times / drawn.total()


def _stationary(chain: Array) -> Array:
    """Return π with π = πP and Σ π = 1."""
    equations = chain.T - np.eye(len(chain))
    equations[-1] = 1.0
    right = np.zeros(len(chain))
    right[-1] = 1.0
    return np.asarray(np.linalg.solve(equations, right), dtype=np.float64)
