"""One declarative entry per metric; the hard and the soft kernels, the docs and the tests all read it.

A metric of this library is

    value = sum_i gain_i E[D(R_i)] / divisor,

with a gain per document, a discount D per rank, zero behind the cutoff, and a divisor per query. What differs
between metrics is data, and it is all here.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..kernels.recursion import PLAIN


@dataclass(frozen=True)
class MetricEntry:
    """What a metric is made of.

    Attributes
    ----------
    gains : "graded" or "binary"
        Gain from the label by the ``gain`` option, or 1 where label >= ``relevant_from``.
    discount : "option", "none" or "persistence"
        The ``discount`` option, 1 at every rank, or (1 - p) p^(rank - 1).
    divisor : "none", "ideal", "relevant" or "cutoff"
        1, the best value any order can reach, the number of relevant documents, or k.
    family : int
        How a document that ranks higher acts on the rest (``kernels.recursion``).
    summary, source : str
        The formula and where it comes from.
    """

    gains: str
    discount: str
    divisor: str
    family: int
    summary: str
    source: str

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that mean something to this metric, in the order of its repr."""
        names = ["gain"] if self.gains == "graded" else ["relevant_from"]
        if self.discount == "option":
            names.append("discount")
        if self.discount == "persistence":
            names.append("p")
        return (*names, "ties", "empty")


REGISTRY: dict[str, MetricEntry] = {
    "dcg": MetricEntry(
        "graded", "option", "none", PLAIN, "sum of gain(label) / log2(1 + rank)", "Järvelin and Kekäläinen 2002"
    ),
    "ndcg": MetricEntry(
        "graded", "option", "ideal", PLAIN, "dcg / dcg of the best order", "Järvelin and Kekäläinen 2002"
    ),
    "cg": MetricEntry(
        "graded", "none", "none", PLAIN, "sum of gain(label) over the first k", "Järvelin and Kekäläinen 2002"
    ),
    "precision": MetricEntry(
        "binary", "none", "cutoff", PLAIN, "relevant among the first k / k", "van Rijsbergen 1979"
    ),
    "recall": MetricEntry(
        "binary", "none", "relevant", PLAIN, "relevant among the first k / all relevant", "van Rijsbergen 1979"
    ),
    "rbp": MetricEntry(
        "binary", "persistence", "none", PLAIN, "(1 - p) sum of p^(rank - 1) over relevant", "Moffat and Zobel 2008"
    ),
}
