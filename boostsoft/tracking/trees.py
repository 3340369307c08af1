"""track_trees: what each tree of a finished model adds, query by query."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..arguments import finite_vector, of_type, whole_number
from ..choices import Progress
from ..kernels.threads import at_most
from ..metrics.soft import SomeMetrics
from ..progress import shows, watched
from ..query_groups import query_weights
from ..tracks.builder import TRACKED, TrackBuilder, as_metrics
from ..tracks.tree_track import TreeTrack
from .staged import Stages, feature_matrix, model_queries, open_model, soft_ranker, threads_of

CALLER = "track_trees"


def track_trees(
    model: Any,
    X: Any,
    y: Any,
    *,
    group: Any = None,
    qid: Any = None,
    metrics: SomeMetrics = TRACKED,
    every: int = 1,
    start: int = 0,
    init_score: Any = None,
    base_margin: Any = None,
    query_weight: Any = None,
    label: str = "",
    progress: Progress = "auto",
) -> TreeTrack:
    r"""Measure a finished model after each of its trees.

    Every tree is evaluated once, a block of trees at a time, whose leaves take no more than 64 MB or a
    quarter of what X takes in single precision.

    Parameters
    ----------
    model : object
        A LightGBM Booster, LGBMRanker or other LGBMModel, an XGBoost Booster, XGBRanker or other XGBModel, a CatBoost
        model, a SoftRanker, or anything with ``staged_predict(X)``. All its trees are tracked, also those behind
        ``best_iteration``, which its own ``predict`` may leave out.
    X : (n_docs, n_features)
        What the model reads: an array, a SciPy sparse matrix or a DataFrame, without other columns than its features;
        no Dataset, DMatrix or Pool.
    y : (n_docs,)
        Labels.
    group : (n_queries,) or QueryGroups, optional
        Documents of each query; either this or ``qid`` must be given.
    qid : (n_docs,), optional
        Query of each document, those of a query adjacent. A SoftRanker with ``qid_column`` finds it in X.
    metrics : str, Metric, SoftMetric or a list of them
        What to measure; strings are hard Metrics. By default ndcg@10 and its expectation under noise of a fifth of
        the scores' spread: in units of the scores a soft metric rises merely because they grow with every tree.
    every : int
        Trees from one step to the next; the last tree is always a step.
    start : int
        Number of trees of the beginning; steps are ``start + every``, ``start + 2 every``, ...
    init_score, base_margin : (n_docs,), optional
        What the scores start from, of a LightGBM and an XGBoost model.
    query_weight : (n_queries,), optional
        Weight of each query in the means.
    label : str
        What the model is called in plots.
    progress : "auto", True or False
        Whether to show how far it is: "auto" where stderr is a terminal, True in notebooks and logs too.

    Returns
    -------
    TreeTrack
        The values of every query at each step.

    Raises
    ------
    TypeError, ValueError
        If the model is of another kind; if it has no trees, or none of an order (gblinear), or several scores per
        document (classes, targets); if X has another number of features or of rows; if neither ``group`` nor ``qid`` is
        given; if a metric is pooled or two have one name; if ``init_score`` or ``base_margin`` is of the other library;
        if ``start`` leaves no tree to measure, or another argument is not as described.

    Warns
    -----
    UserWarning
        If the model is a SoftRanker of several boosters (Notes).

    Notes
    -----
    The scores after t trees are what the booster itself gives: ``predict(num_iteration=t, raw_score=True)`` of
    LightGBM, exactly; ``predict(iteration_range=(0, t), output_margin=True)`` of XGBoost, exactly at ``base_score=0``
    and to 1e-5 at another; and raw values of CatBoost.

    It costs some .8 of one prediction and as many calls of the metrics as there are steps: 15 s for 1,000 trees on
    100,000 documents (``python -m boostsoft bench --parts tracking``).

    - DART drops trees while it trains and rescales those that it had: measured are the sums of the first t trees as
      they are in the finished model, not what the model was after t rounds.
    - A random forest's trees are independent, so that their order is that of drawing. LightGBM's (``boosting="rf"``)
      are averaged: the scores are those of ``predict(num_iteration=t)`` for objectives that leave them as they are.
    - With ``num_parallel_tree`` a step of XGBoost is a round of so many trees, as it is in ``iteration_range``.
    - The trees of a SoftRanker of several boosters stand one after another. A warning says so, since the first trees
      are a part of one booster, and no ranker to stop at.
    - Before the first tree all documents score alike, unless a start is given. (scikit-learn's gradient boosting has
      one in itself, ``init_``.)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from boostsoft import track_trees
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = (X[:, 0] > 0.5).astype(float)
    >>> model = GradientBoostingRegressor(n_estimators=5, random_state=0).fit(X, y)
    >>> track = track_trees(model, X, y, group=[20] * 10, metrics=["ndcg@10", "mrr"], every=2)
    >>> track
    TreeTrack(ndcg@10, mrr; 3 steps from 2 to 5 trees, 10 queries)
    >>> scores = list(model.staged_predict(X))[1]
    >>> bool(track.mean[0, 1] == track.metrics[1](y, scores, group=[20] * 10))
    True
    """
    measured, shown, label = as_metrics(CALLER, metrics), shows(CALLER, progress), of_type(CALLER, "label", label, str)
    every, start = whole_number(CALLER, "every", every, 1), whole_number(CALLER, "start", start, 0)
    n_docs = finite_vector(CALLER, "y", y).size
    X = feature_matrix(CALLER, X, n_docs)  # before the queries, which would be blamed for labels that are too many
    groups, ids = model_queries(CALLER, model, X, n_docs, group, qid)
    weights = query_weights(CALLER, query_weight, groups)
    builder = TrackBuilder(CALLER, measured, y, groups, weights, qid=ids, label=label)
    _warn_of_several_boosters(model)
    stages = open_model(CALLER, model, X, groups.n_docs, init_score=init_score, base_margin=base_margin)
    if stages.n_trees is not None:
        _refuse_late_start(start, stages.n_trees)
    with at_most(threads_of(CALLER, model)):
        _measure(builder, stages, start, every, shown)
    return builder.track()


def _measure(builder: TrackBuilder, stages: Stages, start: int, every: int, shown: bool) -> None:
    trees, scores = -1, np.zeros(0)
    known = None if stages.n_trees is None else stages.n_trees + 1
    for trees, scores in enumerate(watched(stages.scores, known, CALLER, shown)):
        if trees == start:
            builder.begin(start, scores)
        elif trees > start and (trees - start) % every == 0:
            builder.add(trees, scores)
    _refuse_late_start(start, trees)
    if (trees - start) % every:
        builder.add(trees, scores)


def _warn_of_several_boosters(model: Any) -> None:
    """Several boosters of a SoftRanker stand one after another, and their mean ranks: fewer trees leave some out."""
    n_boosters = getattr(soft_ranker(model), "n_boosters_", 1)
    if n_boosters > 1:
        warnings.warn(
            f"{CALLER}: the model is the mean of {n_boosters} boosters, whose trees stand one after another: only "
            "SoftRanker(n_boosters=1) shows where to stop",
            stacklevel=3,
        )


def _refuse_late_start(start: int, n_trees: int) -> None:
    if start >= n_trees:
        raise ValueError(f"{CALLER}: start must be below the number of trees of the model, {n_trees}; got {start}")
