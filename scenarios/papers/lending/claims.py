"""Claims of Async's figures 3 to 7 in numbers."""

from dataclasses import replace

from asyncdp_sim.results import Sweep
from scenarios.papers.claims import MOVED, OURS, SENTENCES, Claim, Range, Reason, moved, private
from scenarios.papers.exact import exactly, flattest, quiet
from scenarios.papers.figure import AS_PUBLISHED, AS_WRITTEN, SOUND
from scenarios.papers.lending import reasons
from scenarios.papers.lending.readings import (
    RECORDS,
    by_chance,
    constant,
    cost,
    crossing,
    deciding,
    deciding_constant,
    deciding_slope,
    drop,
    end_over_exact,
    free,
    gaining,
    least_over_alone,
    least_widening,
    line,
    median,
    over,
    relative_end,
    run_over_exact,
    silent,
    slope,
    start,
    worst_step,
)
from scenarios.papers.lending.reasons import (
    AT_SIZE,
    BUDGET,
    CONSTANT,
    ENDS,
    FAR,
    FAR_A_DECADE,
    FEWER,
    LARGE,
    LAW_WITHIN,
    MANY,
    PAYS_ABOVE,
    PAYS_ABOVE_TOO,
    PAYS_AT,
    PAYS_AT_TOO,
    READ_OFF,
    START,
    XI,
    at,
)
from scenarios.papers.noise import scale_claims

SLOPE = (-2.1, -1.9)
NOISY = (AS_PUBLISHED, AS_WRITTEN)
ALL = (*NOISY, SOUND)

_PROMISE = "share of cells that are private as claimed"
PROMISE = (
    Claim(_PROMISE, private, 1, 1, 1.0, reasons.ONE_DRAW, judges=SENTENCES["PRIVATE"]),
    Claim(
        _PROMISE, private, 1, 1, 1.0, reasons.L2_IN_L1, (AS_WRITTEN,), judges=SENTENCES["PRIVATE"]
    ),
    Claim(_PROMISE, private, 1, 1, 1.0, variants=(SOUND,), judges=SENTENCES["PRIVATE"]),
)
THE_SCALE = scale_claims(dict.fromkeys(ALL, XI), SENTENCES["SCALE"])
BY_CHANCE = Claim(
    "mean ψ of the runs over its exact expectation, geometric mean over cells", run_over_exact,
    published=1.0, variants=NOISY, window=by_chance, judges=OURS,
)  # fmt: skip


def _ends(epsilon: float, published: float) -> tuple[Claim, ...]:
    """Return what was published of ψ at the end: in figure 3, and by the law of figure 5."""
    unit = (epsilon * AT_SIZE) ** 2
    relative = published / (1 + START)

    by_law = (LAW_WITHIN[0] / unit, LAW_WITHIN[1] / unit)
    of_3 = f"median ψ over 1 + ψ_0 at k = T, ε = {epsilon:g}: figure 3's end over its start"
    of_5 = f"mean ψ at k = T less that without noise, ε = {epsilon:g}: figure 5's law"
    square = None if epsilon == min(ENDS) else reasons.by_the_square(epsilon)
    within = (relative / READ_OFF, relative * READ_OFF)
    return (
        Claim(of_3, relative_end(epsilon), *within, relative, square, NOISY),
        *(
            Claim(of_5, cost(epsilon), *by_law, CONSTANT / unit, why, (variant,),
                  of_means=True, judges=SENTENCES["LAW_5"])
            for variant, why in (
                (AS_PUBLISHED, None), (AS_WRITTEN, reasons.other_step_at(epsilon))
            )
        ),
    )  # fmt: skip


C_OF_LAW = (
    "c of c/(ε n_i)², cells inside the box: as drawn (by equation (6) with n = Σ n_i the printed "
    "c̄'₂ = 2.1·10⁹ is c = 0.7·10⁹, a third)"
)

OVER_EXACT = "ψ over the exact forecast, were nothing clipped"
SOUND_OVER_EXACT = Claim(
    f"{OVER_EXACT}, cells in which noise decides",
    lambda sweep: over(deciding(sweep), exactly(sweep)), 0.8, 1.25, 1.0, variants=(SOUND,),
    judges=OURS,
)  # fmt: skip
A_DECADE = "mean ψ at ε = 0.1 over that at ε = 1"


def _a_decade(sweep: Sweep) -> Range:
    """Return 100, and less by what is not learned without noise; a tenth for what is read off."""
    left = quiet(sweep).at(at(sweep, 1.0))
    share = left / exactly(sweep).at(at(sweep, 1.0))
    return 0.9 * (100 * (1 - share) + share), 110.0


CLAIMS_3: tuple[Claim, ...] = (
    Claim("median ψ before the first update", start, 0.8, 1.2, START, reasons.OTHER_START, ALL),
    *(claim for pair in ENDS.items() for claim in _ends(*pair)),
    Claim("largest ratio of the median of ψ to that of T/10 updates before, ε = 10, k ≤ T/2: "
          "the median decreases", worst_step, high=1, variants=NOISY,
          judges=SENTENCES["DECREASES"]),
    Claim("least ratio of the 25-75 % band's width to that at ten times the budget: smaller ε "
          "widens the band", least_widening, 1, variants=ALL, judges=SENTENCES["WIDENS"]),
    Claim(A_DECADE, drop, published=100.0, variants=NOISY, of_means=True, window=_a_decade,
          judges=SENTENCES["IMPROVES"]),
    Claim(A_DECADE, drop, published=100.0, reason=FAR_A_DECADE, variants=(SOUND,),
          window=_a_decade, judges=SENTENCES["IMPROVES"]),
    Claim(f"{OVER_EXACT}, ε = 10", end_over_exact, 0.8, 1.25, 1.0, variants=(SOUND,),
          judges=OURS),
    BY_CHANCE,
    *THE_SCALE,
    *PROMISE,
)  # fmt: skip

