"""How the documents of a metric act on one another: one number per family, read by every kernel.

Ranked families sum over ranks, sum of coefficient x D(rank) x something about the documents above:

- ``PLAIN`` (DCG, precision, recall, F1, RBP): nothing;
- ``ABSORBING`` (MRR, ERR, PFound): the product of 1 - coefficient over the documents above;
- ``MARKED`` (average precision): the number of relevant documents down to this one;
- ``RETRIEVED``: the same, divided by the number of relevant documents within the cutoff;
- ``JUDGED`` (bpref): 1 - min(irrelevant above, R) / min(R, N).

Pairwise families sum over pairs of documents, minus the weight of those in the wrong order:

- ``PAIRS`` (AUC, PNR, Kendall): every pair of different labels weighs 1;
- ``DISTANCES`` (Spearman): it weighs the difference of the coefficients.
"""

from __future__ import annotations

PLAIN, ABSORBING, MARKED, RETRIEVED, JUDGED, PAIRS, DISTANCES = range(7)
PAIRWISE = (PAIRS, DISTANCES)
# the families whose expectation under noise has an exact form
EXPECTED_FAMILIES = (PLAIN, ABSORBING, MARKED, PAIRS, DISTANCES)
