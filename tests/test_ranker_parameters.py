"""SoftRanker's parameters: what they change in the boosters, clashes, refusals and warnings."""

from __future__ import annotations

import json
import sys

import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from boostsoft import Metric, QueryGroups, SoftRanker
from boostsoft.ranker import lightgbm_trees, xgboost_trees
from boostsoft.ranker.fitted import encoded
from boostsoft.ranker.settings import check_settings

from . import ranker_cases
from .ranker_cases import PLAIN, both, fit, ranker
from .releases import IS_QUIET

xgb = pytest.importorskip("xgboost")
data = ranker_cases.data  # a fixture


PARAMETERS = {
    "n_estimators": (7, None, None),
    "learning_rate": (0.3, ("learning_rate", 0.3), ("learning_rate", 0.3)),
    "num_leaves": (4, ("num_leaves", 4), ("max_leaves", 4)),
    "max_depth": (3, ("max_depth", 3), ("max_depth", 3)),
    "min_child_samples": (11, ("min_data_in_leaf", 11), ("min_child_weight", 11 * 4.0)),
    "reg_lambda": (2.0, ("lambda_l2", 2.0 * 0.25), ("reg_lambda", 2.0 * 4.0)),
    "colsample": (0.5, ("feature_fraction", 0.5), ("colsample_bytree", 0.5)),
    "subsample": (0.5, ("bagging_fraction", 0.5), ("subsample", 0.5)),
    "random_trees": (True, ("extra_trees", True), ("subsample", 0.7)),
    "n_jobs": (2, ("num_threads", 2), ("nthread", 2)),
    "random_state": (5, ("seed", 5), ("seed", 5)),
    "booster_params": ({"max_bin": 9}, ("max_bin", 9), ("max_bin", 9)),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_reaches_the_booster(name):
    value, in_lightgbm, in_xgboost = PARAMETERS[name]
    settings = check_settings(SoftRanker(**{**PLAIN, name: value}))
    if in_lightgbm is not None:
        assert lightgbm_trees.parameters(settings, 0.25)[in_lightgbm[0]] == in_lightgbm[1]
        assert xgboost_trees.parameters(settings, 0.25)[in_xgboost[0]] == in_xgboost[1]


@both
@pytest.mark.parametrize("name", [name for name in PARAMETERS if name not in ("n_jobs", "random_state")])
def test_every_parameter_changes_the_trees(booster, name, data):
    before = fit(ranker(booster, num_leaves=12), data).predict(data.X)
    after = fit(ranker(booster, num_leaves=12).set_params(**{name: PARAMETERS[name][0]}), data).predict(data.X)
    assert not np.array_equal(before, after)


@both
@pytest.mark.parametrize(
    "change",
    [{"metric": "map"}, {"mix": {"kendall": 1.0}}, {"noise": "gumbel"}, {"sigma": 2.0}, {"hessian": "constant"}],
)
def test_the_objective_changes_the_trees(booster, change, data):
    before, after = (fit(ranker(booster, **p), data).predict(data.X) for p in ({}, change))
    assert not np.array_equal(before, after)


def test_threads_below_0_are_counted_from_behind():
    cpus = joblib.cpu_count()
    assert [check_settings(SoftRanker(n_jobs=n)).n_jobs for n in (-1, -2, -cpus)] == [cpus, max(cpus - 1, 1), 1]


def test_a_number_of_threads_is_meant_as_it_stands_whoever_calls():
    """joblib itself gives one to a worker among workers; what is counted from behind goes by it."""
    with joblib.parallel_config(backend="sequential"):
        assert [check_settings(SoftRanker(n_jobs=n)).n_jobs for n in (3, -1)] == [3, 1]


def test_depth_without_a_limit():
    settings = check_settings(SoftRanker(max_depth=-1))
    assert lightgbm_trees.parameters(settings, 0.25)["max_depth"] == -1
    assert xgboost_trees.parameters(settings, 1.0)["max_depth"] == 0
    assert "bagging_freq" not in lightgbm_trees.parameters(settings, 0.25)


def test_every_alias_of_lightgbm_is_known():
    from lightgbm.basic import _ConfigAliases

    known = {**lightgbm_trees.TAKEN, **lightgbm_trees.SETTLED}
    names = [
        "num_iterations", "learning_rate", "num_leaves", "max_depth", "min_data_in_leaf", "lambda_l2",
        "feature_fraction", "bagging_fraction", "bagging_freq", "metric", "early_stopping_round", "num_threads", "seed",
        "objective", "verbosity", "boosting", "bagging_by_query", "categorical_feature", "first_metric_only",
        "early_stopping_min_delta", "eval_at", "label_gain", "lambdarank_truncation_level", "lambdarank_norm",
        "lambdarank_position_bias_regularization", "objective_seed", "sigmoid", "scale_pos_weight", "is_unbalance",
        "boost_from_average", "num_class", "alpha", "fair_c", "poisson_max_delta_step", "tweedie_variance_power",
        "reg_sqrt", "pos_bagging_fraction", "neg_bagging_fraction", "drop_rate", "max_drop", "skip_drop",
        "uniform_drop", "xgboost_dart_mode", "drop_seed", "num_machines", "machines", "machine_list_filename",
        "local_listen_port", "time_out", "pre_partition", "auc_mu_weights", "multi_error_top_k", "input_model", "task",
        "config", "data", "valid", "header", "label_column", "weight_column", "group_column", "ignore_column",
        "two_round", "precise_float_parser", "parser_config_file", "save_binary", "output_model", "snapshot_freq",
        "saved_feature_importance_type", "metric_freq", "is_provide_training_metric", "refit_decay_rate",
        "convert_model", "convert_model_language", "output_result", "num_iteration_predict", "start_iteration_predict",
        "predict_raw_score", "predict_leaf_index", "predict_contrib", "predict_disable_shape_check", "pred_early_stop",
        "pred_early_stop_freq", "pred_early_stop_margin",
    ]  # fmt: skip
    assert _ConfigAliases.get(*names) <= set(known)


@pytest.mark.parametrize(("booster", "trees"), [("lightgbm", lightgbm_trees), ("xgboost", xgboost_trees)])
def test_what_the_ranker_sets_may_not_be_set_beside_it(booster, trees, data):
    for name in (*trees.TAKEN, *trees.SETTLED):
        with pytest.raises(ValueError, match=rf"^SoftRanker.fit: booster_params must not hold '{name}': "):
            fit(ranker(booster, booster_params={name: 1}), data)


@pytest.mark.parametrize("name", ["booster", "rate_drop", "one_drop", "skip_drop"])
def test_trees_of_xgboost_are_not_dropped(name, data):
    """What makes a dart of a gbtree from XGBoost 3.4 on."""
    with pytest.raises(ValueError, match=rf"booster_params must not hold '{name}': the ranker's trees add up: gbtree"):
        fit(ranker("xgboost", booster_params={name: 0}), data)


def test_what_lightgbm_does_not_know_is_refused(data, monkeypatch):
    rule = r"^SoftRanker.fit: booster_params must hold parameters of LightGBM; "
    with pytest.raises(ValueError, match=rf"{rule}got 'min_gain_to_spilt': is 'min_gain_to_split' meant\?$"):
        fit(ranker(booster_params={"min_gain_to_spilt": 1e9}), data)
    with pytest.raises(ValueError, match=r"LightGBM; got 'xyzzy'$"):
        fit(ranker(booster_params={"xyzzy": 1}), data)
    fit(ranker(booster_params={"min_split_gain": 0.0, "max_bin": 9, "monotonic_cst": [0, 0, 0, 1]}), data)
    monkeypatch.delattr("lightgbm.basic._ConfigAliases._get_all_param_aliases")  # another version's way
    fit(ranker(booster_params={"min_gain_to_spilt": 1e9}), data)


def test_the_most_leaves_that_lightgbm_takes(data):
    most = {"num_leaves": 131_072, "n_estimators": 1}
    assert ranker(**most).fit(data.X, data.y, qid=data.qid).booster_.num_trees() == 1
    with pytest.raises(ValueError, match=r"num_leaves must be at most 131,072 in LightGBM; got 131,073"):
        ranker(**{**most, "num_leaves": 131_073}).fit(data.X, data.y, qid=data.qid)


def test_xgboost_reads_data_on_the_threads_that_it_is_given(data):
    model = ranker("xgboost").fit(data.X, data.y, qid=data.qid)
    features = encoded("test", model, data.X)[1]
    assert xgboost_trees.as_dmatrix(features, 1).nthread == 1


@pytest.mark.parametrize(
    ("params", "bins"),
    [
        ({}, [256]),
        ({"tree_method": "hist", "max_bin": 16, "device": "cpu"}, [16]),
        ({"tree_method": "approx"}, []),
        ({"updater": "grow_quantile_histmaker"}, []),
        ({"max_bin": "16"}, []),
    ],
)
@pytest.mark.filterwarnings("ignore:.*manually specified the `updater`")
def test_xgboost_keeps_bins_alone_where_trees_need_no_more(params, bins, data, monkeypatch):
    """Beside them a DMatrix has eight bytes for every number."""
    made, quantile_matrix = [], xgb.QuantileDMatrix

    def noted(X, max_bin, **options):
        made.append(max_bin)
        return quantile_matrix(X, max_bin=max_bin, **options)

    monkeypatch.setattr(xgb, "QuantileDMatrix", noted)
    ranker("xgboost", booster_params=params).fit(data.X, data.y, qid=data.qid)
    assert made == bins


def test_histograms_by_column_are_had_for_the_asking(data):
    """By row they are otherwise: LightGBM would try which is faster, and add up in another order."""
    given = {"force_col_wise": True}
    usual = lightgbm_trees.parameters(check_settings(SoftRanker()), 0.01)
    assert (usual["force_row_wise"], usual["deterministic"]) == (True, True)
    assert "force_row_wise" not in lightgbm_trees.parameters(check_settings(SoftRanker(booster_params=given)), 0.01)
    refused = {"force_col_wise": False}  # otherwise LightGBM would choose by what is faster just then
    assert lightgbm_trees.parameters(check_settings(SoftRanker(booster_params=refused)), 0.01)["force_row_wise"]
    by_column, by_row = (ranker(booster_params=more).fit(data.X, data.y, qid=data.qid) for more in (given, {}))
    np.testing.assert_allclose(by_column.predict(data.X), by_row.predict(data.X), rtol=1e-6, atol=1e-9)


def test_what_exact_trees_of_xgboost_ignore_is_refused(data):
    exact = {"random_trees": False, "booster_params": {"tree_method": "exact"}}
    with pytest.raises(ValueError, match=r"^SoftRanker.fit: random_trees must be False with tree_method='exact'"):
        fit(ranker("xgboost", **{**exact, "random_trees": True}), data)
    draws = check_settings(SoftRanker("xgboost", booster_params={"tree_method": "exact"}))
    draws = draws.on(np.arange(60_000) % 2.0, QueryGroups.from_sizes([100] * 600))  # in the second booster
    with pytest.raises(ValueError, match="random_trees must be False with tree_method='exact'"):
        xgboost_trees.parameters(draws, 0.25)
    alone = check_settings(
        SoftRanker("xgboost", booster_params={"tree_method": "exact"}, n_boosters=1, max_depth=3, num_leaves=8)
    )
    alone = alone.on(np.arange(60_000) % 2.0, QueryGroups.from_sizes([100] * 600))  # plain trees, as the data decides
    assert xgboost_trees.parameters(alone, 0.25)["tree_method"] == "exact"
    for depth, leaves in ((-1, 31), (3, 7)):
        with pytest.raises(ValueError, match=rf"fit: max_depth must .* num_leaves be .*; got max_depth={depth} and n"):
            fit(ranker("xgboost", **exact, max_depth=depth, num_leaves=leaves), data)
    model = fit(ranker("xgboost", **exact, max_depth=3, num_leaves=8), data)
    assert max(tree.count("leaf=") for tree in model.booster_.get_dump()) == 8


@pytest.mark.parametrize(
    ("name", "given", "own"),
    [
        ("monotone_constraints", [1, -1, 0, 0], (1, -1, 0, 0)),
        ("monotone_constraints", np.array([1, -1, 0, 0]), (1, -1, 0, 0)),
        ("interaction_constraints", [[0], [1, 2, 3]], "[[0], [1, 2, 3]]"),
        ("interaction_constraints", [(0,), np.arange(1, 4)], "[[0], [1, 2, 3]]"),
    ],
)
def test_constraints_of_features_by_number_are_what_lightgbm_takes(name, given, own, data):
    """XGBoost itself takes the numbers for names of features, and a list for a mapping."""
    ours, theirs = (
        fit(ranker("xgboost", booster_params={name: value}), data).predict(data.X) for value in (given, own)
    )
    np.testing.assert_array_equal(ours, theirs)
    assert not np.array_equal(ours, fit(ranker("xgboost"), data).predict(data.X))


@pytest.mark.parametrize(
    "given", [[(0,), (1, 2, 3)], [{0}, {1, 2, 3}], [np.array([0]), np.arange(1, 4)], "[0], [1, 2, 3]", "[[0],[1,2,3]]"],
    ids=str,
)  # fmt: skip
def test_sets_of_features_in_any_form_constrain_lightgbm(given, data):
    """LightGBM itself passes over a tuple and a set without a word."""
    ours, theirs = (
        fit(ranker(booster_params={"interaction_constraints": value}), data).predict(data.X)
        for value in (given, [[0], [1, 2, 3]])
    )
    np.testing.assert_array_equal(ours, theirs)
    assert not np.array_equal(ours, fit(ranker(), data).predict(data.X))


@pytest.mark.parametrize("given", [[0, 1], "0,1", "abc", 3, [[0.5]], [["a"]]], ids=repr)
def test_what_is_no_set_of_features_is_refused(given, data):
    told = r"^SoftRanker.fit: interaction_constraints in booster_params must be lists of features, .*; got "
    with pytest.raises(ValueError, match=told):
        fit(ranker(booster_params={"interaction_constraints": given}), data)


@pytest.mark.parametrize("given", ["(1, -1, 0, 0)", "1,-1,0,0", "[1,-1,0,0]", (1, -1, 0, 0), np.array([1.0, -1, 0, 0])])
@pytest.mark.parametrize("name", lightgbm_trees.MONOTONE)
@both
def test_signs_in_the_form_of_either_booster_are_those_of_a_list(booster, name, given):
    """LightGBM itself takes the first and the last sign within brackets for 0 without a word."""
    reads = lightgbm_trees if booster == "lightgbm" else xgboost_trees
    name = name if booster == "lightgbm" else "monotone_constraints"
    settings = check_settings(ranker(booster, booster_params={name: given}))
    assert list(reads.parameters(settings, 0.25)[name]) == [1, -1, 0, 0]


def test_scores_fall_with_a_feature_whose_sign_is_written_as_for_xgboost(data):
    model = fit(ranker(n_estimators=30, booster_params={"monotone_constraints": "(-1, 0, 0, 0)"}), data)
    free = fit(ranker(n_estimators=30), data)
    rising = np.tile(data.X[:1], (50, 1))
    rising[:, 0] = np.sort(data.X[:50, 0])
    assert (np.diff(model.predict(rising)) <= 0).all()
    assert (np.diff(free.predict(rising)) > 0).any()


@both
@pytest.mark.parametrize(
    "given", ["a,b", "1 0 0 0", [0.5, 0, 0, 0], [2, 0, 0, 0], [None, 0, 0, 0], [[1, 0, 0, 0]], {1}]
)
def test_what_is_no_sign_is_refused(booster, given, data):
    told = r"^SoftRanker.fit: monotone_constraints in booster_params must be -1, 0 or 1 for each feature, .*; got "
    with pytest.raises(ValueError, match=told):
        fit(ranker(booster, booster_params={"monotone_constraints": given}), data)


def test_every_alias_of_the_signs_is_read():
    from lightgbm.basic import _ConfigAliases

    assert _ConfigAliases.get("monotone_constraints") <= set(lightgbm_trees.MONOTONE)


@pytest.mark.parametrize("feature", [4, -1])
def test_a_feature_that_x_lacks_is_in_no_set(feature, data):
    """LightGBM would end the process."""
    told = rf"^SoftRanker.fit: interaction_constraints in booster_params must be .* X, from 0 to 3; got {feature}$"
    for given in ([[0, 1], [2, feature]], f"[0,1],[2,{feature}]"):
        with pytest.raises(ValueError, match=told):
            fit(ranker(booster_params={"interaction_constraints": given}), data)


@both
def test_constraints_are_of_all_features_of_x_and_no_others(booster, data):
    told = r"^SoftRanker.fit: interaction_constraints in booster_params must be .* X, from 0 to 3; got 9$"
    for sets in ([[0, 9]], "[[0, 9]]"):
        with pytest.raises(ValueError, match=told):
            fit(ranker(booster, booster_params={"interaction_constraints": sets}), data)
    for signs in ([1], [1, 0, 0, 0, 1]):
        told = (
            rf"^SoftRanker.fit: monotone_constraints in booster_params must .* the 4 features of X; got {len(signs)}$"
        )
        with pytest.raises(ValueError, match=told):
            fit(ranker(booster, booster_params={"monotone_constraints": signs}), data)
    fit(ranker(booster, booster_params={"monotone_constraints": []}), data)


@pytest.mark.parametrize("name", ["forcedsplits_filename", "fs", "forcedbins_filename"])
def test_a_file_that_is_not_there_is_refused(name, data, tmp_path):
    """LightGBM would say so in a line of its log, which the ranker keeps quiet, and go on without."""
    path = tmp_path / "none.json"
    with pytest.raises(
        ValueError, match=rf"^SoftRanker.fit: {name} in booster_params must be a file; got .*none.json'$"
    ):
        fit(ranker(booster_params={name: str(path)}), data)
    path.write_text('[{"feature": 0, "bin_upper_bound": [0.5]}]' if name == "forcedbins_filename" else "{}")
    fit(ranker(booster_params={name: str(path)}), data)
    fit(ranker(booster_params={name: ""}), data)


def _forced(n):
    """So many splits, one below the other."""
    split = {"feature": n % 4, "threshold": 0.0}
    return split | {"right": _forced(n - 1)} if n > 1 else split


def test_smaller_boosters_have_leaves_for_all_forced_splits(data, tmp_path):
    """A quarter of the leaves would be too few, at which LightGBM ends the process."""
    path = tmp_path / "forced.json"
    path.write_text(json.dumps(_forced(5)))
    fitted = fit(ranker(num_leaves=8, n_boosters=2, booster_params={"forced_splits": str(path)}), data)
    trees = fitted.booster_.trees_to_dataframe()
    n_leaves = trees.split_feature.isna().groupby(trees.tree_index).sum()
    assert n_leaves.iloc[:3].max() > 6  # of the first booster
    assert n_leaves.iloc[fitted.n_estimators :].max() == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            json.dumps(_forced(8)),
            r"num_leaves must be at least 9 for the 8 splits that fs in booster_params forces; got 8",
        ),
        (json.dumps({"feature": -1, "threshold": 0.0}), r"fs in .* must split features counted from 0; got -1"),
        ("{'feature': 0}", r"fs in booster_params must be a file of JSON; got '.*forced.json': Expecting"),
        ("[]", r"fs in booster_params must hold a JSON object, a split; got \[\]"),
    ],
)
def test_forced_splits_that_lightgbm_cannot_make_are_refused(text, message, data, tmp_path):
    """It would end the process, or go on without a word."""
    path = tmp_path / "forced.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"^SoftRanker.fit: {message}"):
        fit(ranker(num_leaves=8, booster_params={"fs": str(path)}), data)


