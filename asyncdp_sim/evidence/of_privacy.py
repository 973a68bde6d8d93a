"""Oracles of privacy: noise, what it costs, and attacks on both."""

from asyncdp_sim.evidence.oracle import Basis, Oracle, every, tests, verified
from asyncdp_sim.privacy.accountants.kind import LossDistributions
from asyncdp_sim.privacy.budget import Budget, PerOwnerCap, UntilSpent
from asyncdp_sim.privacy.mechanisms import Mechanism
from asyncdp_sim.privacy.mechanisms.discrete_laplace import DiscreteLaplaceMechanism
from asyncdp_sim.privacy.mechanisms.gaussian import GaussianMechanism
from asyncdp_sim.privacy.mechanisms.laplace import LaplaceMechanism
from asyncdp_sim.privacy.mechanisms.none import NoMechanism
from asyncdp_sim.privacy.mechanisms.staircase import StaircaseMechanism
from asyncdp_sim.privacy.sensitivity import Clip, Declared, Domain

ONE_SIDED = (
    "a lower bound on ε by attack, 99.9 %: sound claims stay below it, planted faults do not"
)

OF_NOISE = (
    Oracle(
        "draws of noise, and how far they tell neighbours apart",
        "the law and its moments; a likelihood ratio of at most e^ε",
        "the definitions of the mechanisms",
        "a million draws",
        verified(
            "mechanisms", "laplace_has_its_law", "gaussian_has_its_law",
            "discrete_laplace_has_its_law", "discrete_laplace_is_exactly_on_its_grid",
            "rounding_adds_at_most_a_step_per_coordinate",
            "no_answer_tells_neighbours_apart_by_more_than_epsilon",
            "noise_is_rarely_longer_than_its_quantile",
        ),
        (LaplaceMechanism, GaussianMechanism, DiscreteLaplaceMechanism),
    ),
    Oracle(
        "staircase noise of vectors",
        "shells of ‖w‖₁ one by one; a likelihood ratio of at most e^ε",
        "Geng and Viswanath (2014)",
        "vectors, one L1 sensitivity for all coordinates",
        verified(
            "staircase", "noise_has_its_law", "density_integrates_to_its_moments",
            "finite_sums_equal_the_series", "best_gamma_is_the_published_one",
            "no_answer_tells_neighbours_apart_by_more_than_epsilon",
            "distribution_function_is_the_integral_of_the_density",
            "quantiles_are_where_the_distribution_function_says",
            "small_charges_give_laplace_noise_and_one_dimension_the_known_law",
            "no_gamma_is_better_than_the_best", "the_gain_over_laplace_is_that_of_its_page",
            "best_gamma_of_flat_laws_is_a_half",
            "independent_coordinates_cost_epsilon_each", "each_owner_has_its_own_noise",
            "blocks_do_not_change_what_is_drawn",
            "what_was_drawn_is_found_again_and_exact_answers_are_certain",
        ),
        (StaircaseMechanism,),
    ),
    Oracle(
        "answers without a mechanism",
        "the gradients themselves, at any number of answers",
        "the definition",
        "every budget",
        tests(
            "conformance/test_budgets_and_bounds",
            "without_privacy_answers_are_exact_and_no_number_of_them_is_too_large",
        ),
        (NoMechanism,),
    ),
    Oracle(
        "low bits of floating-point answers",
        "answers that a neighbour cannot give, and none on a grid",
        "Mironov (2012)",
        "NumPy's draws",
        verified(
            "floating_point", "numpys_draws_are_understood",
            "floating_point_answers_rule_neighbours_out",
            "answers_on_a_grid_rule_nothing_out",
            "every_step_near_a_gradient_comes_about_from_its_neighbour_too",
            "the_gradients_low_bits_leave_no_trace",
        ),
        (LaplaceMechanism, DiscreteLaplaceMechanism),
    ),
    Oracle(
        "ε of a mechanism, a scenario, or a planted fault, by attack",
        "at most the claim where it is sound, more where a fault is planted",
        "Clopper–Pearson on a split sample; exact likelihood ratios where known",
        ONE_SIDED,
        (
            *tests("conformance/test_mechanisms", "a_mechanism_is_sound_at_its_claim",
                   "a_fault_in_a_mechanism_is_refuted"),
            *verified("audit", "the_table_of_known_mechanisms", "what_is_sound_is_not_refuted",
                      "a_declared_bound_that_holds_is_not", "workers_never_change_what_is_found",
                      "what_so_many_runs_cannot_show_is_said",
                      "all_bounds_together_have_the_confidence",
                      "shared_records_are_not_said_to_be_attacked",
                      "a_gaussian_claim_about_events_that_are_not_gaussian_is_taken_as_it_stands"),
            *verified("audit_sound", "a_sound_scenario_is_not_refuted",
                      "a_random_sound_scenario_is_not_refuted",
                      "a_random_sound_scenario_is_not_refuted_at_the_default_size",
                      "a_sound_scenario_is_not_refuted_by_many_runs",
                      "claims_by_textbook_are_what_the_accountant_says"),
            *verified("audit_faults",
                      "a_planted_fault_is_caught_and_no_bound_exceeds_its_truth",
                      "the_scenario_itself_is_not_refuted", "sums_themselves_are_not_refuted",
                      "local_steps_themselves_are_not_refuted",
                      "what_replay_publishes_is_compared_with_what_was_attacked"),
            *verified("attack",
                      "many_scores_refute_the_truth_no_more_often_than_stated",
                      "the_textbooks_gaussian_is_the_accountants",
                      "no_noise_and_no_claim_are_the_ends"),
        ),
        every(Mechanism),
        Basis.approximation,
    ),
)  # fmt: skip

