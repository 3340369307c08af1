"""XGBoost: soft metrics as its objective, hard and soft ones as its evaluation.

>>> import numpy as np, xgboost as xgb, boostsoft as bs, boostsoft.xgboost as bx
>>> rng = np.random.default_rng(0)
>>> train = xgb.DMatrix(rng.normal(size=(200, 3)), rng.integers(0, 3, 200), group=[20] * 10)
>>> soft = bs.SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")
>>> booster = xgb.train(
...     {"base_score": 0, "disable_default_eval_metric": True}, train, num_boost_round=3,
...     obj=bx.objective("ndcg@10"), custom_metric=bx.custom_metric("ndcg@10", soft),
...     evals=[(train, "train")], maximize=True, verbose_eval=False)
>>> booster.num_boosted_rounds()
3

Weights of a ranking DMatrix are per query; they multiply gradients and metrics alike. ``maximize=True`` tells early
stopping the direction; ``base_score=0`` keeps scores from starting at .5 (which changes no ranking). :func:`train` sets
these itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .adapters.shared import as_booster, built, first_whole
from .adapters.xgboost_calls import XGBoostMetrics as XGBoostMetrics  # as: the classes are to be had from here as well
from .adapters.xgboost_calls import XGBoostObjective as XGBoostObjective
from .adapters.xgboost_data import THREADS, import_xgboost
from .adapters.xgboost_refusals import (
    TRAIN,
    as_evals,
    recorded_metrics,
    recorders_first,
    refuse_called_metrics,
    refuse_metrics_of_documents,
    refuse_minimising,
    refuse_stopping_by_another,
)
from .arguments import as_flag, of_type, short
from .choices import Accuracy, Hessian, Noise, Reference
from .metric_lists import MetricList
from .metrics.hard import Metric
from .metrics.registry import REGISTRY
from .metrics.soft import AnyMetric, MetricWeights, SoftMetric, SomeMetrics, watched_soft
from .objectives import SoftObjective
from .objectives import reference_objective as _reference
from .objectives.base import made_by

if TYPE_CHECKING:
    from xgboost import Booster

    from .adapters.xgboost_callback import TrackCallback

__all__ = ["TrackCallback", "custom_metric", "objective", "reference_objective", "train"]

LEAST_SIGMA = 0.03  # below it XGBoost loses splits: NDCG was .001 lower at .03, .016 at .001, .13 at .0001


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
) -> XGBoostObjective:
    """Build an objective for ``obj=`` of ``xgb.train`` and ``xgb.cv``.

    XGBoost gets minus the gradient, and the curvature, of :class:`boostsoft.objectives.SoftObjective`, where the
    formulas are, **both times 16**: sigma^2 times each, of the sum over queries, times the DMatrix's weights of
    queries. XGBRanker refuses callable objectives.

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
        Its scale, above 0. It sets the unit of the scores and, from .03 on, next to nothing else: gains of splits fall
        with sigma^2, and XGBoost takes no split that gains less than 1e-6, whatever its parameters.
    hessian : "flow", "exact" or "constant"
        Which curvature.
    query_weight : (n_queries,), optional
        Weight of each query of the training data, beside the DMatrix's.
    accuracy : "fast", "default" or "high"
        How near the gradient is to the exact one: 1e-4, 1e-6 or 1e-10 of the query's largest.

    Returns
    -------
    XGBoostObjective
        A callable ``(predt, dtrain) -> gradient, hessian``, each (n_docs,).

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.
    ValueError
        While training: if the DMatrix has no groups or labels that the metric does not take, if its weights are all 0,
        or if no order of the documents is better than another.

    Warns
    -----
    UserWarning
        If sigma is below .03. While training: if all documents together have less curvature than ``min_child_weight``
        asks of two leaves.

    Notes
    -----
    By default the metric is trained on alone; what ranked best is in the notes of :func:`boostsoft.lightgbm.objective`.

    The factor of 16 leaves the Newton step as it is. XGBoost's stock ``lambda=1`` and ``min_child_weight=1`` are made
    for curvatures of about .25 per document; those of a whole query add up to about .1 here, whatever its length.
    What :func:`reference_objective` builds is not multiplied.

    Of a pooled metric, whose pairs are of several queries, the DMatrix's weights multiply each document's gradient
    afterwards, as LightGBM's weights of rows do; ``query_weight`` weighs the pairs.

    ``xgb.cv`` keeps queries whole and drops their weights, under any objective. ``xgboost.dask.train`` shows a worker's
    queries only: one that lies on two workers passes for two, which :func:`boostsoft.dask.train_xgboost` refuses. A
    saved Booster needs no boostsoft to be served.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb, boostsoft.xgboost as bx
    >>> rng = np.random.default_rng(0)
    >>> train = xgb.DMatrix(rng.normal(size=(200, 3)), rng.integers(0, 3, 200), group=[20] * 10)
    >>> params = {"base_score": 0, "disable_default_eval_metric": True}
    >>> xgb.train(params, train, 3, obj=bx.objective("ndcg@10", sigma=0.5)).num_boosted_rounds()
    3
    """
    rule = made_by(
        "boostsoft.xgboost.objective",
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
    if rule.sigma < LEAST_SIGMA:
        warnings.warn(
            f"boostsoft.xgboost.objective: sigma should be {LEAST_SIGMA} or more; got {rule.sigma!r}: gains of splits "
            "fall with its square, and XGBoost takes none below 1e-6, so that trees lack splits; train with sigma=1, "
            "which ranks alike, and multiply the scores",
            stacklevel=3,  # behind ``built``
        )
    return XGBoostObjective(rule)


@built
def reference_objective(kind: Reference, **options: Any) -> XGBoostObjective:
    """Build an objective of the literature for ``obj=``, by its name, to compare with.

    Gradients and curvatures are as its class states them, in no unit of XGBoost's: ``min_child_weight=0`` suits all
    but ranknet and queryrmse, whose curvatures are not far below 1.

    Parameters
    ----------
    kind : "lambdarank", "ranknet", "lambdaloss", "softlambda", "xendcg", "softmax", "listnet" or "queryrmse"
        Which: :func:`boostsoft.objectives.reference_objective` names the classes, which have formulas and sources.
    **options
        The parameters of that class.

    Returns
    -------
    XGBoostObjective
        A callable ``(predt, dtrain) -> gradient, hessian``, each (n_docs,).

    Raises
    ------
    TypeError, ValueError
        If the kind is not known, has no such option, or an option is not as its class describes.
    ValueError
        While training: as :func:`objective`, or if labels or lists are not as the class wants them.

    Warns
    -----
    UserWarning
        While training: as :func:`objective`.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb, boostsoft.xgboost as bx
    >>> rng = np.random.default_rng(0)
    >>> train = xgb.DMatrix(rng.normal(size=(200, 3)), rng.integers(0, 3, 200), group=[20] * 10)
    >>> params = {"base_score": 0, "disable_default_eval_metric": True, "min_child_weight": 0}
    >>> xgb.train(params, train, 3, obj=bx.reference_objective("listnet")).num_boosted_rounds()
    3
    """
    return XGBoostObjective(_reference(kind, **options), "reference_objective")


def custom_metric(*metrics: str | AnyMetric) -> XGBoostMetrics:
    """Build an evaluation for ``custom_metric=`` of ``xgb.train`` and ``xgb.cv``.

    After every tree each metric is logged, with six decimals, for each of the ``evals``: its mean over the queries by
    the DMatrix's weights of queries, NaN where no query counts (``empty="skip"``). All are to be maximised: give
    ``maximize=True``. Under a distributed training the mean is over the queries of all workers.

    Parameters
    ----------
    *metrics : str, Metric or SoftMetric
        What to evaluate, one at least; strings are hard Metrics. XGBoost's early stopping watches the last.

    Returns
    -------
    XGBoostMetrics
        A callable ``(predt, dmatrix) -> [(name, value), ...]``. Hard metrics are called ``ndcg_hard@10``, soft ones
        ``ndcg_gaussian@10``, unless they have a ``name`` of their own.

    Raises
    ------
    TypeError, ValueError
        If no metric is given, something else is, or two would have one name.
    ValueError
        While training: if a DMatrix has no groups, weights that are all 0, or labels that a metric does not take; if an
        early stopping would minimise one of the metrics; on several workers also if a metric is pooled or has one
        cutoff per query.

    Notes
    -----
    Measured is what XGBoost shows: raw scores under a custom objective. Under one of its own with a link
    (``binary:logistic``, ``count:poisson`` and the like) that is the prediction after the link: its order is the same,
    but not its unit, in which sigma is.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb, boostsoft as bs, boostsoft.xgboost as bx
    >>> rng = np.random.default_rng(0)
    >>> train = xgb.DMatrix(rng.normal(size=(200, 3)), rng.integers(0, 3, 200), group=[20] * 10)
    >>> metric, log = bx.custom_metric("ndcg@10", bs.SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")), {}
    >>> params = {"objective": "rank:ndcg", "disable_default_eval_metric": True}
    >>> given = {"evals": [(train, "train")], "evals_result": log, "maximize": True, "verbose_eval": False}
    >>> booster = xgb.train(params, train, 3, custom_metric=metric, **given)
    >>> {name: len(values) for name, values in log["train"].items()}
    {'ndcg_hard@10': 3, 'ndcg_gaussian@10': 3}
    """
    return XGBoostMetrics(MetricList("boostsoft.xgboost.custom_metric", metrics, warns=True))


def train(
    params: Mapping[str, Any],
    dtrain: Any,
    num_boost_round: int = 10,
    *,
    obj: str | Metric | XGBoostObjective | None = None,
    custom_metric: SomeMetrics | XGBoostMetrics | None = None,
    evals: Sequence[tuple[Any, str]] | None = None,
    maximize: bool | None = True,
    verbose_eval: bool | int | None = True,
    **arguments: Any,
) -> Booster:
    """``xgb.train`` with what a ranking objective of one's own needs.

    Sets ``base_score=0`` and ``disable_default_eval_metric`` (unless ``params`` does) and ``maximize=True``, and says
    so in a line before the first evaluation, if ``verbose_eval``; a model that is continued keeps its ``base_score``.
    Objective and metrics run on no more threads than ``params["nthread"]``, which ``xgb.train`` does not show them. All
    else is XGBoost's.

    Parameters
    ----------
    params, dtrain, num_boost_round
        As ``xgb.train``; ``params`` may not hold an ``objective``.
    obj : str, Metric or what :func:`objective` and :func:`reference_objective` build, optional
        What to train on, ``"ndcg@10"`` by default.
    custom_metric : a metric or several, or what :func:`custom_metric` builds, optional
        What to evaluate on ``evals``; by default what ``obj`` trains on, hard, and then soft (of pnr soft kendall),
        with noise of a fifth of the scores' spread (of an objective of the literature ndcg@10, hard), less what a
        :class:`TrackCallback` records by these names on a set of ``evals``, and nothing if it records the last one.
        Early stopping watches the last one, on the last set of ``evals``; without ``evals``, what a TrackCallback
        records.
    evals
        As ``xgb.train``.
    maximize : bool or None
        Every metric here is to be maximised: False raises, and None, the default of XGBoost, is True.
    verbose_eval
        As ``xgb.train``.
    **arguments
        ``early_stopping_rounds``, ``evals_result``, ``xgb_model``, ``callbacks``: as ``xgb.train``.

    Returns
    -------
    xgboost.Booster

    Raises
    ------
    ImportError
        If XGBoost is not installed.
    TypeError
        If ``params`` is no mapping, or ``evals`` holds other things than pairs, or ``obj`` or ``custom_metric`` is a
        function of another kind: maximised, an error would keep the worst tree.
    ValueError
        If ``params`` holds an objective, two data sets have one name, or an early stopping would minimise one of these
        metrics, or one of a :class:`TrackCallback`, or maximise an error of XGBoost's own behind those that a
        TrackCallback records.

    Notes
    -----
    XGBoost's stock ``lambda=1`` and ``min_child_weight=1`` suit weights of queries whose mean is about 1. Gradients and
    curvatures grow and shrink with the weights: with weights that add up to 1 both settings are far too large, and
    trees hardly learn.

    Examples
    --------
    >>> import numpy as np, xgboost as xgb, boostsoft.xgboost as bx
    >>> rng = np.random.default_rng(0)
    >>> data = xgb.DMatrix(rng.normal(size=(200, 3)), rng.integers(0, 3, 200), group=[20] * 10)
    >>> bx.train({"eta": 0.1}, data, 5, evals=[(data, "train")], verbose_eval=False).num_boosted_rounds()
    5
    """
    xgboost = import_xgboost(TRAIN)
    of_type(TRAIN, "dtrain", dtrain, xgboost.DMatrix)
    rule = trained_objective(obj)
    watched = watched_metrics(custom_metric, rule)
    settled, evals = settled_params(params, arguments.get("xgb_model")), as_evals(evals)
    refuse_metrics_of_documents(settled, arguments.get("xgb_model"), evals)
    if maximize is not None and not as_flag(TRAIN, "maximize", maximize):
        raise ValueError(f"{TRAIN}: maximize must be True: every metric here is to be maximised")
    if custom_metric is None:
        _refuse_other_cutoffs(rule, evals)
    callbacks = _as_callbacks(arguments.pop("callbacks", None))
    metrics = watched if custom_metric is not None else _without(recorded_metrics(callbacks, evals), watched)
    refuse_minimising(callbacks, evals, metrics)
    if arguments.get("early_stopping_rounds") is not None:
        refuse_stopping_by_another(settled, arguments.get("xgb_model"), evals, metrics)
    if verbose_eval and evals:
        added = {name: value for name, value in settled.items() if name not in params} | {"maximize": True}
        said = ", ".join(f"{name}={value}" for name, value in added.items())
        xgboost.collective.communicator_print(f"{TRAIN} sets {said}\n")
    with as_booster(first_whole(settled, THREADS)):
        return xgboost.train(
            settled, dtrain, num_boost_round, obj=rule, custom_metric=metrics, evals=evals, maximize=True,
            verbose_eval=verbose_eval, callbacks=callbacks, **arguments,
        )  # fmt: skip


if not TYPE_CHECKING:  # to type checkers any name would be there

    def __getattr__(name: str) -> Any:
        if name != "TrackCallback":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import_xgboost("boostsoft.xgboost.TrackCallback")
        from .adapters.xgboost_callback import TrackCallback  # which imports XGBoost, to be a callback of it

        return TrackCallback


def __dir__() -> list[str]:
    return __all__  # completion is not to offer what is imported here


def settled_params(params: Mapping[str, Any], start: Any, caller: str = TRAIN) -> dict[str, Any]:
    """The parameters with what a custom objective needs in front of the user's own.

    A model to continue, ``start``, has its ``base_score``, in units of its own link: under some 0 is minus infinity.
    """
    if not isinstance(params, Mapping):
        raise TypeError(f"{caller}: params must be a dict, {{}} for XGBoost's defaults; got {short(params)}")
    if params.get("objective") is not None:
        raise ValueError(
            f"{caller}: params must not hold an objective, obj= says what to train on; got {short(params['objective'])}"
        )
    refuse_called_metrics(caller, params)
    base = {"base_score": 0} if start is None else {}
    said = {name: value for name, value in params.items() if value is not None}  # as get_xgb_params() has it
    return {**base, "disable_default_eval_metric": True, **said}


def trained_objective(given: Any, caller: str = TRAIN) -> XGBoostObjective:
    """The objective to train on: the given one, or that of a metric."""
    if isinstance(given, XGBoostObjective):
        return given
    if given is not None and not isinstance(given, (str, Metric)):
        raise TypeError(
            f"{caller}: obj must be a string such as 'ndcg@10', a Metric or what boostsoft.xgboost.objective builds; "
            f"got {short(given)}"
        )
    return objective("ndcg@10" if given is None else given)


def watched_metrics(given: Any, rule: XGBoostObjective, caller: str = TRAIN) -> XGBoostMetrics:
    """The metrics to evaluate: the given ones, or those of the objective, the one to stop by last."""
    if isinstance(given, XGBoostMetrics):
        return given
    if isinstance(given, (str, Metric, SoftMetric)):
        return custom_metric(given)
    if given is not None:
        if not isinstance(given, Iterable) or isinstance(given, Mapping):
            raise TypeError(
                f"{caller}: custom_metric must be metrics such as 'ndcg@10', or what boostsoft.xgboost.custom_metric "
                f"builds; got {short(given)}: xgb.train itself takes functions, and maximize= as they need it"
            )
        return custom_metric(*given)
    if isinstance(rule.rule, SoftObjective):
        metric = rule.rule.metric
        odds = REGISTRY[metric.metric].divisor == "odds"  # which a query nearly in order makes as large as one likes
        watched = (metric, watched_soft("kendall" if odds else metric, rule.rule.noise))
        # an infinite pnr in front of what is watched is no reason to warn
        return XGBoostMetrics(MetricList("boostsoft.xgboost.custom_metric", watched, warns=not odds))
    return custom_metric("ndcg@10")


def _refuse_other_cutoffs(rule: XGBoostObjective, evals: Sequence[tuple[Any, str]]) -> None:
    """Raise if what is trained on has one cutoff per query, which other data that it were evaluated on has not."""
    cutoffs = getattr(getattr(rule.rule, "metric", None), "k", None)
    if not isinstance(cutoffs, tuple):
        return
    for data, name in evals:
        n_queries = max(data.get_uint_info("group_ptr").size - 1, 0)
        if n_queries != len(cutoffs):
            raise ValueError(
                f"{TRAIN}: custom_metric must say what to evaluate where obj has one cutoff per query, "
                f"{len(cutoffs)}, and a data set others; got {n_queries} queries in {name!r}"
            )


def _as_callbacks(given: Any) -> list[Any]:
    """Callbacks, which may come once only, from an iterator."""
    if given is not None and not isinstance(given, Iterable):
        raise TypeError(f"{TRAIN}: callbacks must be a list of callbacks; got {short(given)}")
    return recorders_first(given or ())


def _without(names: set[str], metrics: XGBoostMetrics) -> XGBoostMetrics | None:
    """What is left of metrics that nobody asked for: two of one name in XGBoost's log are refused.

    Nothing where the last one is recorded: one before it would be the last in the log, which early stopping watches.
    """
    found = metrics.metrics
    if not names.intersection(found.names):
        return metrics
    if found.names[-1] in names:
        return None
    left = [metric for name, metric in zip(found.names, found.metrics, strict=True) if name not in names]
    return custom_metric(*left) if left else None