def test_forced_bins_that_lightgbm_cannot_read_are_refused(data, tmp_path):
    path = tmp_path / "bins.json"
    path.write_text('[{"feature": 0, "bin_upper_bound": [0.5,]}]')
    with pytest.raises(ValueError, match=r"^SoftRanker.fit: forcedbins_filename in .* must be a file of JSON"):
        fit(ranker(booster_params={"forcedbins_filename": str(path)}), data)


def test_what_xgboost_does_not_know_is_warned_of(data):
    with pytest.warns(UserWarning, match="max_bins"):
        fit(ranker("xgboost", booster_params={"max_bins": 9}), data)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"booster": "catboost"}, ValueError, "booster must be one of 'lightgbm', 'xgboost'; got 'catboost'"),
        ({"metric": "ndgc"}, ValueError, "unknown metric 'ndgc'"),
        ({"metric": "bpref"}, ValueError, "no exact expectation"),
        ({"metric": Metric("ndcg", k=[1, 2])}, ValueError, "one cutoff for all queries"),
        ({"eval_metric": Metric("ndcg", k=[1, 2])}, ValueError, "one cutoff for all queries"),
        ({"eval_metric": ["map", "map"]}, ValueError, "two metrics are called 'map_hard'"),
        ({"eval_metric": 3}, TypeError, "eval_metric"),
        ({"noise": "laplace"}, ValueError, "noise must be one of"),
        ({"sigma": 0}, ValueError, "sigma must be finite and above 0"),
        ({"hessian": "none"}, ValueError, "hessian must be one of"),
        ({"n_estimators": 0}, ValueError, "n_estimators must be from 1"),
        ({"n_estimators": 2**31}, ValueError, "n_estimators must be from 1 to 2147483647; got 2147483648"),
        ({"n_estimators": 2.5}, TypeError, "n_estimators must be a whole number"),
        ({"learning_rate": -1}, ValueError, "learning_rate must be finite and above 0; got -1"),
        ({"learning_rate": "slow"}, ValueError, "learning_rate must be 'auto' or a number above 0; got 'slow'"),
        ({"num_leaves": 1}, ValueError, "num_leaves must be from 2"),
        ({"num_leaves": 2**32 + 8}, ValueError, "num_leaves must be from 2 to 2147483647; got 4294967304"),
        ({"num_leaves": -(2**40)}, ValueError, "num_leaves must be from 2 to 2147483647; got -1099511627776"),
        ({"max_depth": 0}, ValueError, "max_depth must be -1, for no limit, or at least 1; got 0"),
        ({"max_depth": -2}, ValueError, "max_depth must be from -1"),
        ({"max_depth": 2**32 + 2}, ValueError, "max_depth must be from -1 to 2147483647"),
        ({"min_child_samples": -1}, ValueError, "min_child_samples must be from 0"),
        ({"min_child_samples": 2**31}, ValueError, "min_child_samples must be from 0 to 2147483647"),
        ({"reg_lambda": -0.1}, ValueError, "reg_lambda must not be negative; got -0.1"),
        ({"reg_lambda": "auto"}, TypeError, "reg_lambda must be a number; got 'auto'"),
        ({"reg_lambda": np.timedelta64(1, "s")}, TypeError, "reg_lambda must be a number; got .*timedelta64"),
        ({"num_leaves": np.timedelta64(9, "s")}, TypeError, "num_leaves must be a whole number; got .*timedelta64"),
        ({"reg_lambda": None}, TypeError, "reg_lambda must be a number"),
        ({"n_boosters": "many"}, ValueError, "n_boosters must be 'auto' or a whole number; got 'many'"),
        ({"n_boosters": 0}, ValueError, "n_boosters must be from 1 to 2"),
        ({"n_boosters": 1.5}, TypeError, "n_boosters must be a whole number; got 1.5"),
        ({"colsample": 1.1}, ValueError, "colsample must be a share above 0 and up to 1; got 1.1"),
        ({"subsample": 0}, ValueError, "subsample must be a share above 0 and up to 1; got 0"),
        ({"booster_params": [1]}, TypeError, "booster_params must be a dict"),
        ({"booster_params": {1: 2}}, TypeError, "booster_params must be a dict of names and values; got {1: 2}"),
        ({"early_stopping_rounds": 0}, ValueError, "early_stopping_rounds must be from 1"),
        ({"early_stopping_rounds": 3}, ValueError, "give eval_set or validation_fraction"),
        ({"validation_fraction": 1.0}, ValueError, "validation_fraction must be below 1; got 1.0"),
        ({"n_jobs": 0}, ValueError, "n_jobs must not be 0"),
        ({"n_jobs": 2**32 + 1}, ValueError, "n_jobs must be from -2147483648 to 2147483647"),
        ({"random_state": -1}, ValueError, "random_state must be a seed from 0"),
        ({"random_state": np.timedelta64(9, "s")}, ValueError, "random_state must be a seed from 0 .*timedelta64"),
        (
            {"random_state": "x"},
            ValueError,
            r"^SoftRanker\.fit: random_state must be a seed from 0 to 2\^31 - 1, .*; got 'x'",
        ),
        ({"random_state": 2**31}, ValueError, r"random_state must be a seed from 0 to 2\^31 - 1, .*; got 2147483648"),
    ],
    ids=str,
)
def test_parameters_are_checked_in_fit(parameters, error, message, data):
    with pytest.raises(error, match=message):
        fit(ranker(**parameters), data)


