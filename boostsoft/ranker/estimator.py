"""SoftRanker: boosting on a soft ranking metric as a scikit-learn estimator.

Settings are checked, columns encoded and queries brought together here; a booster's module grows the trees.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..arguments import FloatArray, RandomState, whole_number
from ..choices import Auto, BoosterName, Hessian, Noise, Progress
from ..kernels.threads import at_most
from ..labels import read_labels
from ..metrics.hard import Metric, mean_of
from ..metrics.soft import AnyMetric, MetricWeights, as_metric
from ..queries import weigh
from ..query_groups import warn_of_one_query
from .beginning import beginning
from .callbacks import read_callbacks
from .evaluation import check_watched, evaluation_pairs, evaluation_sets, hold_out, warn_of_blind_stopping
from .features import Encoder, checked_columns, find_column
from .fitted import TREES, encoded
from .foreign import IN_FIT, IN_PARAMETERS, IN_PREDICT, as_parameter, telling
from .growing import Curves, grow
from .rows import find_queries, read_rows
from .settings import FIT, Settings, check_settings, check_threads, known
from .train_arguments import train_arguments
from .training import Trees, shares_of
from .trial import settings_by_trial


class SoftRanker(BaseEstimator):  # type: ignore[misc]
    """Rank with LightGBM or XGBoost trained on a soft ranking metric.

    The parameters mean the same to both boosters, but for what ``min_child_samples`` and ``random_trees`` say of
    XGBoost, and are LightGBM's by default; what has no parameter here goes into ``booster_params``. All are checked in
    :meth:`fit`.

    Parameters
    ----------
    booster : "lightgbm" or "xgboost"
        What grows the trees.
    metric : str or Metric
        What to train on and what :meth:`score` measures: any metric with an exact expectation.
    mix : "auto", mapping or None
        What else to train on (:class:`boostsoft.objectives.SoftObjective`): "auto" is ``{"kendall": 0.3}``, the order
        of the whole list, or nothing if the metric is about it already, or if by its own ``gain`` or ``p_rel`` a
        higher label is worth less (of a table any, of a function one of those to train on); None is the metric alone.
    losses : "auto", mapping or None
        Convex losses to train on beside the metrics (:class:`boostsoft.objectives.SoftObjective`), by their weights;
        "auto" is ``{"xendcg": 0.5, "ranknet": 0.5}`` for NDCG with ``gain="exp2"`` or a table of 2^label - 1, from
        20,000 documents to train on, or where trees are not random (notebooks/08_objectives.ipynb); ``{"xendcg": 0.5,
        "softmax": 1.0, "ranknet": 1.0}`` there if under one of 50 documents is relevant, above its query's least label.
        Ranknet is left out if a query has over 5,000 documents. Otherwise "auto" is no loss.
    noise : "gumbel", "gaussian" or "logistic"
        Law of the noise that the objective is an expectation under.
    sigma : float
        Its scale, above 0, in units of the scores. Scores come out in units of it, and nothing else changes.
    hessian : "flow", "exact" or "constant"
        The curvature by which a leaf's gradient is divided (:class:`boostsoft.objectives.SoftObjective`).
    n_estimators : int
        Number of trees, at most, of a booster. On 50,000 documents and more 100 are few: say 800 with
        ``early_stopping_rounds=50`` (notebooks/11_signal.ipynb).
    learning_rate : float or "auto"
        Shrinkage of each tree. "auto" is .1; from 50,000 documents with 5,000 relevant ones on, where trees are not
        random and 100 at .1 underfit, it is .14 up to 100,000 documents, .2 from 200,000 to a million, .3 from
        2,250,000 on, and in between proportional to the square root of their number; with more than 100 trees
        proportionally less, but .1 at least (notebooks/11_signal.ipynb). On less data it is .3 for 40 to 100 trees, and
        proportionally less for more, if a trial shows that .1 is too low (there is none with ``init_model``): 40 trees
        at .45 are trained on half of the queries (of how many: see ``random_trees``), and on the others all of them
        gain over 2 % more than the first 13, by more than three standard errors. It ends with 20 trees where these do
        not, by two standard errors, over the first 6.
    num_leaves, max_depth : int
        Leaves of a tree, which grows at the leaf that gains most, and its depth; -1 does not limit it.
    min_child_samples : int
        Least number of documents in a leaf. XGBoost does not count them: there a leaf must have as much curvature as
        that many documents have on average before the first tree (``min_child_weight``).
    reg_lambda : float
        L2, added to a leaf's curvature, in documents: as much curvature as that many have on average before the first
        tree, whatever the booster, the metric and the length of the lists. A leaf of n documents goes about
        n / (n + reg_lambda) of its way: 40 steadies small leaves and leaves large ones alone
        (notebooks/08_objectives.ipynb).
    colsample, subsample : float
        Share of the features and of the rows, whatever their queries, that a tree sees.
    random_trees : bool or "auto"
        Whether splits are chosen among random ones, which steadies a sum of trees: LightGBM then tries one threshold
        per feature (``extra_trees``); XGBoost, which cannot, gives a tree 7/10 of the rows that ``subsample`` leaves
        and a node half of the features, and so does LightGBM in boosters on the labels (``n_boosters``): random
        thresholds hardly separate features with few distinct values, counts and codes (make codes categorical columns).
        On small data random trees were worth as much as the choice of the objective (notebooks/08_objectives.ipynb).
        "auto" is True below 50,000 documents to train on, or with fewer than 5,000 relevant ones, above the least label
        of their query, unless a trial speaks against it: 10 random trees and 10 of the booster's own are trained on
        half of the queries, and on the others the random ones gain less than .95 of what its own gain, by more than
        three standard errors; or so do 40 of each at .45, if the training is to have as many and 20 of its own gain
        over 2 % more than the first 6, by two standard errors. Random trees that are its own, as on features of two
        values, are left. It takes four queries and 20 lists, of which one of n documents makes n // 50, or one; fewer
        than 100 queries judge by such parts of theirs, drawn at random (notebooks/11_signal.ipynb).
    n_boosters : int or "auto"
        Boosters whose scores are averaged, each of ``n_estimators`` trees and trained by itself from zero: the first on
        ``metric``, the second on the labels (query-RMSE) with a quarter of the leaves, the third on ``metric`` with a
        quarter of the leaves, the fourth on the labels with all, and so on. From 20,000 documents to train on, where
        trees are random, one on ``metric`` whose trees are not comes second, before these; where "auto" makes them the
        booster's own, one on ``metric`` whose trees see 7/10 of the rows and nodes half of the features. All stand in
        one booster, one after another. "auto" is 4 below 20,000 documents, where that was worth .009 (LightGBM) and
        .012 (XGBoost) of NDCG@10 in the mean of eight sets (notebooks/10_boosters.ipynb); 2 from there on where trees
        are random, since random trees learn too slowly where labels have little noise, and below a million where "auto"
        makes them the booster's own (notebooks/11_signal.ipynb); otherwise, or with ``init_model``, 1. To follow or cut
        the trees one by one say 1: those of the second booster do not go on where the first one's end.
    booster_params : dict, optional
        Further parameters of the booster; those that the ranker has or sets itself raise, under any alias, and so do
        those that LightGBM does not know, or reads elsewhere only: for its own objectives, with files, on its command
        line, on several machines or where it predicts. XGBoost warns of what it does not know. Features are counted
        without the ``qid_column``. LightGBM's ``goss`` begins after 1 / rate trees of each booster, and with n boosters
        each has an n-th of the rate; forced splits need one leaf more than there are splits, which smaller boosters
        then get. Its ``feature_pre_filter`` is on by default where X is sparse and most of 1,000 columns or more have
        values in fewer documents than ``min_child_samples``: without them, words say, training took a fifth of the
        time, and ranked as well.
    eval_metric : str, Metric, SoftMetric or a list of them, optional
        What is evaluated after every tree. The first of them is watched. By default ``metric`` under the same noise of
        a fifth of the scores' spread is evaluated and, where ``mix`` has it, Kendall's tau under that noise, and their
        sum is watched: the order of the whole list steadies the choice of trees, as it does the training.
    early_stopping_rounds : int, optional
        Stop after this many trees without a better value of what is watched on the last evaluation set; the trees up to
        the best value are kept. Of several boosters each is watched and stopped by itself.
    validation_fraction : float, optional
        Share of the queries, drawn at random, to evaluate on in place of ``eval_set``.
    qid_column : str or int, optional
        Column of X that holds the query ids and is no feature. In an array, which is read as floats, ids must be below
        2^53 (float32: 2^24), in a frame anything. Tools that choose or shuffle columns (RFE, SelectFromModel,
        permutation_importance, a Bagging with ``max_features``) do so with it too: hand them ``qid`` instead.
    n_jobs : int, optional
        Threads of the booster, counted as joblib does; None leaves it to the booster. Objective and metrics run on
        Numba's (``NUMBA_NUM_THREADS``), and on no more than these.
    progress : "auto", True or False
        Whether :meth:`fit` shows how far it is, and the first metric evaluated: "auto" where stderr is a terminal, True
        in notebooks and logs too.
    random_state : int, RandomState or Generator, optional
        Seed of the booster and of the validation queries; None is 0.

    Attributes
    ----------
    booster_ : lightgbm.Booster or xgboost.Booster
        The trees, which serve without boostsoft. LightGBM's read a pandas frame by the names of its categories (where
        these are texts and numbers), XGBoost's by the codes that the frame has: give a frame the categories of fit's
        first, in their order, ``frame.astype(object).astype(X.dtypes)``.
    best_iteration_ : int
        Number of trees in it, those of ``init_model`` included: boosting rounds, where XGBoost's
        ``num_parallel_tree`` grows several trees in each.
    n_boosters_ : int
        How many boosters were trained.
    random_trees_ : bool
        Whether trees were random: of several boosters, those of the first.
    learning_rate_ : float
        How far each tree went, of several boosters before their scores are averaged, unless a callback changed that.
    losses_ : dict
        The convex losses that were trained on, by their weights.
    reg_lambda_ : float
        What was added to a leaf's curvature, of the first booster, in LightGBM's units; XGBoost got 16 times it, as its
        curvature is, and with ``sigma`` below .03 more, (.03 / sigma)^2 times that, since it takes no split of a gain
        below 1e-6.
    n_iter_ : int
        Number of trees, or rounds, grown; more than are kept if training was stopped.
    best_score_ : float or None
        The first metric evaluated, with the trees kept; None without an evaluation set.
    evals_result_ : dict
        Evaluation set (``"valid_0"``, ...) -> metric -> one value per tree grown: of several boosters, of the one that
        the tree belongs to.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the gain of all splits.
    feature_names_in_, n_features_in_
        The columns of X in fit; of names, if all are text.

    Raises
    ------
    TypeError, ValueError
        By :meth:`fit`, not before: if a parameter is not as described.

    Notes
    -----
    X is an array, a SciPy sparse matrix, or a DataFrame of pandas or polars. Missing values (NaN, null, NA) are the
    boosters' to place. Columns of categories, ordered ones too (which LightGBM by itself takes for numbers), are split
    by the boosters as such: they get the codes of the categories that fit saw (in pandas those of ``.cat.codes``), and
    others are missing to :meth:`predict`. XGBoost takes the zeros of a sparse X as missing; predict then does so for
    a dense one as well.

    Rows of a query need not be adjacent with ``qid``. scikit-learn hands it on where metadata routing is enabled:
    ``sklearn.set_config(enable_metadata_routing=True)`` and ``ranker.set_fit_request(qid=True)
    .set_score_request(qid=True)``; or the query ids travel in X, as ``qid_column``.

    scikit-learn's tools for regressors refuse it ("must be a fitted regressor"): a regressor's numbers compare across
    queries, and ``StackingRegressor`` would cut these (:class:`SoftBlender` weighs rankers). ``partial_dependence``
    takes a class derived from it, whose ``__sklearn_tags__`` sets ``estimator_type = "regressor"`` in what this one's
    returns; of its curve the shape counts, not the level.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import SoftRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(400, 3)), rng.integers(0, 20, 400)
    >>> y = np.digitize(X[:, 0], [0.5, 1.5])
    >>> ranker = SoftRanker(metric="ndcg@5", n_estimators=20).fit(X, y, qid=qid)
    >>> ranker.score(X, y, qid=qid) > 0.9
    True
    >>> int(ranker.feature_importances_.argmax())
    0
    """

    booster_: Any
    best_iteration_: int
    n_boosters_: int
    random_trees_: bool
    learning_rate_: float
    losses_: dict[str, float]
    reg_lambda_: float
    n_iter_: int
    best_score_: float | None
    evals_result_: Curves
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    if TYPE_CHECKING:  # scikit-learn's own stand-ins return None to type checkers

        def set_fit_request(self, **requests: bool | str | None) -> SoftRanker:
            """As scikit-learn's."""

        def set_score_request(self, **requests: bool | str | None) -> SoftRanker:
            """As scikit-learn's."""

    @telling("SoftRanker", IN_PARAMETERS, as_parameter)
    def __init__(
        self,
        booster: BoosterName = "lightgbm",
        metric: str | Metric = "ndcg@10",
        *,
        mix: MetricWeights | Auto | None = "auto",
        losses: Mapping[str, float] | Auto | None = "auto",
        noise: Noise = "gumbel",
        sigma: float = 1.0,
        hessian: Hessian = "flow",
        n_estimators: int = 100,
        learning_rate: float | Auto = "auto",
        num_leaves: int = 31,
        max_depth: int = -1,
        min_child_samples: int = 20,
        reg_lambda: float = 40.0,
        colsample: float = 1.0,
        subsample: float = 1.0,
        random_trees: bool | Auto = "auto",
        n_boosters: int | Auto = "auto",
        booster_params: dict[str, Any] | None = None,
        eval_metric: str | AnyMetric | Sequence[str | AnyMetric] | None = None,
        early_stopping_rounds: int | None = None,
        validation_fraction: float | None = None,
        qid_column: str | int | None = None,
        n_jobs: int | None = None,
        progress: Progress = "auto",
        random_state: RandomState | None = None,
    ) -> None:
        self.booster = booster
        self.metric = metric
        self.mix = mix
        self.losses = losses
        self.noise = noise
        self.sigma = sigma
        self.hessian = hessian
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.num_leaves = num_leaves
        self.max_depth = max_depth
        self.min_child_samples = min_child_samples
        self.reg_lambda = reg_lambda
        self.colsample = colsample
        self.subsample = subsample
        self.random_trees = random_trees
        self.n_boosters = n_boosters
        self.booster_params = booster_params
        self.eval_metric = eval_metric
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.qid_column = qid_column
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    @telling(FIT, IN_FIT)
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        group: Any = None,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
        eval_set: Sequence[Any] | None = None,
        eval_X: Any = None,
        eval_y: Any = None,
        eval_group: Sequence[Any] | None = None,
        eval_qid: Sequence[Any] | None = None,
        eval_sample_weight: Sequence[Any] | None = None,
        eval_query_weight: Sequence[Any] | None = None,
        init_model: Any = None,
        callbacks: Sequence[Any] | None = None,
    ) -> SoftRanker:
        """Train.

        Parameters
        ----------
        X : (n_docs, n_features)
            One row per document.
        y : (n_docs,)
            Labels.
        group : (n_queries,), optional
            Documents per query; each query's rows must be adjacent.
        qid : (n_docs,), optional
            Query id of each row, in any order; without either all rows are one query.
        sample_weight : (n_docs,), optional
            Weight of each row's query, equal within it; what counts is their ratio, for training divides them by their
            mean over the rows. Queries of weight 0 are left out. Where all rows are one query, how often each row is
            there.
        query_weight : (n_queries,), optional
            The same by query, in the order in which their rows first come; in place of ``sample_weight``.
        eval_set : list of (X, y), optional
            What to evaluate after every tree.
        eval_X, eval_y : two tuples, or what stands for one of them, optional
            The same apart, ``eval_set=list(zip(eval_X, eval_y))``, as LightGBM has it since 4.7, so that scikit-learn's
            ``Pipeline(..., transform_input=["eval_X"])`` can take them through its steps.
        eval_group, eval_qid, eval_sample_weight, eval_query_weight : lists, optional
            The queries of each of these pairs, and their weights.
        init_model : SoftRanker, booster, estimator that holds one (LGBMRanker, XGBRanker) or file, optional
            Trees to continue, those that it predicts with: of an early-stopped estimator (or LightGBM's Booster) up to
            its best iteration. ``n_estimators`` more are grown, and what is drawn for them is drawn anew.
        callbacks : list, optional
            The booster's own, of ``lgb.train`` or ``xgb.train``, such as ``lgb.log_evaluation()``, Optuna's pruning or
            a track; for ``n_boosters=1`` only. They see the metrics of ``eval_set``. Where one finds a best iteration,
            as ``lgb.early_stopping(n)`` or ``xgb.callback.EarlyStopping(rounds=n)`` do, the trees up to it are kept,
            unless ``early_stopping_rounds`` decides that; both begin anew with every fit.

        Returns
        -------
        SoftRanker
            Itself.

        Raises
        ------
        TypeError, ValueError
            If a parameter or an argument is not as described; X is infinite somewhere (for XGBoost, in float32) or of
            one row; weights differ within a query; no order of the documents is better than another; early stopping
            has nothing to watch, or ``eval_set`` no queries although training has; or ``init_model`` was fitted on
            other columns, is LightGBM's random forest, or was given to several boosters, as ``callbacks`` are.
        FileNotFoundError
            If ``init_model`` is a path to no file.
        ImportError
            If XGBoost is asked for and not installed.

        Warns
        -----
        UserWarning
            If neither ``group`` nor ``qid`` is given; if no tree has a split; if some of several boosters have none, or
            are copies of others; or if of the queries that early stopping watches fewer than five have documents whose
            order matters.
        """
        fitted = copy(self)  # a fit that fails leaves the ranker as it was
        beside = {
            "eval_group": eval_group,
            "eval_qid": eval_qid,
            "eval_sample_weight": eval_sample_weight,
            "eval_query_weight": eval_query_weight,
        }
        pairs = evaluation_pairs(eval_set, eval_X, eval_y)
        fitted._fit(X, y, (group, qid, sample_weight, query_weight), (pairs, beside), init_model, callbacks)
        self.__dict__ = fitted.__dict__
        return self

    @telling("SoftRanker.predict", IN_PREDICT)
    def predict(self, X: Any) -> FloatArray:
        """Scores of shape (n_docs,), higher ranks first; they compare within a query only.

        Parameters
        ----------
        X : (n_docs, n_features)
            As in :meth:`fit`, query ids included where fit had them in ``qid_column``.

        Raises
        ------
        ValueError
            If the ranker is not fitted, or X has other columns than in fit or infinite values.
        """
        trees, features = encoded("SoftRanker.predict", self, X)
        return trees.predict(self.booster_, features, check_threads("SoftRanker.predict", self.n_jobs))

    def staged_predict(self, X: Any, *, every: int = 1) -> Iterator[FloatArray]:
        """Scores after every so many trees; the last are those of :meth:`predict`, whose errors it raises.

        Parameters
        ----------
        X : (n_docs, n_features)
            As in :meth:`fit`.
        every : int
            Trees from one step to the next, 1 at least; the last tree is always a step.

        Yields
        ------
        ndarray of shape (n_docs,)
            The scores.
        """
        caller = "SoftRanker.staged_predict"
        trees, features = encoded(caller, self, X)
        every = whole_number(caller, "every", every, 1)
        yield from trees.staged(self.booster_, features, every, check_threads(caller, self.n_jobs))

    def score(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> float:
        """The hard metric of the scores, in the mean over queries.

        Tied scores, and queries on which the metric is undefined, count as the options of ``metric`` say: by default
        the mean over the orders of tied documents, and 0. The mean is NaN where no query counts (``empty="skip"``).

        Parameters
        ----------
        X, y, qid, group, sample_weight, query_weight
            As in :meth:`fit`; queries are needed if fit had them.

        Raises
        ------
        ValueError
            As :meth:`predict` and :meth:`fit`, or if queries are missing.
        """
        caller = "SoftRanker.score"
        check_is_fitted(self)
        # the copy that the checks may have made of X is gone before predict makes its own
        queries = find_queries(caller, self._encoder, checked_columns(caller, self, X, reset=False), group, qid)
        if self._named and not queries.named:
            raise ValueError(
                f"{caller}: qid (or group) must be given, as it was to fit; a cross-validation or a pipeline hands it "
                "on after set_score_request(qid=True), with sklearn.set_config(enable_metadata_routing=True)"
            )
        queries, weights = weigh(caller, queries, sample_weight, query_weight)
        scores = self.predict(X)
        with at_most(check_threads(caller, self.n_jobs)):
            return mean_of(
                as_metric(caller, self.metric, {}),
                caller,
                queries.bring_together(read_labels(caller, y, scores.size)),
                queries.bring_together(scores),
                group=queries.groups,
                query_weight=weights,
            )

    def train_arguments(
        self,
        y: Any,
        *,
        X: Any = None,
        group: Any = None,
        qid: Any = None,
        sample_weight: Any = None,
        query_weight: Any = None,
    ) -> dict[str, Any]:
        """What ``lgb.train`` or ``xgb.train`` is given to grow the trees of :meth:`fit`, but for the data.

        For whoever calls these, or ``lgb.cv``, ``xgb.cv`` and :func:`boostsoft.xgboost.train`, because of callbacks,
        constraints or data sets of their own: ``lgb.train(**ranker.train_arguments(y, X=X, group=sizes),
        train_set=data)`` grows the trees of ``fit`` with ``n_boosters=1``. The ranker stays as it was.

        Parameters
        ----------
        y : (n_docs,)
            Labels of the data set to train on: what "auto" stands for, and ``reg_lambda`` in the booster's own units,
            depend on them and the queries.
        X : (n_docs, n_features), optional
            Its features, as in :meth:`fit`; without them no trial is made of random trees or of the rate, as ``fit``
            makes (``random_trees``, ``learning_rate``).
        group, qid : (n_queries,) or (n_docs,)
            Its queries, one of the two; rows of a query must be adjacent.
        sample_weight, query_weight : (n_docs,) or (n_queries,), optional
            The weights that it has, one per row's query or by query. Let their mean over the rows be 1, as ``fit``
            does: the boosters' limits on the curvature of a leaf are plain numbers. And leave out queries of weight 0.

        Returns
        -------
        dict
            ``params``, ``num_boost_round``, and what to evaluate: of LightGBM ``feval``, the first metric of
            ``eval_metric`` first, for ``lgb.early_stopping(n, first_metric_only=True)``; of XGBoost ``obj``, and
            ``custom_metric`` and ``maximize``, the first metric last, which ``early_stopping_rounds`` watches. (That
            leaves out tau, which ``fit`` watches too by default.) Optuna's LightGBMTuner minimises every metric that is
            not one of LightGBM's: search with a study of ``direction="maximize"``.

        Raises
        ------
        TypeError, ValueError
            If a parameter or an argument is not as described.
        ImportError
            If XGBoost is asked for and not installed.

        Examples
        --------
        >>> import lightgbm as lgb, numpy as np
        >>> from boostsoft import SoftRanker
        >>> rng = np.random.default_rng(0)
        >>> X, y, sizes = rng.normal(size=(200, 3)), rng.integers(0, 3, 200), [20] * 10
        >>> given = SoftRanker(n_estimators=5).train_arguments(y, group=sizes)
        >>> lgb.train(**given, train_set=lgb.Dataset(X, y, group=sizes)).num_trees()
        5
        """
        settings, trees = self._checked()
        return train_arguments(self, settings, trees, X, y, group, qid, sample_weight, query_weight)

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each column of X in the gain of all splits; they add up to 1, or to 0 without a split.

        Of several boosters it is the mean of the shares in each, for they do not gain in one unit.
        """
        check_is_fitted(self)
        return self._encoder.spread_out(shares_of(TREES[self._trees].gains(self.booster_, self._ends)))

    def set_params(self, **params: Any) -> SoftRanker:
        """Set parameters; of a fitted ranker ``n_jobs`` counts from now on, everything else in the next :meth:`fit`.

        Raises
        ------
        TypeError, ValueError
            If there is no such parameter; of a fitted ranker, if ``n_jobs`` is no number of threads.
        """
        fitted = "n_jobs" in params and hasattr(self, "booster_")
        threads = check_threads("SoftRanker.set_params", params["n_jobs"]) if fitted else None
        super().set_params(**params)
        if fitted:
            TREES[self._trees].use_threads(self.booster_, threads)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags

    def _checked(self) -> tuple[Settings, Trees]:
        settings = check_settings(self)
        trees = TREES[settings.booster]
        trees.check(settings)
        return settings, trees

    def _fit(
        self, X: Any, y: Any, queries: tuple[Any, ...], validation: tuple[Any, ...], init_model: Any, callbacks: Any
    ) -> None:
        settings, trees = self._checked()
        X = checked_columns(FIT, self, X, reset=True)
        start, encoder = beginning(
            SoftRanker, X, init_model, trees, Encoder.learn(self, X, find_column(FIT, self, X, self.qid_column))
        )
        train, named = read_rows(FIT, encoder, X, y, *queries)
        if not named:
            warn_of_one_query(FIT, 4)
        sets, train = evaluation_sets(self, encoder, named, *validation), train.that_weigh()
        self._encoder, self._named, self._trees = encoder, named, settings.booster
        train, sets = hold_out(settings, train, sets)
        check_watched(settings, sets)
        warn_of_blind_stopping(settings, sets)
        train, sets = train.in_their_mean(), [rows.of_usual_size() for rows in sets]
        settings = settings_by_trial(settings, trees, train, continued=start is not None)
        callbacks = read_callbacks(settings, trees, callbacks)
        self.losses_ = dict(settings.objective.losses)
        found = grow(settings, trees, train, sets, start, callbacks)
        trees.name_categories(found.booster, encoder.categories.values())
        self.random_trees_, self.n_boosters_ = known(settings.random_trees), known(settings.n_boosters)
        self.learning_rate_ = known(settings.learning_rate)
        self.reg_lambda_ = found.reg_lambda
        self.booster_, self.best_iteration_, self.n_iter_ = found.booster, found.kept, found.grown
        self._ends = found.ends
        self.evals_result_, self.best_score_ = found.curves, found.best_value
