"""Oracles of channels that owners share."""

from asyncdp_sim.evidence.oracle import Oracle, verified
from asyncdp_sim.network.channels import Aloha, Csma, SlottedAloha, Tdma
from asyncdp_sim.network.channels.dcf import Dcf
from asyncdp_sim.network.clocks import PoissonClock, SaturatedClock
from asyncdp_sim.network.protocols import Push

FORMULAS = "asyncdp_sim.theory.formulas.channels"

OF_CHANNELS = (
    Oracle(
        "answers begun and answers that survive",
        "G e^(−2G); with N owners [e^(−λτ)/(1+λτ)]^(N−1); capture by power",
        f"{FORMULAS}.aloha (Abramson 1970)",
        "push, equal airtimes",
        verified("aloha", "answers_survive_as_often_as_they_should"),
        (Aloha, Push, PoissonClock),
    ),
    Oracle(
        "what a slot holds, and who cannot send in the next",
        "N q (1−q)^(N−1), q = p/(1+p), p = 1 − e^(−λτ)",
        f"{FORMULAS}.aloha",
        "push, an airtime of at most a slot",
        verified(
            "slotted", "what_a_slot_holds", "the_last_sender_cannot_send_in_the_next_slot"
        ),
        (SlottedAloha, Push, PoissonClock),
    ),
    Oracle(
        "answers begun and answers that survive",
        "G e^(−aG)/(G(1+2a) + e^(−aG)), and its forms for N owners, detection, persistence 1",
        f"{FORMULAS}.csma (Kleinrock and Tobagi 1975)",
        "push, non-persistent or 1-persistent, no backoff, a < airtime",
        verified("csma", "answers_begin_and_survive_as_often_as_they_should"),
        (Csma, Push, PoissonClock),
    ),
    Oracle(
        "answers that survive, answers sent, staleness",
        "the chain of all owners' windows and counts; Bianchi's fixed point within 1 % for N ≥ 5",
        f"{FORMULAS}.dcf (Bianchi 2000)",
        "push, 2 and 3 owners that always have an answer; 5 to 30",
        verified(
            "dcf",
            "the_channel_at_work_is_the_chain_of_counts",
            "the_fixed_point_is_within_one_percent_of_five_owners_or_more",
            "for_two_owners_it_is_off_by_more",
        ),
        (Dcf, Push, SaturatedClock),
    ),
    Oracle(
        "collisions, rate of answers, delay until one's slot",
        "none in 200,000 slots that touch; rate and uniform access delay",
        f"{FORMULAS}.tdma",
        "push; owners always at work, or Poisson",
        verified("tdma", "slots_back_to_back_without_a_collision", "rates_and_access"),
        (Tdma, Push, SaturatedClock, PoissonClock),
    ),
)  # fmt: skip