@pytest.mark.parametrize(
    "parameters",
    [{"metric": "ndgc"}, {"metric": 3}, {"mix": {"ndgc": 1.0}}, {"mix": {"map": -1.0}}, {"losses": {"l2": 1.0}},
     {"hessian": "none"}, {"eval_metric": "ndgc"}, {"mix": None, "metric": "bpref"}],
    ids=str,
)  # fmt: skip
def test_errors_of_parameters_name_the_ranker(parameters, data):
    with pytest.raises((ValueError, TypeError), match=r"^SoftRanker\.fit: (?!objective)"):
        fit(ranker(**parameters), data)


@both
@pytest.mark.parametrize("label", [126, 200], ids=["objective", "parameters"])
def test_labels_whose_gains_are_too_large_are_told(booster, label, data):
    """By the ranker, and before XGBoost refuses parameters that grow with them."""
    y = np.where(np.arange(len(data.y)) == 7, label, data.y)
    model = ranker(booster, metric="dcg@10")
    message = r"gradients must lie within \+-1e\+\d\d.*Large labels have huge gains"
    with pytest.raises(ValueError, match=rf"^SoftRanker\.fit: {message}"):
        fit(model, data._replace(y=y))
    with pytest.raises(ValueError, match=rf"^SoftRanker\.train_arguments: {message}"):
        model.train_arguments(y, qid=data.qid)


