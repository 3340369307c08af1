"""Hard ranking metrics as scorers of scikit-learn's cross-validation and searches."""

from __future__ import annotations

from inspect import signature
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest, get_routing_for_object

from .arguments import FloatArray, finite_vector
from .decisions import decisions
from .labels import read_labels
from .metrics.hard import Metric, mean_of, refuse_cutoffs_per_query
from .metrics.soft import as_metric
from .metrics.spec import CutoffOptions, Unpack
from .queries import read_queries, weigh
from .ranker.fitted import query_ids

__all__ = ["RankingScorer", "make_ranking_scorer"]


def make_ranking_scorer(metric: str | Metric = "ndcg@10", **options: Unpack[CutoffOptions]) -> RankingScorer:
    """Build a scorer for ``scoring=`` of ``cross_validate``, ``GridSearchCV`` and the like.

    The query ids come through metadata routing, or from the ``qid_column`` of a :class:`SoftRanker`, which may be the
    last step of a pipeline or what a search has refitted. ``permutation_importance`` routes nothing: give it
    ``functools.partial(scorer, qid=qid)``.

    Parameters
    ----------
    metric : str or Metric
        What to measure, in the mean over the queries of a fold.
    **options
        Of the metric, if it is given as a string.

    Returns
    -------
    RankingScorer
        A callable ``(estimator, X, y, *, qid, sample_weight) -> float``: the metric of ``estimator.predict(X)``, or,
        of a classifier with two classes, of its decision function or else of the second class's probability.

    Raises
    ------
    TypeError, ValueError
        If the metric or an option is not as described, or it has one cutoff per query.
    ValueError
        When called: if query ids are missing, weights differ within a query, or labels do not suit the metric.

    Examples
    --------
    >>> import numpy as np, sklearn
    >>> from sklearn.model_selection import GroupKFold, cross_validate
    >>> from boostsoft import SoftRanker, make_ranking_scorer
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(300, 3)), np.repeat(np.arange(30), 10)
    >>> y = np.digitize(X[:, 0], [0.5, 1.5])
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     ranker = SoftRanker(n_estimators=10).set_fit_request(qid=True)
    ...     scorer = make_ranking_scorer("ndcg@5").set_score_request(qid=True)
    ...     found = cross_validate(
    ...         ranker, X, y, scoring=scorer, cv=GroupKFold(3), params={"qid": qid, "groups": qid}, error_score="raise")
    >>> bool((found["test_score"] > 0.8).all())
    True
    """
    hard = as_metric("make_ranking_scorer", metric, options)
    refuse_cutoffs_per_query("make_ranking_scorer", hard)
    return RankingScorer(hard)


class RankingScorer:
    """A callable ``(estimator, X, y, *, qid, sample_weight) -> float``: the metric of ``estimator.predict(X)``.

    Parameters
    ----------
    metric : Metric
        What to measure.
    """

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self._request = MetadataRequest(owner=self)
        for name in ("qid", "sample_weight"):
            self._request.score.add_request(param=name, alias=None)

    def __call__(self, estimator: Any, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Score an estimator.

        Parameters
        ----------
        estimator : fitted estimator
            Anything whose ``predict`` gives a score per row, higher ranks first; it gets ``qid`` too if it has such a
            parameter, as that of :class:`SoftBlender`, alone or last in a pipeline. A classifier with two classes,
            whose ``predict`` would tie most rows, ranks by its ``decision_function``, or else by the probability of the
            second class.
        X, y : (n_docs, n_features), (n_docs,)
            Documents and labels.
        qid : (n_docs,)
            Query id of each row, in any order.
        sample_weight : (n_docs,), optional
            Weight of each row's query, equal within a query. (One number per query, as metrics take them, is none that
            scikit-learn could split.)
        """
        caller = "make_ranking_scorer"
        if qid is None:
            qid = _ids_within(estimator, X)
        if qid is None:
            raise ValueError(
                f"{caller}: qid is missing: call set_score_request(qid=True) on the scorer, with metadata routing "
                "enabled, and give the cross-validation params={'qid': ...}, or a SoftRanker with qid_column; where "
                "nothing is routed, as in permutation_importance, give functools.partial(scorer, qid=qid)"
            )
        scores: FloatArray = finite_vector(caller, "predictions", _predict(estimator, X, qid))
        queries, weights = weigh(caller, read_queries(caller, scores.size, None, qid), sample_weight)
        return mean_of(
            self.metric,
            caller,
            queries.bring_together(read_labels(caller, y, scores.size)),
            queries.bring_together(scores),
            group=queries.groups,
            query_weight=weights,
        )

    def set_score_request(
        self, *, qid: bool | str | None = UNCHANGED, sample_weight: bool | str | None = UNCHANGED
    ) -> RankingScorer:
        """Say which metadata the scorer wants: True, False, None (an error if given) or the name it goes by."""
        for name, alias in (("qid", qid), ("sample_weight", sample_weight)):
            if alias is not UNCHANGED:
                self._request.score.add_request(param=name, alias=alias)
        return self

    def get_metadata_routing(self) -> Any:
        """What scikit-learn asks to route metadata."""
        return get_routing_for_object(self._request)

    def __repr__(self) -> str:
        return f"make_ranking_scorer({self.metric!r})"


def _predict(estimator: Any, X: Any, qid: Any) -> Any:
    """The predictions, with the query ids if they need them, as a SoftBlender's do; of two classes, how sure it is."""
    decided = decisions(estimator, X)
    if decided is not None:
        return decided
    model = last = _unwrapped(estimator)
    while isinstance(last, Pipeline):
        last = _unwrapped(last.steps[-1][1])
    return model.predict(X, qid=qid) if "qid" in signature(last.predict).parameters else model.predict(X)


def _unwrapped(estimator: Any) -> Any:
    """What a search has refitted, or what is frozen."""
    while isinstance(estimator, FrozenEstimator) or hasattr(estimator, "best_estimator_"):
        estimator = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator.best_estimator_
    return estimator


def _ids_within(estimator: Any, X: Any) -> Any:
    """The query ids in the column of X where the SoftRanker within finds them; None if there is none such."""
    estimator = _unwrapped(estimator)
    if isinstance(estimator, Pipeline):
        for _, step in estimator.steps[:-1]:  # the column is one of what reaches the ranker
            X = step.transform(X) if hasattr(step, "transform") else X
        return _ids_within(estimator.steps[-1][1], X)
    return query_ids("make_ranking_scorer", estimator, X) if hasattr(estimator, "qid_column") else None


def __dir__() -> list[str]:
    return __all__  # completion is not to offer what this is made of
