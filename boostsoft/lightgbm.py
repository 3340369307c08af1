"""LightGBM: soft metrics as its objective, hard and soft ones as its evaluation.

>>> import lightgbm as lgb, numpy as np, boostsoft as bs, boostsoft.lightgbm as bl
>>> rng = np.random.default_rng(0)
>>> X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
>>> train = lgb.Dataset(X, y, group=[20] * 10)
>>> soft = bs.SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")
>>> booster = lgb.train(
...     {"objective": bl.objective("ndcg@10"), "metric": "None", "verbose": -1},
...     train, num_boost_round=3, valid_sets=[train], feval=bl.feval("ndcg@10", soft))
>>> booster.num_trees()
3

LightGBM copies these objects and tells what they are by counting the parameters of their call, so that they are
small classes with plain ``__call__`` signatures. Row weights multiply a document's gradient and curvature; in a
metric a query weighs the mean of its rows' weights, as in LightGBM's own ndcg. They run on no more threads than
LightGBM does (``num_threads``, ``n_jobs``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .adapters.lightgbm_callback import (
    LightGBMTrack as LightGBMTrack,  # as: the classes are to be had from here as well
)
from .adapters.lightgbm_calls import LightGBMMetrics as LightGBMMetrics
from .adapters.lightgbm_calls import LightGBMObjective as LightGBMObjective
from .adapters.lightgbm_calls import SklearnMetrics as SklearnMetrics
from .adapters.lightgbm_calls import SklearnObjective as SklearnObjective
from .adapters.shared import built
from .arguments import as_flag
from .choices import Accuracy, Hessian, Noise, Progress, Reference
from .metric_lists import MetricList
from .metrics.hard import Metric
from .metrics.soft import AnyMetric, MetricWeights
from .objectives import SoftObjective
from .objectives import reference_objective as _reference
from .objectives.base import made_by
from .tracks.live import LiveTrack
from .tracks.stopping import StoppingRule

__all__ = [
    "feval",
    "objective",
    "reference_objective",
    "sklearn_eval_metric",
    "sklearn_objective",
    "sklearn_reference_objective",
    "track_callback",
]


def __dir__() -> list[str]:
    return __all__  # completion is not to offer what is imported here


@built
def objective(
    metric: str | Metric = "ndcg@10",
    *,
    mix: MetricWeights | None = None,
    losses: Mapping[str, float] | None = None,
    noise: Noise = "gaussian",
    sigma: float = 1.0,
    hessian: Hessian = "flow",
    query_weight: Any = None,
    accuracy: Accuracy = "fast",
) -> LightGBMObjective:
    """Build an objective for ``params["objective"]`` of ``lgb.train`` and ``lgb.cv``.

    LightGBM gets minus the gradient, and the curvature, of :class:`boostsoft.objectives.SoftObjective`, where the
    formulas are: sigma^2 times each, of the sum over queries, times the weights of rows. Set
    ``params["metric"] = "None"`` and watch :func:`feval`. LightGBM's other parameters keep their meaning and defaults,
    but for those of its own lambdarank (``label_gain``, ``lambdarank_truncation_level``, ``lambdarank_norm``,
    ``sigmoid``), which are not read: a warning says so. Of what is compared with sums of gradients or curvatures
    (``lambda_l1``, ``lambda_l2``, ``min_sum_hessian_in_leaf``, ``min_gain_to_split``) give a tenth (with ``losses`` a
    half) of what suits lambdarank; a warning says where ``min_sum_hessian_in_leaf`` leaves trees few leaves. The
    defaults of ``cat_l2`` and ``cat_smooth``, 10, prevent splits by category on few documents: give .625.

    Parameters
    ----------
    metric : str or Metric
        What to train on: any metric but bpref, and map with ``normalizer="retrieved"``.
    mix : mapping from metrics to weights, optional
        Metrics to train on beside it, under the same noise.
    losses : mapping from "xendcg", "ranknet", "softmax", "listnet", "queryrmse" to weights, optional
        Convex losses to train on beside them.
    noise : "gaussian", "gumbel" or "logistic"
        The law of the noise.
    sigma : float
        Its scale, above 0. It sets the unit of the scores and nothing else.
    hessian : "flow", "exact" or "constant"
        Which curvature.
    query_weight : (n_queries,), optional
        Weight of each query of the training data, beside those of rows. ``lgb.cv``, whose folds hold fewer queries,
        takes those of rows only.
    accuracy : "fast", "default" or "high"
        How near the gradient is to the exact one: 1e-4, 1e-6 or 1e-10 of the query's largest.

    Returns
    -------
    LightGBMObjective
        A callable ``(preds, train_data) -> gradient, hessian``, each (n_docs,).

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.
    ValueError
        While training: if the Dataset has no groups, has positions or labels that the metric does not take, if folds of
        ``lgb.cv`` or a subset cut through queries (pass ``folds=GroupKFold(n)``), if no order of the documents is
        better than another, if weights are negative, infinite or all 0, or if ``bagging_by_query`` is on, with which
        LightGBM trains stumps under any custom objective.

    Warns
    -----
    UserWarning
        When training begins: if ``min_sum_hessian_in_leaf`` leaves trees few leaves or none, or parameters of
        LightGBM's lambdarank are given that are not read.

    Notes
    -----
    By default the metric is trained on alone, under Gaussian noise, which often ranks worse than lambdarank. What
    ranked best on plain trees, and is what :class:`boostsoft.SoftRanker` trains them on, is ``noise="gumbel",
    mix={"kendall": 0.3}, losses={"xendcg": 0.5, "ranknet": 0.5}``; its ``train_arguments`` has the rest.

    A Booster that was saved as text needs no boostsoft to be served.

    LightGBM itself turns NaN labels and weights into 0, which cannot be seen from here. With ``boosting="dart"`` no
    function may evaluate the training data, under any custom objective: LightGBM drops trees to show its scores, and
    what it drops after the last tree is lost to the model. :func:`feval` and :func:`track_callback` refuse; evaluate a
    copy, ``train.create_valid(X, y, group=...)``.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np, boostsoft.lightgbm as bl
    >>> rng = np.random.default_rng(0)
    >>> train = lgb.Dataset(rng.normal(size=(200, 3)), rng.integers(0, 3, 200), group=[20] * 10)
    >>> params = {"objective": bl.objective("ndcg@10", sigma=0.5), "metric": "None", "verbose": -1}
    >>> lgb.train(params, train, 3).num_trees()
    3
    """
    return LightGBMObjective(
        made_by(
            "boostsoft.lightgbm.objective",
            SoftObjective,
            metric,
            mix=mix,
            losses=losses,
            noise=noise,
            sigma=sigma,
            hessian=hessian,
            query_weight=query_weight,
            accuracy=accuracy,
        )
    )


@built
def sklearn_objective(
    metric: str | Metric = "ndcg@10",
    *,
    mix: MetricWeights | None = None,
    losses: Mapping[str, float] | None = None,
    noise: Noise = "gaussian",
    sigma: float = 1.0,
    hessian: Hessian = "flow",
    query_weight: Any = None,
    accuracy: Accuracy = "fast",
) -> SklearnObjective:
    """Build an objective for ``lgb.LGBMRanker(objective=..., metric="None")``.

    Without ``metric="None"`` LGBMRanker also evaluates its own ndcg@1 to 5, which can stop training early. With
    ``boosting_type="dart"`` leave the training data itself out of ``eval_set``, under any custom objective, or give
    copies, ``(X.copy(), y.copy())``: what LightGBM drops to evaluate it after the last tree is lost to the model
    (:func:`sklearn_eval_metric` refuses).

    Parameters
    ----------
    metric, mix, losses, noise, sigma, hessian, query_weight, accuracy
        As of :func:`objective`, whose notes say what ranked best.

    Returns
    -------
    SklearnObjective
        A callable ``(y_true, y_pred, weight, group) -> gradient, hessian``, each (n_docs,).

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.
    ValueError
        In ``fit``: if no order of the documents is better than another, weights are negative or all 0, or if
        ``bagging_by_query`` is on, with which LightGBM trains stumps under any custom objective.

    Warns
    -----
    UserWarning
        In ``fit``: as :func:`objective`.

    Notes
    -----
    A pickled LGBMRanker holds the objective and needs boostsoft to be read. Deploy ``ranker.booster_``: saved as
    text, it does not.

    ``DaskLGBMRanker`` shows a worker's queries only: one that lies on two workers passes for two, which
    :func:`boostsoft.dask.fit_lightgbm` refuses.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np, boostsoft.lightgbm as bl
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    >>> ranker = lgb.LGBMRanker(objective=bl.sklearn_objective("ndcg@10"), metric="None", n_estimators=3, verbose=-1)
    >>> ranker.fit(X, y, group=[20] * 10).booster_.num_trees()
    3
    """
    return SklearnObjective(
        made_by(
            "boostsoft.lightgbm.sklearn_objective",
            SoftObjective,
            metric,
            mix=mix,
            losses=losses,
            noise=noise,
            sigma=sigma,
            hessian=hessian,
            query_weight=query_weight,
            accuracy=accuracy,
        )
    )


@built
def reference_objective(kind: Reference, **options: Any) -> LightGBMObjective:
    """Build an objective of the literature for ``params["objective"]``, by its name, to compare with.

    Parameters
    ----------
    kind : "lambdarank", "ranknet", "lambdaloss", "softlambda", "xendcg", "softmax", "listnet" or "queryrmse"
        Which: :func:`boostsoft.objectives.reference_objective` names the classes, which have formulas and sources.
    **options
        The parameters of that class.

    Returns
    -------
    LightGBMObjective
        A callable ``(preds, train_data) -> gradient, hessian``, each (n_docs,).

    Raises
    ------
    TypeError, ValueError
        If the kind is not known, has no such option, or an option is not as its class describes.
    ValueError
        While training: as :func:`objective`, or if labels or lists are not as the class wants them.

    Warns
    -----
    UserWarning
        When training begins: as :func:`objective`, but for parameters that the class has, too, with the same value.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np, boostsoft.lightgbm as bl
    >>> rng = np.random.default_rng(0)
    >>> train = lgb.Dataset(rng.normal(size=(200, 3)), rng.integers(0, 3, 200), group=[20] * 10)
    >>> params = {"objective": bl.reference_objective("listnet", temperature=2.0), "metric": "None", "verbose": -1}
    >>> lgb.train(params, train, 3).num_trees()
    3
    """
    return LightGBMObjective(_reference(kind, **options), "reference_objective")


@built
def sklearn_reference_objective(kind: Reference, **options: Any) -> SklearnObjective:
    """Build an objective of the literature for ``lgb.LGBMRanker(objective=..., metric="None")``.

    What :func:`sklearn_objective` says of ``metric``, ``bagging_by_query`` and pickles holds here too.

    Parameters
    ----------
    kind, **options
        As of :func:`reference_objective`.

    Returns
    -------
    SklearnObjective
        A callable ``(y_true, y_pred, weight, group) -> gradient, hessian``, each (n_docs,).

    Raises
    ------
    TypeError, ValueError
        If the kind is not known, has no such option, or an option is not as its class describes.
    ValueError
        In ``fit``: as :func:`sklearn_objective`, or if labels or lists are not as the class wants them.

    Warns
    -----
    UserWarning
        In ``fit``: as :func:`reference_objective`.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np, boostsoft.lightgbm as bl
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    >>> objective = bl.sklearn_reference_objective("queryrmse")
    >>> ranker = lgb.LGBMRanker(objective=objective, metric="None", n_estimators=3, verbose=-1)
    >>> ranker.fit(X, y, group=[20] * 10).booster_.num_trees()
    3
    """
    return SklearnObjective(_reference(kind, **options), "sklearn_reference_objective")


def feval(*metrics: str | AnyMetric) -> LightGBMMetrics:
    """Build an evaluation for ``feval=`` of ``lgb.train`` and ``lgb.cv``.

    After every tree each metric is logged for each of the ``valid_sets``, as one to be maximised: its mean over the
    queries, each of which weighs the mean of its rows' weights. It is NaN where no query counts (``empty="skip"``).
    LightGBM merges curves of one name: metrics of several fevals must differ in theirs.

    Parameters
    ----------
    *metrics : str, Metric or SoftMetric
        What to evaluate, one at least; strings are hard Metrics.

    Returns
    -------
    LightGBMMetrics
        A callable ``(preds, eval_data) -> [(name, value, True), ...]``. Hard metrics are called ``ndcg_hard@10``, soft
        ones ``ndcg_gaussian@10``, unless they have a ``name`` of their own.

    Raises
    ------
    TypeError, ValueError
        If no metric is given, something else is, or two would have one name.
    ValueError
        While training: if a data set has no groups or labels that a metric does not take, if folds of ``lgb.cv``
        cut through queries, or if it is the training data of dart under a custom objective (see :func:`objective`).

    Notes
    -----
    Measured is what LightGBM shows. Of its own objectives with a link (``binary``, ``cross_entropy``, ``poisson`` and
    the like) that is the prediction after the link: its order is the same, but not its unit, in which sigma is.
    :func:`track_callback` measures raw scores.

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np, boostsoft as bs, boostsoft.lightgbm as bl
    >>> rng = np.random.default_rng(0)
    >>> train = lgb.Dataset(rng.normal(size=(200, 3)), rng.integers(0, 3, 200), group=[20] * 10)
    >>> feval, log = bl.feval("ndcg@10", bs.SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")), {}
    >>> params = {"objective": "lambdarank", "metric": "None", "verbose": -1}
    >>> record = lgb.record_evaluation(log)
    >>> booster = lgb.train(params, train, 3, valid_sets=[train], feval=feval, callbacks=[record])
    >>> {name: len(values) for name, values in log["training"].items()}
    {'ndcg_hard@10': 3, 'ndcg_gaussian@10': 3}
    """
    return LightGBMMetrics(MetricList("boostsoft.lightgbm.feval", metrics, warns=True))


def sklearn_eval_metric(*metrics: str | AnyMetric) -> SklearnMetrics:
    """Build an evaluation for ``eval_metric=`` of ``LGBMRanker.fit``, on each of its evaluation sets.

    Means, names and what is measured are those of :func:`feval`.

    Parameters
    ----------
    *metrics : str, Metric or SoftMetric
        What to evaluate, one at least; strings are hard Metrics.

    Returns
    -------
    SklearnMetrics
        A callable ``(y_true, y_pred, weight, group) -> [(name, value, True), ...]``.

    Raises
    ------
    TypeError, ValueError
        If no metric is given, something else is, or two would have one name.
    ValueError
        In ``fit``: if a data set has labels that a metric does not take, or is the training data of dart under a custom
        objective (see :func:`objective`).

    Examples
    --------
    >>> import numpy as np, boostsoft.lightgbm as bl
    >>> metrics = bl.sklearn_eval_metric("mrr")  # for LGBMRanker.fit(..., eval_metric=metrics), which calls it
    >>> metrics(np.array([0, 1, 0, 1]), np.array([0.2, 0.1, 0.3, 0.4]), None, np.array([2, 2]))
    [('mrr_hard', 0.75, True)]
    """
    return SklearnMetrics(MetricList("boostsoft.lightgbm.sklearn_eval_metric", metrics, warns=True))


def track_callback(
    *metrics: str | AnyMetric,
    every: int = 1,
    stop: int | StoppingRule | None = None,
    confidence: float = 0.9,
    watch: int | str | AnyMetric | None = None,
    watch_data: str | None = None,
    training: bool | None = None,
    progress: Progress = "auto",
    writer: Any = None,
) -> LightGBMTrack:
    """Build a callback that records metrics of every query while LightGBM trains.

    For ``callbacks=`` of ``lgb.train``, ``lgb.cv`` and ``LGBMRanker.fit``. It runs before other callbacks, which see
    its means as they see those of a feval: ``lgb.record_evaluation``, ``lgb.log_evaluation``, MLflow.

    Parameters
    ----------
    *metrics : str, Metric or SoftMetric
        What to measure on all ``valid_sets``; without any, ndcg@10, hard and soft, with noise of a fifth of the
        scores' spread.
    every : int
        Rounds from one record to the next; the last of the rounds asked for is recorded too. In between the last record
        is logged again, which ``lgb.early_stopping`` takes for no gain: with it leave this at 1, or let it watch
        something else with ``first_metric_only=True``. A step is a number of trees: a round that finds no split, as of
        random trees, grows none and is no step.
    stop : int or StoppingRule, optional
        Stop when the last ``stop`` trees together no longer improve what is watched, at this confidence (see
        :class:`boostsoft.tracks.StoppingRule`), or as many rounds have grown no tree. ``best_iteration`` is then the
        number of trees of the highest mean; in ``lgb.cv``, whose folds have trees of their own, the number of rounds.
        One tree more is grown and taken back, so that the other callbacks see the last one.
    confidence : float
        One-sided, in (0, 1): how sure the improvement must be for the training to go on. A StoppingRule has its own.
    watch : int, str or metric, optional
        What ``stop`` and the progress bar look at, by position, name or value: by default the first soft metric, or
        else the first one.
    watch_data : str, optional
        On which of the ``valid_names``, if there are several besides the training data.
    training : bool, optional
        Whether to record on the training data as well; by default if LightGBM evaluates something else on it, since
        otherwise it cannot be seen among ``valid_sets``. With ``lgb.early_stopping``, which from LightGBM 4.7 on fails
        unless every metric is there for every data set, leave it at None.
    progress : bool or "auto"
        Whether to show a line with the watched metric and its standard error: "auto" where stderr is a terminal,
        True in notebooks and logs too.
    writer : object with ``add_scalar(tag, value, step)``, optional
        Gets every recorded mean: TensorBoard's ``SummaryWriter``, for one.

    Returns
    -------
    LightGBMTrack
        The callback, with ``tracks`` (a TreeTrack of each data set), ``track`` (of the only one), ``evals_result``
        (its means, one per round; rounds that are not recorded repeat the record before) and ``stopped``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, a metric is pooled, or two have one name.
    ValueError
        While training: if there are no ``valid_sets`` or no groups, if LightGBM's log holds a metric of this name
        already, on several machines, if another training has begun with this callback meanwhile, as in a thread
        beside, if ``stop`` is given for dart, which goes on rescaling the best trees, or if it is to record on dart's
        training data under a custom objective (see :func:`objective`).

    Warns
    -----
    UserWarning
        If ``stop`` is given and looks at a soft metric in units of the scores, which rises merely because they grow.

    Notes
    -----
    Scores are raw. LightGBM shows those of ``binary``, ``cross_entropy``, ``poisson``, ``gamma``, ``tweedie`` and
    ``reg_sqrt`` after their link only, which is undone. Scores of rf are the mean over its trees. In ``lgb.cv`` the
    tracks are called ``"fold 0"``, ... (and ``"training fold 0"``, ... with ``eval_train_metric=True``); ``stop`` and
    the bar look at the queries of all validation folds together. What
    ``lgb.cv`` returns is filled before callbacks run and lacks these means: read ``callback.evals_result``.

    LightGBM's ``best_score``, and what ``lgb.cv`` returns, end at ``best_iteration`` only where ``stop`` ended the
    training before its last tree; otherwise they go on to that tree. With an ``init_model``, whose trees
    ``best_iteration`` counts, ``lgb.cv`` returns as many values of the new trees, or all of them, also that of a tree
    that was taken back: read ``callback.evals_result``.

    A pickle or a copy keeps the record, without the writer.

    At every tree the callback takes .04 to .05 of what the rest of a tree takes (136 features, 240,000 documents to
    train on and 48,000 to measure; whole runs scatter more than that).

    Examples
    --------
    >>> import lightgbm as lgb, numpy as np, boostsoft.lightgbm as bl
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
    >>> train = lgb.Dataset(X, y, group=[20] * 10)
    >>> valid = lgb.Dataset(X[:60], y[:60], group=[20] * 3, reference=train)
    >>> callback = bl.track_callback("ndcg@10")
    >>> params = {"objective": bl.objective("ndcg@10"), "metric": "None", "verbose": -1}
    >>> booster = lgb.train(params, train, 5, valid_sets=[valid], callbacks=[callback])
    >>> callback.track.per_query.shape
    (5, 1, 3)
    """
    live = LiveTrack(
        "boostsoft.lightgbm.track_callback", metrics, every=every, stop=stop, confidence=confidence, watch=watch,
        watch_data=watch_data, progress=progress, writer=writer,
    )  # fmt: skip
    return LightGBMTrack(live, None if training is None else as_flag(live.caller, "training", training))