@pytest.mark.filterwarnings("ignore:SoftRanker.fit. no tree has a split:UserWarning")
def test_warnings_of_the_objective_name_the_ranker(data):
    model = ranker(booster_params={"min_child_weight": 100.0})
    with pytest.warns(UserWarning, match=r"^SoftRanker\.fit: no tree can be split with min_child_weight=100"):
        fit(model, data)
    given = model.train_arguments(data.y, qid=data.qid)
    with pytest.warns(UserWarning, match=r"^boostsoft\.lightgbm\.objective: no tree can be split"):
        lgb.train(**given, train_set=lgb.Dataset(data.X, data.y, group=data.sizes))


@both
def test_a_fit_that_fails_leaves_the_ranker_as_it_was(booster, data):
    other = {"lightgbm": "xgboost", "xgboost": "lightgbm"}[booster]
    model = fit(ranker(booster, reg_lambda=40.0), data)
    before, attributes = model.predict(data.X), {name for name in vars(model) if name.endswith("_")}
    kept = {name: getattr(model, name) for name in attributes - {"booster_"}}
    model.set_params(booster=other, losses={"ranknet": 1.0})
    with pytest.raises(ValueError, match="there is nothing to learn"):
        fit(model, data._replace(y=np.zeros(len(data.y))))
    with pytest.raises(ValueError, match="there is nothing to learn"):
        model.fit(data.X[:, :2], np.zeros(len(data.y)), qid=data.qid)
    assert np.array_equal(model.predict(data.X), before)
    assert {name: getattr(model, name) for name in kept} == kept
    assert {name for name in vars(model) if name.endswith("_")} == attributes


