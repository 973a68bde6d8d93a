"""Oracles of data: whose records, how they are encoded, projected and split."""

from asyncdp_sim.data import FraudData, GaussianData, HospitalData, LendingData, TableData
from asyncdp_sim.data.splits import ByColumn, Dirichlet, InOrder, Shuffled
from asyncdp_sim.data.stand_ins import DeclaredMoments, FittedTwin, PublicRows
from asyncdp_sim.data.tables.encodings import Encoding
from asyncdp_sim.data.tables.preprocessing import (
    AsTheyAre,
    EigenUncentred,
    PrincipalComponents,
)
from asyncdp_sim.evidence.oracle import Basis, Oracle, every, tests

TWIN = "a twin has the moments of the real table that it was calibrated on, and no more"

OF_DATA = (
    Oracle(
        "covariance and noise of drawn records",
        "the condition number, determinant 1, the stated deviation",
        "linear algebra",
        "some thousand records",
        tests(
            "unit/data/test_data_gaussian",
            "the_covariance_has_the_stated_condition_and_determinant_one",
            "noise_has_the_stated_deviation", "the_model_is_linear_without_noise",
        ),
        (GaussianData,),
    ),
    Oracle(
        "moments of the synthetic loans",
        "those given to the calibration",
        "normal to anything",
        TWIN,
        tests(
            "unit/data/test_data_lending_twin",
            "calibration_recovers_the_moments_of_what_it_is_given",
            "values_lie_where_real_ones_do",
        ),
        (LendingData,),
        Basis.approximation,
    ),
    Oracle(
        "moments of the synthetic stays",
        "those given to the calibration, between hospitals too",
        "normal to anything",
        TWIN,
        tests(
            "unit/data/test_data_hospital_twin",
            "calibration_recovers_the_moments_of_what_it_is_given",
            "the_part_between_hospitals_is_unbiased",
        ),
        (HospitalData,),
        Basis.approximation,
    ),
    Oracle(
        "moments of the synthetic transactions",
        "those of the law that they are drawn from",
        "the law's own formulas",
        TWIN,
        tests(
            "unit/data/test_data_fraud", "the_law_has_the_moments_that_it_is_made_from",
            "drawn_rows_have_the_laws_moments",
        ),
        (FraudData,),
        Basis.approximation,
    ),
    Oracle(
        "what becomes of a table's rows",
        "by hand, row by row; private rows recode nobody else's",
        "the definitions",
        "small tables",
        tests(
            "unit/data/test_data_generic", "columns_are_coded_from_the_public_rows_alone",
            "an_owner_column_splits_and_is_no_feature",
            "a_private_cell_of_text_recodes_nobody_else",
        ),
        (TableData,),
    ),
    Oracle(
        "what cells become",
        "by hand",
        "the definitions",
        "every encoding",
        tests("unit/data/test_encodings", "what_cells_become"),
        every(Encoding),
    ),
    Oracle(
        "whose row is which",
        "consecutive blocks; a permutation; one owner for each value",
        "the definitions",
        "small tables",
        tests(
            "unit/data/test_data_splitting", "in_order_is_consecutive_blocks",
            "shuffled_is_a_permutation_of_the_owners_rows_from_its_stream",
            "each_value_is_one_owner_in_sorted_order",
        ),
        (InOrder, Shuffled, ByColumn),
    ),
    Oracle(
        "shares of groups that owners have",
        "every row has one owner; large α alike, small α not; the stated variation",
        "the Dirichlet law",
        "small tables",
        tests(
            "unit/data/test_dirichlet_split",
            "every_row_has_one_owner_and_groups_go_by_shares_of_their_own",
            "weights_are_lognormal_with_their_variation",
        ),
        (Dirichlet,),
    ),
    Oracle(
        "moments of rows drawn from public ones, in place of private rows",
        "those of the public rows, whatever private cells hold",
        "the mean of draws with replacement",
        "forecasts alone, which take no private row; small tables",
        tests(
            "unit/data/test_stand_ins", "moments_are_those_of_the_public_rows",
            "no_private_cell_has_a_say",
        ),
        (PublicRows,),
    ),
    Oracle(
        "rows of a model fitted to public ones, in place of private rows",
        "second moments of the public rows over all owners; owners as far apart as they show",
        "linear algebra; the law that the public rows were drawn from",
        "forecasts alone, which take no private row; targets that are no labels",
        tests(
            "unit/data/test_fitted_stand_in",
            "second_moments_of_all_owners_are_those_of_the_public_rows",
            "owners_are_as_unlike_as_public_rows_show",
        ),
        (FittedTwin,),
    ),
    Oracle(
        "forecasts from released second moments, and the noise of a played release",
        "the forecast from the records, where there is no noise; the declared noise",
        "ψ is a function of second moments and n_i alone, where nothing is clipped",
        "forecasts alone, which take no private row; small tables",
        tests(
            "unit/forecasts/test_released_moments",
            "moments_without_noise_forecast_what_the_records_do",
            "a_played_release_has_the_noise_it_declares_and_is_none_of_real_rows",
        ),
        (DeclaredMoments,),
    ),
    Oracle(
        "projected features",
        "orthonormal on the public rows; unit variance; left as they are",
        "linear algebra",
        "small tables",
        tests(
            "unit/data/test_data_preprocessing",
            "eigen_features_are_orthonormal_on_the_public_rows",
            "pca_is_centred_scaled_and_of_unit_variance", "none_keeps_the_columns",
        ),
        (EigenUncentred, PrincipalComponents, AsTheyAre),
    ),
)  # fmt: skip
