"""Student's t, by the part of SciPy that is quick to import."""


def t_quantile(freedom: int, share: float) -> float:
    """Return t with P(T ≤ t) = p, T having Student's law with ν degrees of freedom.

    Parameters
    ----------
    freedom : int
        ν ≥ 1.
    share : float
        p, in (0, 1).
    """
    from scipy.special import stdtrit  # only where a ± is made, as it takes longer than a small run

    return float(stdtrit(freedom, share))