OF_COSTS = (
    Oracle(
        "ε of a thousand Gaussian answers, and of pure ones",
        "their privacy loss distribution; exact decimals",
        "dp-accounting; Φ(1/(2z) − εz) − e^ε Φ(−1/(2z) − εz) = δ",
        "ε from 0.3 to 8, δ from 1e-9 to 1e-4",
        verified(
            "accounting",
            "a_thousand_gaussian_answers_cost_what_their_loss_distribution_says",
            "renyi_bounds_are_looser", "no_noise_and_nothing_but_noise",
            "the_ledger_reports_what_a_shared_record_costs",
            "a_multiplier_gives_its_epsilon_by_the_formula",
            "zero_concentrated_privacy_adds_up",
            "calibrated_noise_spends_the_budget_and_never_more",
            "as_many_gaussian_answers_as_fit", "as_many_pure_answers_as_fit_in_decimals",
            "owners_that_share_a_record_spend_the_least_epsilon_together",
        ),
        (GaussianMechanism, LaplaceMechanism, PerOwnerCap, UntilSpent),
    ),
    Oracle(
        "what pure answers cost together, by privacy loss distributions",
        "randomised response composed exactly; Laplace noise rounded to cells; integrated mixes",
        "P(B ≥ b) − e^ε P'(B ≥ b), B binomial; δ(ε) = E δ'(ε − L)",
        "up to 10⁶ answers of ε₀ to 3, δ from 1e-9 to 1e-3",
        verified(
            "loss_distributions", "answers_cost_no_less_than_they_must_and_hardly_more",
            "laplace_answers_whose_epsilon_adds_up_to_one", "as_many_as_a_million_answers",
            "floating_point_errors_are_within_their_bound", "a_mix_of_mechanisms",
            "a_mix_of_scales", "gaussian_answers_are_those_of_their_exact_curve",
            "noise_for_a_budget_spends_it_and_never_more", "as_many_answers_as_fit",
            "a_vector_is_dominated_by_one_coordinates_full_shift",
            "the_default_interval_is_too_coarse_for_a_million_answers", "figures_of_the_page",
            "a_thousand_answers_need_noise_seven_and_a_half_times_smaller",
            "a_forecast_has_the_noise_that_composition_leaves",
            "nothing_costs_nothing_and_no_noise_has_no_end",
        ),
        (LossDistributions, LaplaceMechanism),
    ),
    Oracle(
        "what answers over samples cost, and how they spread",
        "an integral over all pairs of records; sums of losses; dp-accounting for one replaced",
        "(1 − q) P₀ + q P₁ against (1 − q) P₀ + q P₂; Cov = (1 − q)/(q n²) Σ ∇ℓ ∇ℓᵀ",
        "z from 0.2 to 3, q from 0.01 to 0.95, up to 1,000 answers",
        verified(
            "subsampling", "two_opposite_records_are_told_apart_best",
            "sampled_answers_cost_what_they_must_and_hardly_more",
            "the_same_as_dp_accounting_says_of_one_record_replaced",
            "noise_for_a_budget_spends_it_and_never_more",
            "a_pure_answer_costs_the_largest_ratio_that_there_is",
            "what_noise_may_cost_is_what_answers_cost_turned_round",
            "sums_over_samples_are_unbiased_and_spread_as_they_should",
            "noisy_answers_are_unbiased_and_spread_as_they_should",
            "live_learning_is_its_replay_and_no_budget_is_exceeded",
            "without_sampling_all_records_are_in_every_answer",
            "what_there_is_no_proof_of_is_refused", "figures_of_the_page",
        ),
        (LaplaceMechanism, GaussianMechanism),
    ),
    Oracle(
        "what answers of several local steps cost",
        "as much as E times as many answers of one gradient, to the bit",
        "adaptive composition",
        "every mechanism, accountants, samples, shared records, an own learner",
        verified(
            "local_steps", "a_budget_is_spent_by_the_last_gradient_and_never_exceeded",
            "the_curve_of_a_budget_and_zcdp_are_of_all_gradients",
            "a_repeat_sends_the_same_and_costs_nothing_new",
            "of_gaussian_gradients_at_one_point_the_sum_tells_all",
            "what_is_not_known_or_makes_no_sense_is_refused",
        ),
        (LaplaceMechanism, GaussianMechanism, StaircaseMechanism),
    ),
    Oracle(
        "E ψ where answers are over samples of records",
        "every sample enumerated; exact moments with the spread of a sample, |z| ≤ 4",
        "asyncdp_sim.theory.moments.sample_spread",
        "quadratic loss, no clipping, Θ inactive; one-on-one, budgets that end, rounds",
        verified(
            "sampled_moments", "the_spread_is_that_of_all_samples_enumerated",
            "common_records_are_everybody_s",
            "expected_psi_of_sampled_answers_is_what_is_simulated",
            "a_spread_over_1_in_q_records_is_caught",
            "draws_of_psi_have_the_expectation_that_moments_have",
            "what_is_not_exact_is_simulated_and_says_why",
            "a_forecast_says_that_it_is_exact",
        ),
        (LaplaceMechanism, GaussianMechanism),
    ),
    Oracle(
        "what the ledger shows",
        "releases × ε per answer, exactly, and never above ε",
        "rational arithmetic",
        "runs cut short, budgets that end",
        verified(
            "ledger", "charges_are_exact_in_runs_cut_short",
            "a_budget_is_spent_to_the_last_answer", "every_count_is_charged_to_the_last_bit",
            "capped_owners_release_min_poisson_k", "until_spent_with_answers_is_a_cap",
            "a_price_stops_an_owner_before_it_exceeds_its_budget",
            "what_a_shared_record_costs_is_reported",
        ),
        (PerOwnerCap, UntilSpent),
    ),
    Oracle(
        "answers that a budget allows, and the noise that it takes",
        "no number allowed costs more than ε",
        "the accountant of the mechanism",
        "every budget under every mechanism",
        tests(
            "conformance/test_budgets_and_bounds",
            "a_budget_allows_every_owner_a_whole_number_of_answers",
            "no_number_of_allowed_answers_costs_more_than_the_budget",
        ),
        every(Budget),
    ),
)  # fmt: skip

