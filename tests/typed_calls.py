"""Calls of a user who checks types strictly: mypy reads them with the package, nothing runs them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

import boostsoft as bs
import boostsoft.lightgbm as bl
from boostsoft.blend_plots import plot_weights
from boostsoft.choices import Noise
from boostsoft.datasets import load_letor, load_trec_runs
from boostsoft.objectives import (
    REFERENCES,
    LambdaObjective,
    QueryRMSEObjective,
    SoftLambdaObjective,
    SoftmaxObjective,
    SoftObjective,
    XENDCGObjective,
    reference_objective,
)
from boostsoft.track_plots import plot_curves
from boostsoft.track_report import write_report
from boostsoft.tracking import BatchValues, Comparison

if TYPE_CHECKING:
    from typing_extensions import assert_type

    import boostsoft.xgboost as bx


def legal(scores: NDArray[np.float64]) -> None:
    """None of these is to be an error."""
    by_name: dict[str, float] = {"kendall": 0.3}
    by_value: dict[bs.Metric, float] = {bs.Metric("kendall"): 0.3}
    by_either: dict[str | bs.Metric, float] = {"kendall": 0.3, bs.Metric("auc"): 1}
    bl.objective(mix=by_name)
    bl.sklearn_objective(mix=by_value)
    bx.objective(mix=by_either, losses={"xendcg": 1})
    bx.objective(mix={"kendall": 1})
    bl.objective(mix={bs.Metric("kendall"): 0.3, "auc": 0.2})
    bs.blend_surface([[1.0, 2.0, 3.0]], [1.0], group=[1], models=[0, 1, 2], random_state=None)
    bs.blend_surface([[1.0, 2.0, 3.0]], [1.0], group=[1], models=np.argsort([3.0, 1.0, 2.0]))
    best = scores.argmax()
    bs.blend_surface([[1.0, 2.0, 3.0]], [1.0], group=[1], models=[best, 0, 1])
    bs.blend_curve([[1.0, 2.0]], [1.0], group=[1], i=best, j=best - 1)
    bs.compare(bs.TreeTrack.load("track.npz"), bs.TreeTrack.load("track.npz"), step_a=best, step_b=-1)
    bs.TreeTrack.load("track.npz").worst_queries(best)
    bs.blend_curve([[1.0, 2.0]], [1.0], group=[1], random_state=np.random.default_rng(0))
    assert_type(bl.track_callback().track, bs.TreeTrack)
    assert_type(bs.compare(scores, scores, y_true=scores, group=[4]), Comparison)
    assert_type(bs.marginal_value(None, {}, scores, scores), BatchValues)
    assert_type(reference_objective("lambdaloss", mu=5).mu, float)
    assert_type(reference_objective("ranknet"), LambdaObjective)
    assert_type(reference_objective("softlambda").noise, Literal["gaussian", "gumbel", "logistic"])
    assert_type(reference_objective("xendcg").terms, int)
    assert_type(reference_objective("softmax"), SoftmaxObjective)
    assert_type(reference_objective("listnet").temperature, float)
    assert_type(reference_objective("queryrmse"), QueryRMSEObjective)
    assert_type(bl.track_callback(), bl.LightGBMTrack)
    assert_type(bx.objective(), bx.XGBoostObjective)
    assert_type(bx.custom_metric("map"), bx.XGBoostMetrics)
    soft = bs.SoftMetric("ndcg@10", sigma=1, gain="linear")
    metrics: list[bs.Metric | bs.SoftMetric] = [soft, soft.hard]
    for metric in metrics:
        assert_type(metric([0, 1, 2, 0], scores, group=[2, 2]), float)
        assert_type(metric.per_query([0, 1, 2, 0], scores, qid=["a", "a", "b", "b"]), NDArray[np.float64])
    assert_type(bs.SoftRanker().fit(scores[:, None], scores).predict(scores[:, None]), NDArray[np.float64])
    assert_type(bs.SoftBlender().fit(scores[:, None], scores), bs.SoftBlender)
    ranker = bs.SoftRanker(mix=by_either, losses={"xendcg": 1}, eval_metric=[soft, "ndcg@10"], random_state=np.int64(1))
    assert_type(ranker.n_boosters_ + ranker.best_iteration_ + ranker.n_iter_ + ranker.n_features_in_, int)
    assert_type(ranker.learning_rate_ + ranker.reg_lambda_, float)
    assert_type(ranker.random_trees_, bool)
    assert_type(ranker.best_score_, float | None)
    assert_type(ranker.losses_, dict[str, float])
    assert_type(ranker.evals_result_, dict[str, dict[str, list[float]]])
    assert_type(ranker.set_fit_request(qid=True).set_score_request(qid=True), bs.SoftRanker)
    blender = bs.SoftBlender(sigma=[1, 0.5], lower_is_better=[True, False], mix=by_value, random_state=None)
    assert_type(
        blender.set_fit_request(qid=True).set_predict_request(qid=True).set_score_request(qid=True), bs.SoftBlender
    )
    assert_type(blender.weights_, NDArray[np.float64])
    assert_type(blender.path_[-1].sigma + blender.sigma_, float)
    assert_type(blender.mix_, dict[str, float])
    bs.compare(scores, scores, metrics=(metric for metric in metrics), y_true=scores, group=[4])
    bs.Metric("ndcg", k=[1, 2], gain={0: 0, 1: 1.5}, discount=np.reciprocal, ties="order")
    bs.SoftMetric("err", k=3, p_rel=[0, 0.5, 1], name="mine")
    hard = bs.Metric("map", gain=scores, discount="reciprocal", p_rel={0: 0.0, 1: 0.5}, normalizer="min", empty="skip")
    bs.Metric("dcg", gain=hard.gain, discount=hard.discount, ties=hard.ties, empty=hard.empty)
    bs.SoftMetric("map", noise=soft.noise, sigma_unit=soft.sigma_unit, ranks=soft.ranks, accuracy=soft.accuracy)
    for noise in ("gaussian", "gumbel", "logistic"):
        bs.SoftRanker("xgboost", noise=noise, learning_rate=0.1, random_trees=False, n_boosters=2, progress=True)
        bs.SoftBlender(noise=noise, sigma=0.3, normalize="zscore", constraint="free", method="grid")
    for kind in REFERENCES:
        bl.reference_objective(kind)
    bs.choose_sigma(scores[:, None], scores, group=[4], sigmas=[0.1, 0.5], method="tradeoff")
    load_letor(Path("MQ2008").glob("S*.txt"))
    tracks = (bs.TreeTrack.load(entry) for entry in os.scandir("tracks"))
    write_report(tracks, next(os.scandir("reports")))
    plot_weights(blender, names=blender.feature_names_in_)
    assert_type(bs.scoring.make_ranking_scorer("map"), bs.scoring.RankingScorer)
    assert_type(bs.statistics.paired_interval(scores, scores), bs.statistics.PairedInterval)
    law: Noise = "gumbel"
    bs.lightgbm.objective("ndcg@10", noise=law)
    modules = (bs.dask.evaluate, bs.objectives.SoftObjective, bs.track_plots.plot_curves, bs.track_report.write_report)
    assert_type(len(modules), int)
    load_trec_runs(Path("runs").iterdir(), qrels="qrels.txt")


def wrong(scores: NDArray[np.float64]) -> None:
    """All of these raise, and each is to be an error: strict mypy names a comment that hides none."""
    bs.Metric("ndcg", k="5")  # type: ignore[arg-type]
    bs.Metric("ndcg", k=[[1.5]])  # type: ignore[list-item]
    bs.SoftBlender(lower_is_better="yes")  # type: ignore[arg-type]
    bs.dask.evaluat()  # type: ignore[attr-defined]
    bs.SoftRankr()  # type: ignore[attr-defined]
    bx.obective("ndcg@10")  # type: ignore[attr-defined]
    bs.blending.SoftBlendr()  # type: ignore[attr-defined]
    bs.ranker.SoftRankr()  # type: ignore[attr-defined]
    bs.Metric("ndcg@10", relevent_from=2)  # type: ignore[call-arg]
    bs.SoftMetric("ndcg@10", empty=0)  # type: ignore[arg-type]
    bs.make_ranking_scorer("map", relevant_from="2")  # type: ignore[arg-type]
    bs.SoftRanker(mix=0.3)  # type: ignore[arg-type]
    bs.SoftRanker(losses=["xendcg"])  # type: ignore[arg-type]
    bs.SoftRanker(eval_metric=10)  # type: ignore[arg-type]
    bs.SoftRanker(progress=None)  # type: ignore[arg-type]
    bs.SoftRanker(random_state="0")  # type: ignore[arg-type]
    bs.SoftBlender(models=scores)  # type: ignore[arg-type]
    bs.SoftBlender(mix=0.1)  # type: ignore[arg-type]
    bs.track_trees(None, scores, scores, metrics=10)  # type: ignore[arg-type]
    bs.compare(scores, scores, metrics=10, y_true=scores)  # type: ignore[arg-type]
    bs.marginal_value(None, {}, scores, scores, metric=["ndcg@10"])  # type: ignore[arg-type]
    bs.blend_curve(scores, scores, sigma=[1.0, 0.5])  # type: ignore[arg-type]
    bs.Metric("ndcg@10", ties="average")  # type: ignore[arg-type]
    bs.Metric("ndcg@10", empty="none")  # type: ignore[arg-type]
    bs.Metric("ndcg@10", gain="exp")  # type: ignore[arg-type]
    bs.Metric("ndcg@10", discount="log")  # type: ignore[arg-type]
    bs.Metric("err", p_rel="grade")  # type: ignore[arg-type]
    bs.Metric("map", normalizer="all")  # type: ignore[arg-type]
    bs.SoftMetric("ndcg@10", noise="gauss")  # type: ignore[arg-type]
    bs.SoftMetric("ndcg@10", sigma_unit="spreads")  # type: ignore[arg-type]
    bs.SoftMetric("ndcg@10", ranks="soft")  # type: ignore[arg-type]
    bs.SoftMetric("ndcg@10", accuracy="low")  # type: ignore[arg-type]
    bs.SoftRanker(booster="catboost")  # type: ignore[arg-type]
    bs.SoftRanker(mix="none")  # type: ignore[arg-type]
    bs.SoftRanker(losses="xendcg")  # type: ignore[arg-type]
    bs.SoftRanker(noise="gauss")  # type: ignore[arg-type]
    bs.SoftRanker(hessian="flows")  # type: ignore[arg-type]
    bs.SoftRanker(learning_rate="none")  # type: ignore[arg-type]
    bs.SoftRanker(random_trees="yes")  # type: ignore[arg-type]
    bs.SoftRanker(n_boosters="all")  # type: ignore[arg-type]
    bs.SoftRanker(progress="yes")  # type: ignore[arg-type]
    bs.SoftRanker().fit(scores, scores, eval_set=1)  # type: ignore[arg-type]
    bs.SoftRanker().fit(scores, scores, callbacks=1)  # type: ignore[arg-type]
    bs.SoftBlender(noise="gauss")  # type: ignore[arg-type]
    bs.SoftBlender(sigma="wide")  # type: ignore[arg-type]
    bs.SoftBlender(mix="none")  # type: ignore[arg-type]
    bs.SoftBlender(normalize="ranks")  # type: ignore[arg-type]
    bs.SoftBlender(constraint="none")  # type: ignore[arg-type]
    bs.SoftBlender(method="ga")  # type: ignore[arg-type]
    bs.blend_curve(scores, scores, normalize="ranks")  # type: ignore[arg-type]
    bs.blend_curve(scores, scores, noise="gauss")  # type: ignore[arg-type]
    bs.blend_curve(scores, scores, sigma="wide")  # type: ignore[arg-type]
    bs.blend_surface(scores, scores, sigma_unit="spreads")  # type: ignore[arg-type]
    bs.choose_sigma(scores, method="best")  # type: ignore[arg-type]
    bs.choose_sigma(scores, sigmas=0.1)  # type: ignore[arg-type]
    bs.smoothness_error(scores, "total")  # type: ignore[arg-type]
    bs.track_trees(None, scores, scores, progress="yes")  # type: ignore[arg-type]
    bs.TreeTrack.load("track.npz").worst_queries(by="loss")  # type: ignore[arg-type]
    bs.TreeTrack.load("track.npz").to_frame("pyarrow")  # type: ignore[call-overload]
    bl.objective(noise="gauss")  # type: ignore[arg-type]
    bl.sklearn_objective(hessian="flows")  # type: ignore[arg-type]
    bl.reference_objective("lambdarnak")  # type: ignore[arg-type]
    bl.sklearn_reference_objective("map")  # type: ignore[arg-type]
    bx.objective(accuracy="low")  # type: ignore[arg-type]
    bx.reference_objective("ndcg")  # type: ignore[arg-type]
    SoftObjective(noise="gauss")  # type: ignore[arg-type]
    LambdaObjective("lambdaloss")  # type: ignore[arg-type]
    SoftLambdaObjective(accuracy="low")  # type: ignore[arg-type]
    XENDCGObjective(gamma="mean")  # type: ignore[arg-type]
    load_letor("S1.txt", progress="yes")  # type: ignore[arg-type]
    load_trec_runs("run.txt", pool="all")  # type: ignore[arg-type]
    load_trec_runs("run.txt", topics="retrieved")  # type: ignore[arg-type]
    plot_curves(bs.TreeTrack.load("track.npz"), band="std")  # type: ignore[arg-type]