def test_without_xgboost(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ImportError, match=r"^SoftRanker.fit: XGBoost is not installed: pip install 'boostsoft\[xgb"):
        fit(ranker("xgboost"), data)


@both
def test_random_state_repeats(booster, data):
    model = ranker(booster, subsample=0.5, colsample=0.5)
    runs = [fit(clone(model).set_params(random_state=seed), data).predict(data.X) for seed in (1, 1, 2, None, 0)]
    assert np.array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])
    assert np.array_equal(runs[3], runs[4])
    drawn = [fit(model.set_params(random_state=np.random.RandomState(s)), data).predict(data.X) for s in (4, 4, 5)]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])


def test_splits_whose_gain_is_zero_in_single_precision_are_splits(data):
    """Warnings are errors here: trees that rank are not said to have no split."""
    model = fit(ranker(sigma=1e-24), data)
    assert model.score(data.X, data.y, qid=data.qid) > fit(ranker(sigma=1e-24, n_estimators=1), data).score(
        data.X, data.y, qid=data.qid
    )


@pytest.mark.parametrize("booster", [pytest.param("lightgbm", marks=IS_QUIET), "xgboost"])
def test_nothing_is_printed(booster, data, capfd):
    with pytest.warns(UserWarning, match="no tree has a split"):
        model = fit(ranker(booster, min_child_samples=10_000), data)
    fit(ranker(booster), data, init_model=model).predict(data.X)
    assert capfd.readouterr() == ("", "")


