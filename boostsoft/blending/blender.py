"""SoftBlender: weights of a blend of rankers as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..arguments import Flags, FloatArray, Numbers, RandomState, naming, refuse_lazy, refuse_masked
from ..choices import Auto, BlendMethod, Constraint, Noise, Normalize, Progress
from ..frames import as_checkable, refuse_same_names, refuse_texts
from ..labels import read_labels
from ..metrics.hard import Metric, mean_of
from ..metrics.soft import MetricWeights, as_metric
from ..progress import bar
from ..queries import Queries, read_queries, weigh
from ..query_means import central
from .annealing import several_count
from .interval import LEVEL, bootstrap_weights
from .models import model_scores, names_of_models
from .preparation import Task, prepare_task
from .problem import FIT, Stage, blended
from .scores import SHAPE, column_names, refuse_infinite_scores
from .settings import SOFT, check_settings


class SoftBlender(BaseEstimator):  # type: ignore[misc]
    """Blend rankers with the weights that maximise a soft ranking metric.

    The scores of the models are brought to one scale within each query and added up with weights. The weights climb
    the metric's exact expectation under noise, along its exact gradient, as the noise narrows. What the metric sees
    of a blend is its direction: sigma is in spreads of the blended scores, so that weights matter up to a common
    factor. All parameters are checked in :meth:`fit`.

    Parameters
    ----------
    metric : str or Metric
        What to train on and what :meth:`score` measures: with ``method="soft"`` any metric with an exact
        expectation, with the others any.
    noise : "gaussian", "gumbel" or "logistic"
        Law of the noise.
    sigma : "auto", float or falling floats
        Of the noise, in spreads of the blended scores: one climb at each, from wide to narrow. "auto" is s =
        1.75 n^(-1/5) c, at most c, of n training queries that tell rankings apart, after twice that: what did best on
        held-out queries. With few queries a wide noise keeps the weights from following accidents. c is 1 where the
        metric's k is a quarter of the list or more, and smaller for longer ones, whose scores lie closer together at
        the cutoff: the distance of the k-th from the 2k-th of so many normal scores over .674 (.59 for k = 10 in 150
        documents, .46 in 500).
    mix : "auto", mapping or None
        What else to maximise, under the same noise: ``{"kendall": 0.3}`` adds .3 times Kendall's tau to the metric.
        "auto" weighs tau by 30 / n, at most 1, times the c above, for n training queries that tell rankings apart: few
        queries say more about the order of whole lists than about their top. Tau is left out if that is below .1, from
        some 300 c queries on; where c is below .5, from some 330 documents on for k = 10; for metrics of pairs; and
        where a higher label is worth less to the metric, by its ``gain`` or ``p_rel``. None is the metric alone.
    normalize : "rank", "zscore", "minmax" or "none"
        How scores are brought to one scale in each query; see Notes.
    constraint : "simplex", "nonnegative" or "free"
        Weights of at least 0 that add up to 1; "nonnegative" is the same, since only the direction of the weights
        matters; or weights of either sign whose absolute values add up to 1.
    lower_is_better : bool or (n_models,) bools
        Of which models a lower score is better, as of ranks.
    l2 : float
        Penalty on unequal weights: l2 / n_queries times their squared distance from equal ones is subtracted from the
        metric.
    method : "soft", "coordinate-ascent", "ltr-ga", "ltr-mga", "grid", "random", "equal" or "rrf"
        What finds the weights: the climb above; searches of the hard metric (``boostsoft.blending.baselines``), which
        ignore noise, sigma, mix and l2; or equal weights, of the normalised scores or of reciprocal ranks.
    method_params : dict, optional
        Further options of the method: ``restarts`` and ``tolerance`` of coordinate ascent, ``evaluations`` of the
        evolutionary searches and of random ones, ``steps`` of the grid.
    n_starts : int
        Starts of the climb, the best end of which is taken: equal weights, below 0 if that is better and allowed; the
        best model; then blends drawn at random. On the real sets that were tried all of them climbed the same summit,
        but for one pair of single features of OHSUMED-raw with ``mix=None`` and ``l2=0``. A climb ends when a step
        gains less than a ten-thousandth of the value, which of many models much alike is short of the summit (weights
        by .03 on OHSUMED-raw): going on gains nothing on other queries.
    n_boot : int
        Resamples of the queries behind ``weights_interval_``, 20 at least, of which fewer than 39 have no ends of 95 %
        but those of all of them; 0 for none.
    models : list of fitted models, optional
        Their predictions for S, which then holds features, are the scores to blend; of a classifier of two classes its
        ``decision_function``, or else the probability of the second. In a cross-validation, wrap estimators in
        ``sklearn.frozen.FrozenEstimator``, or they are cloned unfitted.
    progress : "auto", True or False
        Whether to show how far it is: "auto" where stderr is a terminal, True in notebooks and logs too.
    random_state : int, RandomState or Generator, optional
        What random starts, searches and resamples are drawn from; None is 0.

    Attributes
    ----------
    weights_ : ndarray of shape (n_models,)
        Weights of the scores as normalised (:meth:`normalize_scores`).
    weights_interval_ : ndarray of shape (n_models, 2)
        95 % intervals: percentiles of the weights on resampled queries. Computed when it is first asked for, which
        takes some n_boot / 3 times as long as fit, and shown by notebooks and debuggers from then on; of
        ``method="soft"`` only. A pickle has it only if that was before. NaN if fewer than two queries count: one tells
        nothing of others. Over few queries they are somewhat narrow: .925 of them held the weights of a large sample
        of made-up rankers with 60 queries, .945 with 300.
    path_ : tuple of Stage
        ``sigma``, ``weights``, ``soft`` and ``hard`` value after each climb.
    sigma_ : float
        The last sigma; NaN of the other methods.
    mix_ : dict
        What was mixed in: weights by the metrics' names; nothing for methods other than "soft".
    n_evaluations_ : int
        How often what was maximised, the soft metric or the hard one, was computed of a blend.
    feature_names_in_, n_features_in_
        The columns of S in fit; of names, if all are text.

    Raises
    ------
    TypeError, ValueError
        By :meth:`fit`, not before: if a parameter is not as described.

    Notes
    -----
    Of a query of n documents, r of which the model has scored (a NaN is a document that it has not retrieved):

    - ``"rank"``: Phi^-1((n + 1/2 - rank) / n), the normal scores of the ranks; missing ones share the ranks left.
    - ``"zscore"``: (score - mean) / standard deviation; missing ones lie one deviation below the lowest.
    - ``"minmax"``: (score - lowest) / (highest - lowest); missing ones are at -1/4.
    - ``"none"``: the score; missing ones lie one standard deviation below the lowest. Climb and searches, ``l2``'s
      equal weights and a grid's steps included, go by weights times the models' spreads, so that scores of very
      different size do no harm; ``method="equal"`` adds the scores as they are.

    A model whose scores are constant within every query gets weight 0, with a warning; of copies of one model, of
    which only the weights' sum is determined, and of a model and its reverse, of which their difference is, a warning
    tells. Rows of a query need not be adjacent with ``qid``. Without queries all rows are one, and rows to predict are
    placed among those of fit.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import SoftBlender
    >>> rng = np.random.default_rng(0)
    >>> y, group = rng.integers(0, 3, 400), np.full(20, 20)
    >>> S = np.column_stack([y + rng.normal(size=400), 10 * y + 20 * rng.normal(size=400), rng.normal(size=400)])
    >>> blender = SoftBlender("ndcg@5").fit(S, y, group=group)
    >>> first, second, third = blender.weights_
    >>> bool(first > second > third)
    True
    >>> bool(blender.score(S, y, group=group) > 0.8)
    True
    """

    weights_: FloatArray
    path_: tuple[Stage, ...]
    sigma_: float
    mix_: dict[str, float]
    n_evaluations_: int
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    if TYPE_CHECKING:  # scikit-learn's own stand-ins return None to type checkers

        def set_fit_request(self, **requests: bool | str | None) -> SoftBlender:
            """As scikit-learn's."""

        def set_predict_request(self, **requests: bool | str | None) -> SoftBlender:
            """As scikit-learn's."""

        def set_score_request(self, **requests: bool | str | None) -> SoftBlender:
            """As scikit-learn's."""

    def __init__(
        self,
        metric: str | Metric = "ndcg@10",
        *,
        noise: Noise = "gaussian",
        sigma: float | Numbers | Auto = "auto",
        mix: MetricWeights | Auto | None = "auto",
        normalize: Normalize = "rank",
        constraint: Constraint = "simplex",
        lower_is_better: Flags = False,
        l2: float = 1.0,
        method: BlendMethod = "soft",
        method_params: dict[str, Any] | None = None,
        n_starts: int = 1,
        n_boot: int = 100,
        models: Sequence[Any] | None = None,
        progress: Progress = "auto",
        random_state: RandomState | None = None,
    ) -> None:
        self.metric = metric
        self.noise = noise
        self.sigma = sigma
        self.mix = mix
        self.normalize = normalize
        self.constraint = constraint
        self.lower_is_better = lower_is_better
        self.l2 = l2
        self.method = method
        self.method_params = method_params
        self.n_starts = n_starts
        self.n_boot = n_boot
        self.models = models
        self.progress = progress
        self.random_state = random_state

    def fit(
        self,
        S: Any,
        y: Any,
        *,
        group: Any = None,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> SoftBlender:
        """Find the weights.

        Parameters
        ----------
        S : (n_docs, n_models)
            One row per document, one column of scores per model, NaN where it has none; with ``models``, features.
        y : (n_docs,)
            Labels.
        group : (n_queries,), optional
            Documents per query; each query's rows must be adjacent.
        qid : (n_docs,), optional
            Query id of each row, in any order; without either all rows are one query.
        sample_weight : (n_docs,), optional
            Weight of each row's query, equal within it. Where all rows are one query, how often each row is there.
        query_weight : (n_queries,), optional
            The same by query, in the order in which their rows first come; in place of ``sample_weight``.

        Returns
        -------
        SoftBlender
            Itself.

        Raises
        ------
        TypeError, ValueError
            If a parameter or an argument is not as described; a score is infinite, or a model has none at all; there is
            one row; weights differ within a query; or the metric is undefined for every query, as without a relevant
            document.

        Warns
        -----
        UserWarning
            If neither ``group`` nor ``qid`` is given, one query alone counts, or models are constant, copies or
            reversed copies.
        """
        fitted = copy(self)  # a fit that fails leaves the blender as it was
        fitted._fit(S, y, group, qid, sample_weight, query_weight)
        self.__dict__ = fitted.__dict__
        return self

    def _fit(self, S: Any, y: Any, group: Any, qid: Any, sample_weight: Any, query_weight: Any) -> None:
        settings = check_settings(self)
        matrix, names = self._matrix(FIT, S, reset=True)
        labels = read_labels(FIT, y, matrix.shape[0])
        queries = read_queries(FIT, matrix.shape[0], group, qid)
        queries, weights = weigh(FIT, queries, sample_weight, query_weight)
        task = prepare_task(self, settings, matrix, names, labels, queries, weights)
        with bar(settings.progress, "blending") as tell:
            found = settings.method(task.problem, settings.rng, tell, **settings.method_params)
        self._scale, self._named, self._task = task.scale, queries.named, task
        self._interval: FloatArray | None = None
        draws = deepcopy(settings.rng)  # the user may draw from theirs before the interval is asked for
        self._interval_draws = (settings.n_boot if self.method == SOFT else 0, draws, settings.progress)
        self.weights_ = task.spread_out(found.weights)
        self.path_ = tuple(replace(stage, weights=task.spread_out(stage.weights)) for stage in found.path)
        self.sigma_ = found.path[-1].sigma
        self.mix_ = {metric.name: weight for metric, weight in task.problem.mix}
        self.n_evaluations_ = found.evaluations

    def predict(self, S: Any, *, group: Any = None, qid: Any = None) -> FloatArray:
        """Blended scores of shape (n_docs,), higher ranks first; they compare within a query only.

        Parameters
        ----------
        S : (n_docs, n_models)
            As in :meth:`fit`.
        group, qid : optional
            The queries; needed if fit had them, since scores are normalised within a query.

        Raises
        ------
        ValueError
            If the blender is not fitted, queries are missing, or S has other columns than in fit or infinite scores.
        """
        return blended(self._normalized("SoftBlender.predict", S, group, qid), self.weights_)

    def normalize_scores(self, S: Any, *, group: Any = None, qid: Any = None) -> FloatArray:
        """What ``weights_`` apply to: scores on one scale, higher is better, none missing; as S, (n_docs, n_models)."""
        return self._normalized("SoftBlender.normalize_scores", S, group, qid)

    def score(
        self,
        S: Any,
        y: Any,
        *,
        group: Any = None,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> float:
        """The hard metric of the blend, in the mean over queries; arguments and errors as in :meth:`fit`.

        Tied scores and queries on which the metric is undefined count as the options of ``metric`` say.
        """
        caller = "SoftBlender.score"
        check_is_fitted(self)
        matrix, _ = self._matrix(caller, S, reset=False)
        labels = read_labels(caller, y, matrix.shape[0])
        queries = self._queries(caller, matrix.shape[0], group, qid)
        queries, weights = weigh(caller, queries, sample_weight, query_weight)
        blend = blended(self._scale.apply(caller, matrix, queries), self.weights_)
        hard = as_metric(caller, self.metric, {})
        together = queries.bring_together(labels)
        return mean_of(hard, caller, together, blend, group=queries.groups, query_weight=weights)

    @property
    def weights_interval_(self) -> FloatArray:
        """The intervals, (n_models, 2)."""
        check_is_fitted(self)
        if self._interval is None:
            self._interval = self._bootstrap()
        return self._interval

    def __dir__(self) -> list[str]:
        """Without intervals that nobody has asked for: notebooks and debuggers ask for all that is listed.

        So does scikit-learn's own, to leave out what is not there.
        """
        waiting = self.__dict__.get("_interval") is None
        return [name for name in object.__dir__(self) if not (waiting and name == "weights_interval_")]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        if "_task" in state:  # the training data: a pickle is to predict with
            state["_task"] = None
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags

    def _bootstrap(self) -> FloatArray:
        n_boot, rng, shown = self._interval_draws
        task: Task | None = self._task
        if task is None or n_boot == 0:
            why = (
                "the blender was pickled or copied before it was computed"
                if task is None
                else "it needs method='soft' and n_boot"
            )
            raise AttributeError(f"SoftBlender has no weights_interval_: {why}")
        if not several_count(task.problem.prepared, task.problem.query_weight):
            return np.full((task.n_models, 2), np.nan)
        with bar(shown, "resampling queries") as tell:
            # of a copy: several threads may come here at once, or one again after an interruption
            found = bootstrap_weights(task.problem, task.gather(self.weights_), n_boot, deepcopy(rng), tell)
        ends: FloatArray = central(np.array([task.spread_out(weights) for weights in found]), LEVEL, "weibull").T
        return ends

    def _matrix(self, caller: str, S: Any, *, reset: bool) -> tuple[FloatArray, list[str]]:
        """Scores of shape (n_docs, n_models), with names for messages."""
        refuse_lazy(caller, "S", S)
        refuse_same_names(caller, "S", S)
        if self.models is not None:
            refuse_masked(caller, "S", S)  # boosters would read what lies under the mask
            validate_data(self, S, reset=reset, skip_check_array=True)
            scores = model_scores(caller, self.models, S)
            return scores, names_of_models(self.models)
        refuse_texts(caller, "S", S)
        given = as_checkable(caller, "S", S)
        least = 2 if reset else 1  # one document alone has nothing to be ranked against
        with naming(caller, "S", SHAPE):
            matrix: FloatArray = validate_data(
                self, given, reset=reset, dtype=np.float64, order="C", ensure_all_finite=False, ensure_min_samples=least
            )
        names = column_names(S, matrix.shape[1])
        refuse_infinite_scores(caller, matrix, names)
        return matrix, names

    def _queries(self, caller: str, n_docs: int, group: Any, qid: Any) -> Queries:
        queries = read_queries(caller, n_docs, group, qid)
        if self._named and not queries.named:
            raise ValueError(
                f"{caller}: qid (or group) must be given, as it was to fit: scores are normalised within a query. A "
                "cross-validation that scores hands it on after set_predict_request(qid=True) or "
                "set_score_request(qid=True), cross_val_predict never does"
            )
        return queries

    def _normalized(self, caller: str, S: Any, group: Any, qid: Any) -> FloatArray:
        check_is_fitted(self)
        matrix, _ = self._matrix(caller, S, reset=False)
        queries = self._queries(caller, matrix.shape[0], group, qid)
        scores = self._scale.apply(caller, matrix, queries)
        if queries.order is None:
            return scores
        rows = np.empty(scores.shape, order="F")  # as scores are: the other one adds up to other last digits
        rows[queries.order] = scores
        return rows
