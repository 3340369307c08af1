"""Hard ranking metrics: frozen values whose repr is their identity."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import FloatArray, Numbers, Whole, changed, finite_vector, set_fields, short
from ..choices import DiscountName, Empty, GainName, Normalizer, ProbabilityName, Ties
from ..kernels.hard import EXPECTED, TIES, hard_queries
from ..kernels.pairwise import hard_pairs
from ..kernels.shares import Ranges
from ..kernels.threads import on_every_thread
from ..query_groups import QueryGroups, query_weights, resolve_groups
from .costs import hard_costs
from .divisors import tie_correction
from .foreign import refuse_data_of_booster, refuse_xgboosts_estimators
from .prepared import PreparedQueries, prepare
from .registry import REGISTRY
from .spec import (
    Cutoff,
    MetricOptions,
    Table,
    Unpack,
    check_cutoff,
    check_name,
    check_options,
    parse_call,
    parse_spec,
    refuse_cutoff,
)


@dataclass(frozen=True, init=False, repr=False)
class Metric:
    r"""A ranking metric, averaged over queries.

    ===========  =======================================================  ===========================
    name         value of a query                                         options
    ===========  =======================================================  ===========================
    dcg          sum of gain / log2(1 + rank)                             gain, discount
    ndcg         dcg / dcg of the best order                              gain, discount
    cg           sum of gain                                              gain
    precision    relevant documents / k (whole list: / n)                 relevant_from
    recall       relevant documents / all relevant ones                   relevant_from
    f1           2 x relevant documents / (k + all relevant ones)         relevant_from
    rbp          (1 - p) sum of p^(rank - 1) over relevant ones           relevant_from, p
    mrr          1 / rank of the first relevant document                  relevant_from
    err          sum of P / rank x prod (1 - P) above                     p_rel, max_label
    pfound       sum of P (1 - p_break)^(rank - 1) x prod (1 - P) above   p_rel, p_break
    map          mean over relevant ones of the precision at their rank   relevant_from, normalizer
    bpref        mean over relevant ones of 1 - min(irrelevant above, R)  relevant_from
                 / min(R, N)
    auc          share of (relevant, irrelevant) pairs in order           relevant_from, pooled
    pnr          pairs in order / pairs in the wrong order                pooled
    kendall      (C - D) / sqrt(n0 (n0 - pairs of equal label)), tau-b
    spearman     correlation of the ranks of labels and scores
    ===========  =======================================================  ===========================

    All but the last four are over the first k ranks (``"ndcg@10"``) or the whole list (``"ndcg"``); ranks behind
    the cutoff earn nothing, and precision, f1 and map's ``normalizer="k"`` divide by k even if the list is shorter.
    pnr, kendall and spearman compare pairs of documents of different label, whatever the labels' distances. R and N
    count the query's relevant and its judged irrelevant documents, C and D its pairs in order and in the wrong order,
    n0 all its pairs.

    dcg and cg are in units of the gain, and without bound; pnr goes from 0 to infinity; kendall and spearman are in
    [-1, 1]. All others are in [0, 1], ndcg if no discount is below 0. The mean over queries is sum w V / sum w, w the
    weights of the queries that count.

    Sources: Järvelin and Kekäläinen 2002 (cg, dcg, ndcg); van Rijsbergen 1979 (precision, recall, f1); Moffat and
    Zobel 2008 (rbp); Kantor and Voorhees 2000 (mrr); Chapelle et al. 2009 (err); Gulin et al. 2009 (pfound);
    Buckley and Voorhees 2000 (map) and 2004 (bpref, as trec_eval); Hanley and McNeil 1982 (auc); Kendall 1938,
    1945 (pnr, kendall); Spearman 1904.

    The first value named for an option is its default, except for pfound's ``p_rel``; ``pooled`` is False.

    Parameters
    ----------
    spec : str
        ``name@k`` or ``name``.
    k : int or (n_queries,) ints, optional
        The cutoff in place of ``@k``; one for each query if an array.
    name : str, optional
        What the metric is called in a booster's log; no spaces, no colon.
    gain : "exp2", "linear", table or callable
        Gain of a label: 2^label - 1, the label, ``table[label]`` (a sequence, or a mapping from all labels from 0
        on), or a function of the array of labels. The gains of a query, times the largest discount, may add up to
        1e300; those of ndcg that are not 0 to 1e-300 at least.
    discount : "log2", "reciprocal", table or callable
        Weight of a rank: 1/log2(1 + rank), 1/rank, ``table[rank - 1]`` (or a mapping from all ranks from 1 on), or a
        function of the array of ranks.
    relevant_from : float
        The least label that counts as relevant in binary metrics: graded labels are cut there, at 1 by default. Where
        it is a fraction, labels that single precision, in which boosters keep them, puts below it still count.
    p : float
        Persistence of rbp, in (0, 1); .8 by default.
    p_rel : "exp2", "label", table or callable
        Probability that a document satisfies: (2^label - 1) / 2^max_label (err's default), the label itself
        (pfound's), ``table[label]`` as for ``gain``, or a function of the array of labels. Outside [0, 1] it raises.
    max_label : float
        The largest grade that err's formula expects, from 0 to 1000; 4 by default.
    p_break : float
        Probability that the reader of pfound gives up after a document, in [0, 1]; .15 by default.
    normalizer : "relevant", "min", "retrieved" or "k"
        What divides map@k, in this order: the query's relevant documents (trec_eval), these but at most k, those in the
        first k, or k.
    pooled : bool
        One value for the documents of all queries together, in place of a mean over queries; query weights then
        weigh documents, and pairs by their product.
    ties : "expected", "order", "worst" or "corrected"
        Documents of equal score: the mean over their orders (scikit-learn), the order of the data (LightGBM), the
        one of least gain first (CatBoost), or, for kendall and spearman, shared ranks and a divisor that is smaller for
        them (SciPy). Of pnr, whose mean may be infinite, "expected" is the ratio of the mean counts.
    empty : "zero", "one" or "skip"
        The value of a query on which the metric is undefined: 0 (scikit-learn, trec_eval), 1 (LightGBM, XGBoost), or
        left out of the mean (NaN per query). Undefined are queries without documents; those without a relevant one
        (no gain, no probability above 0); auc of one class; pnr, kendall and spearman of equal labels.

    Raises
    ------
    TypeError, ValueError
        If the metric is not known, or an option is not one of its own or not as described.
    ValueError
        When called: if labels or scores are not finite, one per document; groups do not add up; query weights are
        negative or all 0; or a label does not suit (a gain below 0 in ndcg, a probability outside [0, 1], a place
        outside a table).

    Warns
    -----
    UserWarning
        When called with neither ``group`` nor ``qid``: all documents are then one query.

    Notes
    -----
    pnr of a query without a wrong pair is infinite, and so is then the mean; ``pooled=True`` divides all pairs in
    order by all others. kendall and spearman are 0 where all scores are equal, unless ``ties`` puts these in an order.
    bpref ignores documents of a label below 0 (not judged), and gives 1 for a relevant document with no judged
    irrelevant one above it.

    A query of one document has the value of the formula (ndcg, mrr, recall and map 1 if it is relevant, precision@10
    .1), but auc, pnr, kendall and spearman are undefined on it. A label below 0 is irrelevant in binary metrics, unless
    ``relevant_from`` is lower still; dcg and cg count its gain (-1/2 for -1) where another is above 0; ndcg, err and
    pfound refuse it, as ``gain`` and ``p_rel`` are by default; pnr, kendall and spearman see the labels' order only.

    Relevant documents that a run lacks belong into the data, with scores below all others. They earn nothing there, as
    in trec_eval and ranx, if ``k`` is no more than the documents that the query's run has; ndcg's best order is then
    that of the first k, too, where theirs is of all.

    ``scoring=`` of scikit-learn's tools takes a scorer, which :func:`boostsoft.make_ranking_scorer` makes of a metric.

    Examples
    --------
    >>> from boostsoft import Metric
    >>> ndcg = Metric("ndcg@3")
    >>> round(ndcg([2, 0, 1], [0.1, 0.7, 0.3], group=[3]), 6)
    0.586883
    >>> ndcg
    Metric('ndcg@3', gain='exp2', discount='log2', ties='expected', empty='zero')
    """

    metric: str
    k: Cutoff
    gain: GainName | Table
    discount: DiscountName | Table
    relevant_from: float
    p: float
    p_rel: ProbabilityName | Table
    max_label: float
    p_break: float
    normalizer: Normalizer
    pooled: bool
    ties: Ties
    empty: Empty
    custom_name: str | None

    def __init__(
        self, spec: str, *, k: Whole | Numbers | None = None, name: str | None = None, **options: Unpack[MetricOptions]
    ) -> None:
        set_fields(self, _checked("Metric", spec, {"k": k, "name": name, **options}))

    @classmethod
    def parse(cls, text: str) -> Metric:
        """Read a metric back from its repr, unless an option is a function."""
        metric = parse_call("Metric.parse", text, {"Metric": Metric})
        assert isinstance(metric, Metric)
        return metric

    @property
    def spec(self) -> str:
        """``name@k``, or ``name`` alone for the whole list or one cutoff per query."""
        return f"{self.metric}@{self.k}" if isinstance(self.k, int) else self.metric

    @property
    def options(self) -> dict[str, Any]:
        """The options that mean something to this metric, with their values."""
        options = {name: getattr(self, name) for name in REGISTRY[self.metric].options}
        if isinstance(self.k, tuple):
            options["k"] = self.k
        return options

    @property
    def name(self) -> str:
        """What the metric is called in a log: ``ndcg@10``, ``auc_pooled``."""
        return self.custom_name or self.label("")

    def label(self, kind: str) -> str:
        """The name with a word on what is done with it behind the metric: ``ndcg_gaussian@10``."""
        cutoff = f"@{self.k}" if isinstance(self.k, int) else ""
        return "_".join(filter(None, [self.metric, "pooled" if self.pooled else "", kind])) + cutoff

    @property
    def higher_is_better(self) -> bool:
        """Every metric here is to be maximised."""
        return True

    @property
    def hard(self) -> Metric:
        """The metric itself: the counterpart of :attr:`SoftMetric.hard`."""
        return self

    @property
    def __name__(self) -> str:
        """The name, for those who ask functions for theirs, as ``sklearn.metrics.make_scorer`` does."""
        return self.name

    def __repr__(self) -> str:
        options = self.options
        if self.custom_name is not None:
            options["name"] = self.custom_name
        return f"Metric({self.spec!r}, {', '.join(f'{name}={_text(value)}' for name, value in options.items())})"

    def __call__(
        self, y_true: Any, y_score: Any, *, group: Any = None, qid: Any = None, query_weight: Any = None
    ) -> float:
        """Mean over queries; NaN if none counts (``empty="skip"``).

        Parameters
        ----------
        y_true, y_score : (n_docs,)
            Labels, and scores (higher ranks first); documents of a query are adjacent.
        group : (n_queries,) or QueryGroups, optional
            Documents of each query.
        qid : (n_docs,), optional
            Query of each document, in place of ``group``.
        query_weight : (n_queries,), optional
            Weight of each query in the mean.
        """
        labels, groups, scores, weights = check_call("Metric", y_true, y_score, group, qid, query_weight)
        return _mean(self, "Metric", labels, groups, scores, weights)

    def per_query(
        self, y_true: Any, y_score: Any, *, group: Any = None, qid: Any = None, query_weight: Any = None
    ) -> FloatArray:
        """Value of each query, shape (n_queries,); NaN where ``empty="skip"`` leaves one out.

        Arguments are as when called; ``query_weight`` is checked and changes nothing: the values are those before they
        are weighed, and soft metrics take it too, for the spread. ``pooled=True`` raises ValueError.
        """
        labels, groups, scores, weights = check_call("Metric.per_query", y_true, y_score, group, qid, query_weight)
        self.refuse_pooled("Metric.per_query")
        return self.evaluate(prepare(self, "Metric.per_query", labels, groups), scores, weights)

    def refuse_pooled(self, caller: str) -> None:
        """Raise if the metric has no value per query."""
        if self.pooled:
            raise ValueError(
                f"{caller}: pooled=True gives one value for all queries together, none per query; got {short(self)}"
            )

    def evaluate(self, prepared: PreparedQueries, scores: FloatArray, weights: FloatArray) -> FloatArray:
        """Values of the queries on checked scores: what the methods above and the boosters' adapters call."""
        queries = prepared.weigh(weights)
        offsets, raw = queries.groups.offsets, np.zeros(queries.groups.n_queries)
        ties = TIES.get(self.ties, EXPECTED)

        def run(ranges: Ranges) -> None:
            if queries.pairwise:
                hard_pairs(queries.family, scores, queries.gains, queries.weights, offsets, ties, ranges, raw)
            else:
                hard_queries(
                    queries.family, scores, queries.gains, offsets, queries.cutoffs, queries.discount, ties, ranges, raw
                )

        on_every_thread(run, queries.work(hard_costs))
        if self.ties != "corrected":
            return queries.finish(raw)
        return queries.finish(raw, tie_correction(REGISTRY[self.metric].divisor, scores, queries.groups))


def read_metric(caller: str, spec: str, options: Mapping[str, Any]) -> Metric:
    """The metric of a spec and options that were given to ``caller``, whom errors name."""
    metric = Metric.__new__(Metric)
    set_fields(metric, _checked(caller, spec, options))
    return metric


def mean_of(metric: Metric, caller: str, y_true: Any, y_score: Any, *, group: QueryGroups, query_weight: Any) -> float:
    """What a metric returns when it is called, on behalf of ``caller``, whom errors name."""
    labels, groups, scores, weights = check_call(caller, y_true, y_score, group, None, query_weight)
    return _mean(metric, caller, labels, groups, scores, weights)


def _mean(
    metric: Metric, caller: str, labels: FloatArray, groups: QueryGroups, scores: FloatArray, weights: FloatArray
) -> float:
    prepared = prepare(metric, caller, labels, groups)
    return prepared.mean(metric.evaluate(prepared, scores, weights), weights)


def _checked(caller: str, spec: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a metric, from its spec and options, the cutoff and the name among them."""
    metric, cutoff = parse_spec(caller, spec)
    own = dict(options)
    k, name = own.pop("k", None), own.pop("name", None)
    if cutoff is not None and k is not None:
        raise ValueError(f"{caller}: give the cutoff as {spec!r} or as k={short(k)}, not both")
    if k is not None:
        refuse_cutoff(caller, metric, f"k={short(k)}")
    checked = check_options(caller, metric, own)
    return checked | {
        "metric": metric,
        "k": check_cutoff(caller, k) if cutoff is None else cutoff,
        "custom_name": check_name(caller, name),
    }


def alike(one: Metric, other: Metric) -> bool:
    """Whether two metrics have the same values, whatever they are called."""
    return changed(one, custom_name=None) == changed(other, custom_name=None)


def twin_in(metrics: Sequence[Any], metric: Any) -> int | None:
    """The place of the hard metric whose expectation a soft one is, by whatever name; of a hard one its own place."""
    places = [at for at, other in enumerate(metrics) if isinstance(other, Metric) and alike(other, metric.hard)]
    return next((at for at in places if metrics[at] == metric.hard), places[0] if places else None)


def apart_from(metric: Metric, names: Collection[str]) -> Metric:
    """The metric, under a name that is none of these."""
    name = metric.name
    while name in names:
        name += "_hard"
    return metric if name == metric.name else changed(metric, custom_name=name)


def check_call(
    caller: str, y_true: Any, y_score: Any, group: Any, qid: Any, query_weight: Any
) -> tuple[FloatArray, QueryGroups, FloatArray, FloatArray]:
    """The arguments of every call, checked: labels, groups, scores and query weights."""
    if hasattr(y_score, "get_label"):  # a Dataset, a DMatrix
        refuse_data_of_booster(caller, type(y_score))
    if group is None and qid is None:
        refuse_xgboosts_estimators(caller, sys._getframe(1).f_back)
    labels = finite_vector(caller, "y_true", y_true)
    scores = finite_vector(caller, "y_score", y_score, labels.size)
    groups = resolve_groups(caller, labels.size, group, qid)
    return labels, groups, scores, query_weights(caller, query_weight, groups)


def refuse_cutoffs_per_query(caller: str, metric: Metric) -> None:
    """Raise if a metric's cutoffs belong to the queries of one data set."""
    if isinstance(metric.k, tuple):
        raise ValueError(
            f"{caller}: a metric must have one cutoff for all queries, since training, validation and test each have "
            f"queries of their own; got {short(metric)}"
        )


def _text(value: Any) -> str:
    """The repr; of a function its name, which cannot be parsed back."""
    name = getattr(value, "__qualname__", getattr(value, "__name__", None))  # NumPy 1's functions have the latter
    return repr(value) if name is None else f"{getattr(value, '__module__', type(value).__module__)}.{name}"
