"""One declarative entry per metric; what computes it reads it, and the README's tables are held against it.

A metric of this library is, for each query,

    value = offset + sum / divisor,

where the sum is over ranks or over pairs of documents, by the metric's family, of a coefficient per document and
a discount per rank. What differs between metrics is data, and it is all here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..kernels.families import (
    ABSORBING,
    DISTANCES,
    EXPECTED_FAMILIES,
    JUDGED,
    MARKED,
    PAIRS,
    PAIRWISE,
    PLAIN,
)


@dataclass(frozen=True)
class MetricEntry:
    """What a metric is made of.

    Attributes
    ----------
    gains : "graded", "binary", "probability", "judged", "levels" or "positions"
        Coefficient of a document: the ``gain`` of its label; 1 where label >= ``relevant_from``, else 0; the
        ``p_rel`` of its label; as binary, but -1 for labels below 0; 0, 1, 2, ... for the query's labels in rising
        order; or the label's average rank in its query.
    discount : "option", "none", "reciprocal", "persistence" or "patience"
        The ``discount`` option, 1 at every rank, 1 / rank, (1 - p) p^(rank - 1), or (1 - p_break)^(rank - 1).
    divisor : "none", "ideal", "relevant", "cutoff", "f1", "normalizer", "pairs", "odds", "tau" or "rho"
        1; the best value any order can reach; the number of relevant documents; k; (k + relevant) / 2; what the
        ``normalizer`` option says; the pairs of different coefficients, with offset 1; concordant over
        discordant pairs in place of a quotient; what makes it Kendall's tau-b, or Spearman's rho.
    family : int
        How documents act on one another (``kernels.families``).
    own_options : names of the options besides ``ties`` and ``empty``, in the order of the repr.
    summary, source : the formula and where it comes from.
    defaults : options whose default differs from other metrics'.
    """

    gains: str
    discount: str
    divisor: str
    family: int
    own_options: tuple[str, ...]
    summary: str
    source: str
    defaults: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def options(self) -> tuple[str, ...]:
        """Names of all options that mean something to this metric, in the order of its repr."""
        return (*self.own_options, "ties", "empty")

    @property
    def ties(self) -> tuple[str, ...]:
        """The ways to rank equal scores."""
        return ("expected", "order", "worst", *(["corrected"] if self.divisor in ("tau", "rho") else []))

    @property
    def pairwise(self) -> bool:
        """Whether it is a sum over pairs, which takes no cutoff."""
        return self.family in PAIRWISE

    @property
    def exact(self) -> bool:
        """Whether its expectation under noise has an exact form (for map: unless normalizer="retrieved")."""
        return self.family in EXPECTED_FAMILIES


_JARVELIN = "Järvelin and Kekäläinen 2002"
_RIJSBERGEN = "van Rijsbergen 1979"

REGISTRY: dict[str, MetricEntry] = {
    "dcg": MetricEntry(
        "graded", "option", "none", PLAIN, ("gain", "discount"), "sum of gain / log2(1 + rank)", _JARVELIN
    ),
    "ndcg": MetricEntry(
        "graded", "option", "ideal", PLAIN, ("gain", "discount"), "dcg / dcg of the best order", _JARVELIN
    ),
    "cg": MetricEntry("graded", "none", "none", PLAIN, ("gain",), "sum of gain over the first k", _JARVELIN),
    "precision": MetricEntry(
        "binary", "none", "cutoff", PLAIN, ("relevant_from",), "relevant among the first k / k", _RIJSBERGEN
    ),
    "recall": MetricEntry(
        "binary", "none", "relevant", PLAIN, ("relevant_from",), "relevant among the first k / all relevant",
        _RIJSBERGEN,
    ),
    "f1": MetricEntry(
        "binary", "none", "f1", PLAIN, ("relevant_from",), "2 x relevant among the first k / (k + all relevant)",
        _RIJSBERGEN,
    ),
    "rbp": MetricEntry(
        "binary", "persistence", "none", PLAIN, ("relevant_from", "p"),
        "(1 - p) sum of p^(rank - 1) over relevant", "Moffat and Zobel 2008",
    ),
    "mrr": MetricEntry(
        "binary", "reciprocal", "none", ABSORBING, ("relevant_from",), "1 / rank of the first relevant",
        "Kantor and Voorhees 2000",
    ),
    "err": MetricEntry(
        "probability", "reciprocal", "none", ABSORBING, ("p_rel", "max_label"),
        "sum of P / rank x product of (1 - P) above", "Chapelle et al. 2009",
    ),
    "pfound": MetricEntry(
        "probability", "patience", "none", ABSORBING, ("p_rel", "p_break"),
        "sum of P (1 - p_break)^(rank - 1) x product of (1 - P) above", "Gulin et al. 2009",
        {"p_rel": "label"},
    ),
    "map": MetricEntry(
        "binary", "reciprocal", "normalizer", MARKED, ("relevant_from", "normalizer"),
        "mean over relevant of the precision at their rank", "Buckley and Voorhees 2000",
    ),
    "bpref": MetricEntry(
        "judged", "none", "relevant", JUDGED, ("relevant_from",),
        "mean over relevant of 1 - min(irrelevant above, R) / min(R, N)", "Buckley and Voorhees 2004",
    ),
    "auc": MetricEntry(
        "binary", "none", "pairs", PAIRS, ("relevant_from", "pooled"),
        "share of (relevant, irrelevant) pairs in order", "Hanley and McNeil 1982",
    ),
    "pnr": MetricEntry(
        "levels", "none", "odds", PAIRS, ("pooled",), "pairs in order / pairs in the wrong order",
        "counts of Kendall 1938",
    ),
    "kendall": MetricEntry(
        "levels", "none", "tau", PAIRS, (),
        "(pairs in order - pairs not) / sqrt(n0 (n0 - pairs of equal label)), tau-b", "Kendall 1945",
    ),
    "spearman": MetricEntry(
        "positions", "none", "rho", DISTANCES, (), "correlation of the ranks of labels and scores", "Spearman 1904"
    ),
}  # fmt: skip