CLAIMS_4: tuple[Claim, ...] = (
    Claim(
        "P(i_(k+1) = i_k), 1/N if i_k is uniform and independent",
        lambda sweep: float(sweep.cells[0].result.summary["p_repeat"]),
        1 / 3 - 0.06, 1 / 3 + 0.06, 1 / 3, variants=ALL, judges=SENTENCES["AT_RANDOM"],
    ),
    Claim(
        "Jain's index of the owners' updates, 1 if all are alike",
        lambda sweep: float(sweep.cells[0].result.summary["fairness"]), 0.98, 1.0, 1.0,
        variants=ALL, judges=SENTENCES["AT_RANDOM"],
    ),
    Claim(MOVED, moved, 0, 0, 0.0, variants=(AS_WRITTEN, SOUND), beside=(AS_PUBLISHED,),
          judges=OURS),
    Claim("banks that have given all their answers", silent, 0, 0, 0.0, variants=(SOUND,),
          judges=OURS),
    *PROMISE,
)  # fmt: skip


THE_LAW = (
    Claim(C_OF_LAW, constant, *LAW_WITHIN, CONSTANT, of_means=True),
    Claim(C_OF_LAW, constant, *LAW_WITHIN, CONSTANT, reasons.OTHER_STEP, (AS_WRITTEN,),
          of_means=True),
    Claim(
        "c of c/(ε n_i)², cells in which noise decides: (400/1000)² of the published",
        deciding_constant, FEWER * LAW_WITHIN[0], FEWER * LAW_WITHIN[1], FEWER * CONSTANT,
        variants=(SOUND,),
    ),
)  # fmt: skip
CLAIMS_5: tuple[Claim, ...] = (
    *THE_LAW,
    SOUND_OVER_EXACT,
    BY_CHANCE,
    *(
        claim
        for axis, sign in enumerate(("n_i", "ε"))
        for claim in (
            Claim(f"exponent of {sign}, cells inside the box", slope(axis), *SLOPE, -2.0,
                  variants=NOISY, of_means=True),
            Claim(f"exponent of {sign}, cells inside the box", slope(axis), *SLOPE, -2.0,
                  FAR, (SOUND,)),
            Claim(f"exponent of {sign}, cells in which noise decides", deciding_slope(axis),
                  *SLOPE, -2.0, variants=(SOUND,)),
        )
    ),
    Claim("share of cells in which the projection never acts", free, 0.75, variants=(SOUND,),
          judges=OURS),
    *THE_SCALE,
    *PROMISE,
)  # fmt: skip


def _not_learned(x: str, by: str) -> Reason:
    return Reason(
        "where noise is small, ψ is what T = 1000 updates have not learned yet, which no budget "
        "and no further record makes smaller",
        lambda sweep: (-2.1, flattest(sweep, x, by) + 0.1),
        "calculated: the flattest line of the exact moments, which is within 0.1",
    )


CLAIMS_6: tuple[Claim, ...] = (
    *(replace(each, judges=SENTENCES["LAW_6"]) for each in THE_LAW),
    *(
        Claim(f"exponent of {sign}, {which} of the lines", line(*axes, one), *SLOPE, -2.0, why, of,
              of_means=of == NOISY)
        for sign, axes in (("ε", (BUDGET, RECORDS)), ("n_i", (RECORDS, BUDGET)))
        for which, one, why, of in (
            ("median", median, None, NOISY),
            ("flattest", max, _not_learned(*axes), NOISY),
            ("median", median, FAR, (SOUND,)),
        )
    ),
    *THE_SCALE,
    *PROMISE,
)  # fmt: skip

CLAIMS_7: tuple[Claim, ...] = (
    Claim(
        "number of banks from which bank 1 gains, ε = 10", crossing(PAYS_AT), 3, 7,
        PAYS_ABOVE, variants=ALL, of_means=True,
    ),
    Claim(
        "number of banks from which bank 1 gains, ε = 2.5", crossing(PAYS_AT_TOO), 50, 200,
        PAYS_ABOVE_TOO, reasons.too_noisy(PAYS_AT_TOO), NOISY, of_means=True,
    ),
    Claim(
        f"share of cells with more than {MANY} banks and ε ≥ {LARGE:g} in which bank 1 gains: all",
        gaining, 1, 1, 1.0, reasons.HEADLINE, ALL, of_means=True, judges=SENTENCES["SUPERIOR"],
    ),
    *(
        Claim(
            f"ψ over ψ(θ_1*), the least of cells with more than {MANY} banks and ε > {LARGE:g}: "
            "bank 1 can gain", least_over_alone, high=1, reason=why, variants=(variant,),
            of_means=True, judges=SENTENCES["CAN_BEAT"],
        )
        for variant, why in ((AS_PUBLISHED, None), (AS_WRITTEN, reasons.HALF_LEARNED),
                             (SOUND, None))
    ),
    SOUND_OVER_EXACT,
    BY_CHANCE,
    *THE_SCALE,
    *PROMISE,
)  # fmt: skip
