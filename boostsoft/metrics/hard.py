"""Hard ranking metrics: frozen values whose repr is their identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.hard import TIES, hard_queries
from ..kernels.threads import over_queries
from ..query_groups import FloatArray, QueryGroups, finite_number, finite_vector, one_of, query_weights, resolve_groups
from .prepared import PreparedQueries, prepare
from .registry import REGISTRY
from .spec import (
    DISCOUNTS,
    EMPTY,
    GAINS,
    Cutoff,
    TableOption,
    check_cutoff,
    check_name,
    check_persistence,
    check_table,
    parse_call,
    parse_spec,
)

_DEFAULTS: dict[str, Any] = {
    "gain": "exp2", "discount": "log2", "relevant_from": 1.0, "p": 0.8, "ties": "expected", "empty": "zero",
}  # fmt: skip


@dataclass(frozen=True, init=False, repr=False)
class Metric:
    r"""A ranking metric, sum_i gain_i D(rank_i) / divisor, averaged over queries.

    ===========  ==============================================  ===========================
    name         value of a query                                options
    ===========  ==============================================  ===========================
    dcg          sum of gain / log2(1 + rank)                    gain, discount
    ndcg         dcg / dcg of the best order                     gain, discount
    cg           sum of gain                                     gain
    precision    relevant documents / k (whole list: / n)        relevant_from
    recall       relevant documents / all relevant ones          relevant_from
    rbp          (1 - p) sum of p^(rank - 1) over relevant ones  relevant_from, p
    ===========  ==============================================  ===========================

    each over the first k ranks (``"ndcg@10"``) or the whole list (``"ndcg"``). Sources: Järvelin and Kekäläinen
    2002 (cg, dcg, ndcg), Moffat and Zobel 2008 (rbp).

    Parameters
    ----------
    spec : str
        ``name@k`` or ``name``.
    k : int or (n_queries,) ints, optional
        The cutoff in place of ``@k``; one for each query if an array.
    gain : "exp2", "linear", table or callable
        Gain of a label: 2^label - 1, the label, ``table[label]``, or a function of the array of labels. The gains
        of a query may add up to 1e300.
    discount : "log2", "reciprocal", table or callable
        Weight of a rank: 1/log2(1 + rank), 1/rank, ``table[rank - 1]``, or a function of the array of ranks.
    relevant_from : float
        The least label that counts as relevant in binary metrics.
    p : float
        Persistence of rbp, in (0, 1).
    ties : "expected", "order" or "worst"
        Documents of equal score: the mean over their orders (scikit-learn), the order of the data (LightGBM), or
        the least relevant first (CatBoost).
    empty : "zero", "one" or "skip"
        The value of a query without a relevant document (no gain above 0), or of one without documents: 0
        (scikit-learn, trec_eval), 1 (LightGBM, XGBoost), or left out of the mean (NaN per query).
    name : str, optional
        What the metric is called in a booster's log; no spaces, no colon.

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
    gain: TableOption
    discount: TableOption
    relevant_from: float
    p: float
    ties: str
    empty: str
    custom_name: str | None

    def __init__(self, spec: str, *, k: Any = None, name: str | None = None, **options: Any) -> None:
        caller = type(self).__name__
        metric, cutoff = parse_spec(caller, spec)
        if cutoff is not None and k is not None:
            raise ValueError(f"{caller}: give the cutoff as {spec!r} or as k={k!r}, not both")
        unknown = [option for option in options if option not in REGISTRY[metric].options]
        if unknown:
            known = ", ".join(REGISTRY[metric].options)
            raise TypeError(f"{caller}: {metric} takes the options {known}, k and name; got {unknown[0]}")
        values = {**_DEFAULTS, **options}
        checked = {
            "metric": metric,
            "k": check_cutoff(caller, k) if cutoff is None else cutoff,
            "gain": check_table(caller, "gain", values["gain"], GAINS),
            "discount": check_table(caller, "discount", values["discount"], DISCOUNTS),
            "relevant_from": finite_number(caller, "relevant_from", values["relevant_from"]),
            "p": check_persistence(caller, values["p"]),
            "ties": one_of(caller, "ties", values["ties"], TIES),
            "empty": one_of(caller, "empty", values["empty"], EMPTY),
            "custom_name": check_name(caller, name),
        }
        for field, value in checked.items():
            object.__setattr__(self, field, value)

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
        """What the metric is called in a log: ``ndcg@10``."""
        return self.custom_name or self.spec

    @property
    def higher_is_better(self) -> bool:
        """Every metric here is to be maximised."""
        return True

    @property
    def hard(self) -> Metric:
        """The metric itself: the counterpart of :attr:`SoftMetric.hard`."""
        return self

    def __repr__(self) -> str:
        options = self.options
        if self.custom_name is not None:
            options["name"] = self.custom_name
        return f"Metric({self.spec!r}, {', '.join(f'{name}={_text(value)}' for name, value in options.items())})"

    def __call__(
        self, y_true: Any, y_score: Any, *, group: Any = None, qid: Any = None, query_weight: Any = None
    ) -> float:
        """Mean over queries.

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
        groups, scores, weights = _check_call("Metric", y_true, y_score, group, qid, query_weight)
        prepared = prepare(self, "Metric", y_true, groups)
        return prepared.mean(self.evaluate(prepared, scores), weights)

    def per_query(self, y_true: Any, y_score: Any, *, group: Any = None, qid: Any = None) -> FloatArray:
        """Value of each query, shape (n_queries,); NaN where ``empty="skip"`` leaves one out."""
        groups, scores, _ = _check_call("Metric.per_query", y_true, y_score, group, qid, None)
        return self.evaluate(prepare(self, "Metric.per_query", y_true, groups), scores)

    def evaluate(self, prepared: PreparedQueries, scores: FloatArray) -> FloatArray:
        """Values of the queries on checked scores: what the methods above and the boosters' adapters call."""
        raw = np.zeros(prepared.groups.n_queries)

        def run(begin: int, end: int) -> None:
            hard_queries(
                scores, prepared.gains, prepared.groups.offsets, prepared.cutoffs, prepared.discount,
                TIES[self.ties], begin, end, raw,
            )  # fmt: skip

        over_queries(run, prepared.costs)
        return prepared.finish(raw)


def _check_call(
    caller: str, y_true: Any, y_score: Any, group: Any, qid: Any, query_weight: Any
) -> tuple[QueryGroups, FloatArray, FloatArray]:
    n = finite_vector(caller, "y_true", y_true).size
    scores = finite_vector(caller, "y_score", y_score, n)
    groups = resolve_groups(caller, n, group, qid)
    return groups, scores, query_weights(caller, query_weight, groups)


def _text(value: Any) -> str:
    """The repr; of a function its name, which cannot be parsed back."""
    return f"{value.__module__}.{value.__qualname__}" if hasattr(value, "__qualname__") else repr(value)
