"""Owners that share one radio channel and listen before they send: CSMA.

A transmission [s, e) is heard everywhere, at the sender too, in [s + a, e + a). *Infinite
population* and *N owners* are as for :mod:`~asyncdp_sim.theory.formulas.channels.aloha`.
"""

from math import exp, expm1, isfinite

from asyncdp_sim.theory.formulas.arguments import count, nonnegative, positive, refused
from asyncdp_sim.theory.formulas.channels.random_access import RandomAccess


def csma_infinite(load: float, delay: float) -> float:
    """Return S = G e^{−aG}/(G(1+2a) + e^{−aG}), non-persistent CSMA.

    A transmission [s, e) is heard everywhere, at the sender too, in [s+a, e+a); who finds the
    channel busy gives up. G ≥ 0 counts attempts to send, those given up included; the delay is
    0 ≤ a < 1 airtimes.

    Notes
    -----
    Whoever starts first is alone for a; the last to start within it does so at Y, and the channel
    falls silent at Y + 1 + a, whatever started in between (for a < 1, heard without a gap):
    E Y = a − (1−e^{−aG})/G. Then the channel is idle for 1/G. Renewal-reward theorem.

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Kleinrock and Tobagi, Packet switching in radio channels: part I (1975), IEEE Transactions on
    Communications 23.
    """
    offered, a = nonnegative("load", load), _delay("delay", delay)
    return offered * exp(-a * offered) / (offered * (1 + 2 * a) + exp(-a * offered))