def test_xgboost_shows_warnings_alone_whatever_is_configured(data, capfd):
    with xgb.config_context(verbosity=3):
        fit(ranker("xgboost"), data)
    assert capfd.readouterr() == ("", "")


@both
def test_where_no_tree_splits_all_scores_are_0(booster, data):
    with pytest.warns(UserWarning, match="no tree has a split"):
        model = fit(ranker(booster, min_child_samples=10_000), data)
    assert not model.predict(data.X).any()
    assert not model.feature_importances_.any()
    *_, last = model.staged_predict(data.X)
    assert not last.any()


@both
def test_trees_without_a_split_are_warned_of(booster, data):
    told = r"^SoftRanker.fit: no tree has a split, so that {}: .* \d+ documents .* min_child_samples, which is 10000,"
    with pytest.warns(UserWarning, match=told.format("all scores are equal")) as caught:
        ranker(booster, min_child_samples=10_000).fit(data.X, data.y, qid=data.qid)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    start = fit(ranker(booster), data)
    with pytest.warns(UserWarning, match=told.format("init_model is as it was")):
        fit(ranker(booster, min_child_samples=10_000), data, init_model=start)


@both
@pytest.mark.parametrize("value", [0.0, 1e-40, 1e-35, -1e-35, float(np.float32(1e-35)), np.nan], ids=str)
def test_columns_of_one_value_are_no_error(booster, value, data):
    with pytest.warns(UserWarning, match="no tree has a split"):
        ones = ranker(booster).fit(np.ones((len(data.y), 2)), data.y, qid=data.qid)
    for X in (np.full((len(data.y), 2), value), sparse.csr_array(np.full((len(data.y), 2), value))):
        with pytest.warns(UserWarning, match="no tree has a split"):
            model = ranker(booster).fit(X, data.y, qid=data.qid)
        assert not model.predict(data.X[:, :2]).any()
        assert (model.best_iteration_, model.n_features_in_) == (ones.best_iteration_, 2)