OF_BOUNDS = (
    Oracle(
        "how far a record moves an answer under clipping",
        "at most twice the bound over n_i",
        "a loop over records; random and extreme records",
        "linear models and perceptrons",
        (
            *tests("unit/privacy/test_bounds", "no_record_contributes_more_than_a_clips_bound"),
            *tests("unit/learning/test_objectives_records",
                   "replacing_one_record_moves_a_clipped_mean_by_at_most_twice_the_bound"),
            *tests("unit/learning/test_perceptron",
                   "replacing_one_record_moves_a_clipped_mean_by_at_most_twice_the_bound"),
        ),
        (Clip,),
    ),
    Oracle(
        "E ψ with clipped gradients",
        "moments that take gradients as linear between their clipped ends, within 6 %",
        "asyncdp_sim.theory.moments.clipped",
        "async-gossip, three owners alike; half to nine in ten of all gradients clipped",
        verified("clipped", "the_shares_are_as_said", "they_are_as_near_as_they_say"),
        (Clip,),
        Basis.approximation,
    ),
    Oracle(
        "the largest gradient over a domain",
        "never beyond the bound, and reached",
        "a search over corners",
        "boxes of a few coordinates",
        tests(
            "unit/privacy/test_bounds", "a_domains_bound_is_never_exceeded_and_is_tight",
            "confine_respects_the_norm_and_the_range",
        ),
        (Domain,),
    ),
    Oracle(
        "the largest gradient met under a declared bound",
        "a brute-force pass over every record at every query that was answered",
        "tests/verification/test_declared_bound.py",
        "these records; for others the bound is taken on trust",
        verified(
            "declared_bound", "the_pruned_pass_is_the_brute_force_one",
            "the_pruned_pass_is_the_brute_force_one_for_all",
            "ways_are_all_that_the_unions_have", "every_loop_meets_the_same",
            "averaging_looks_at_the_only_query_of_each",
            "no_bit_of_what_is_learned_depends_on_being_watched",
            "live_learning_meets_what_its_replay_does", "the_largest_is_that_of_all_pairs",
            "a_pair_by_itself_is_the_norm_of_a_difference_quotient",
            "few_of_all_pairs_are_looked_at",
            "a_bound_that_is_exceeded_in_one_place_alone_is_exceeded",
            "a_bound_that_only_a_lost_answer_exceeds_is_exceeded",
            "queries_that_nobody_looked_at_are_counted_and_never_a_yes",
            "a_bound_that_held_where_it_was_looked_at_says_whose_epsilon_it_is",
        ),
        (Declared,),
    ),
)  # fmt: skip