def csma_giving_up(load: float, delay: float, *, detecting: bool = False) -> RandomAccess:
    """Return what :func:`csma_infinite` or :func:`csma_detecting_infinite` describes, in full.

    Rates are per airtime. In a cycle 1 + aG answers begin in the mean, and the first survives
    with probability e^{−aG}; attempts that are given up do not begin.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    g, a = nonnegative("load", load), _delay("delay", delay)
    alone, begun = exp(-a * g), 1 + a * g
    busy = g * _mean_detected(g, a) if detecting else g * (1 + 2 * a) + expm1(-a * g)
    return RandomAccess.of(alone / begun, g * begun / (1 + busy))


def csma_one_persistent_infinite(load: float, delay: float) -> float:
    """Return the throughput of 1-persistent CSMA, without slots.

    As :func:`csma_infinite`, but who finds the channel busy starts as soon as it hears it idle:

        S = G [1 + G + aG(1 + G + aG/2)] e^{−G(1+2a)}
            / (G(1+2a) − (1−e^{−aG}) + (1+aG) e^{−G(1+a)})

    Notes
    -----
    After the first start of a busy stretch, attempts within a start too, the last one at Y; those
    in the 1 + Y after that wait, and start together at Y + 1 + a, a new stretch. It survives if
    it has one first start and none within a. Stretches follow one another as long as any attempt
    waited: with q_k = E (G(1+Y))^k e^{−G(1+Y)}, S = e^{−aG}(q_0 + q_1)/(1 + a + E Y + q_0/G)
    by Wald's identity. Each attempt is sent once, so that G is also the rate of transmissions.

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Kleinrock and Tobagi (1975).
    """
    g, a = nonnegative("load", load), _delay("delay", delay)
    sent = g * (1 + g + a * g * (1 + g + a * g / 2)) * exp(-g * (1 + 2 * a))
    return sent / (g * (1 + 2 * a) + expm1(-a * g) + (1 + a * g) * exp(-g * (1 + a)))


def csma_detecting_infinite(load: float, delay: float) -> float:
    """Return the throughput of non-persistent CSMA with collision detection.

    As :func:`csma_infinite`, but a sender that hears another transmission stops at once. For
    a ≤ ½: S = G e^{−aG}/(G e^{−aG} + 2aG(1−e^{−aG}) + 2 − e^{−aG}).

    Notes
    -----
    If the first of the others starts at X < a, they all stop at a, when they hear the first
    sender, and that one at X + a unless it has finished before: the channel is heard busy until
    min(X + a, 1) + a, where X has the law of an Exp(G) that is below a. Without a collision the
    channel is silent at 1 + a. Any a < 1.

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Tobagi and Hunt, Performance analysis of carrier sense multiple access with collision
    detection (1980), Computer Networks 4 (with no jamming signal).
    """
    offered, a = nonnegative("load", load), _delay("delay", delay)
    return offered * exp(-a * offered) / (1 + offered * _mean_detected(offered, a))


def csma(n_owners: int, rate: float, airtime: float, propagation_delay: float) -> RandomAccess:
    """Return non-persistent CSMA with N owners; ticks that find the channel busy are lost.

    With the airtime as time unit and g = (N−1)λ, answers survive at rate
    e^{−ga}/(1 + 2a − ∫₀^a (1 − e^{−λy} + e^{−λa})^{N−1} dy + 1/(Nλ)).

    Notes
    -----
    All owners are idle when the channel falls silent, and memoryless. After the first start each
    *other* owner starts within a at its first tick, if that comes in time, and at most once, as
    a < 1: P(last start ≤ y) = (1 − e^{−λy} + e^{−λa})^{N−1}. The rest as for
    :func:`csma_infinite`; 1 + (N−1)(1−e^{−λa}) answers begin in a cycle. Lost ticks are not
    attempts. Owners of surviving answers are independent and uniform.

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

    Raises
    ------
    SpecError
        If an argument is outside its domain.

    References
    ----------
    Kleinrock and Tobagi (1975) for many owners; derived as above for N.
    """
    from scipy.integrate import quad  # only here: a slow import

    others, each, a = _carrier(n_owners, rate, airtime, propagation_delay)
    late = exp(-each * a)
    early = quad(lambda y: (late - expm1(-each * y)) ** others, 0, a, epsabs=1e-12)[0]
    return _sensing(others, each, a, airtime, 1 + 2 * a - early)


def csma_detecting(
    n_owners: int, rate: float, airtime: float, propagation_delay: float
) -> RandomAccess:
    """Return non-persistent CSMA with collision detection and N owners.

    Arguments and assumptions as for :func:`csma`, senders that hear another stop as for
    :func:`csma_detecting_infinite`: the first of the others starts at X, an Exp((N−1)λ), so that
    the mean busy time is the infinite population's at load (N−1)λ, and the idle time 1/(Nλ).
    Answers that are broken off are attempts.

    Raises
    ------
    SpecError
        If an argument is outside its domain.
    """
    others, each, a = _carrier(n_owners, rate, airtime, propagation_delay)
    return _sensing(others, each, a, airtime, _mean_detected(others * each, a))


def _delay(key: str, value: float, airtime: float = 1.0) -> float:
    if not isfinite(value) or not 0 <= value < airtime:
        allowed = f"a number ≥ 0 and below the airtime, {airtime!r}: the formula needs colliding"
        raise refused(key, repr(value), f"{allowed} answers to be heard without a gap")
    return value / airtime


def _carrier(
    n_owners: int, rate: float, airtime: float, propagation_delay: float
) -> tuple[int, float, float]:
    """Return N − 1, and λ and a in units of the airtime."""
    others, length = count("n_owners", n_owners) - 1, positive("airtime", airtime)
    a = _delay("propagation_delay", propagation_delay, length)
    return others, positive("rate", rate) * length, a


def _sensing(others: int, each: float, a: float, airtime: float, busy: float) -> RandomAccess:
    """Return what cycles of this mean busy time yield, in the caller's time unit."""
    cycle = (busy + 1 / ((others + 1) * each)) * airtime
    begun = 1 - others * expm1(-each * a)
    return RandomAccess.of(exp(-others * each * a) / begun, begun / cycle)


def _mean_detected(rate: float, a: float) -> float:
    """Return the mean busy time of a cycle whose first sender meets others at this rate."""
    alone, cut = exp(-rate * a), min(a, 1 - a)
    until = cut if rate == 0 else -expm1(-rate * cut) / rate  # E min(X, cut)
    return (1 + a) * alone + 2 * a * (1 - alone) + until - cut * alone
