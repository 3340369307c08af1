"""Convex losses beside the metric: where they are the default, and which."""

from __future__ import annotations

from collections.abc import Mapping

from ..metrics.hard import Metric
from ..metrics.spec import is_gain
from ..query_groups import QueryGroups

# Weights: of 1/2 and 1, the one that was on none of four sets worse than the metric alone
# (notebooks/08_objectives.ipynb)
BESIDE: Mapping[str, float] = {"xendcg": 0.5, "ranknet": 0.5}
# Documents, up to which they gain nothing on random trees: nothing on 5,000 to 12,000, .003 to .005 on 29,000 to 40,000
FEW = 20_000
# One relevant document among so many, from which on the cross-entropy whose only targets are the relevant ones stands
# beside: XE-NDCG's targets, 1/2 for a document that is not relevant and 3/2 for one that is, are nearly all the same
# there. They steady where relevant documents are hard to find and hold back where they are easy; with all three no set
# of six is far behind (notebooks/09_tables.ipynb)
RARE = 50
BESIDE_RARE: Mapping[str, float] = {"xendcg": 0.5, "softmax": 1.0, "ranknet": 1.0}
_LONGEST = 5_000  # documents of a query, beyond which RankNet's pairs take longer than the metric itself


def chosen(metric: Metric, groups: QueryGroups, n_relevant: int, random: bool) -> dict[str, float]:
    """Losses beside a metric by default: none for random trees on few documents, nor for other metrics than NDCG."""
    if (random and groups.n_docs < FEW) or metric.metric != "ndcg" or not is_gain(metric.gain, "exp2"):
        return {}
    beside = BESIDE_RARE if n_relevant * RARE < groups.n_docs else BESIDE
    if int(groups.sizes.max(initial=0)) > _LONGEST:
        return {name: weight for name, weight in beside.items() if name != "ranknet"}
    return dict(beside)