def test_categories_that_are_all_missing_are_no_error(data):
    frame = pd.DataFrame({"c": pd.Categorical([None] * len(data.y), categories=["a", "b"])})
    with pytest.warns(UserWarning, match="no tree has a split"):
        assert not ranker().fit(frame, data.y, qid=data.qid).predict(frame).any()


@pytest.mark.parametrize("given", [[1.0] * 5, "1,1,1", (1, 1), np.ones(3), 9])
@pytest.mark.parametrize("name", ["feature_contri", "fc", "max_bin_by_feature"])
def test_a_list_that_does_not_fit_the_features_is_told_in_words(name, given, data):
    told = rf"^SoftRanker\.fit: {name} in booster_params must have a number for each of the 4 features of X; got \d$"
    with pytest.raises(ValueError, match=told):
        fit(ranker(booster_params={name: given}), data)


def test_lists_that_fit_the_features_are_taken(data):
    for given in ([1.0, 0.5, 0.5, 0.5], "1,.5,.5,.5", "1,.5,.5,.5,", (1, 0.5, 0.5, 0.5), [], ""):
        assert fit(ranker(booster_params={"feature_contri": given}), data).booster_.num_trees() > 0


def test_rows_are_drawn_by_goss_or_by_share(data):
    with pytest.raises(ValueError, match=r"^SoftRanker\.fit: subsample must be 1 with data_sample_strategy='goss'"):
        fit(ranker(subsample=0.5, booster_params={"data_sample_strategy": "GOSS"}), data)
    assert fit(ranker(booster_params={"data_sample_strategy": "goss"}), data).booster_.num_trees() > 0
