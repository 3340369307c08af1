"""What the package must compute, written a second time: slowly, literally, from the definitions.

Nothing here comes from the package, and no algorithm is shared with it.

oracle_hard, oracle_pairs
   ``HARD``                    metrics of one given order, by loops
oracle_ties
   ``hard``                    a metric of one given order, by its name
   ``hard_expected_ties``      its mean over the orders of tied documents, by enumeration
   ``linear_form``             gains and discounts of the metrics that are linear in them
oracle_orders
   ``plackett_luce``           mean over all n! orders under Gumbel noise, by closed-form probabilities
   ``expected_orders``         mean of any metric over all n! orders under any noise, their probabilities
                               by repeated cumulative integration
   ``monte_carlo``             mean of any metric over sampled noise
oracle_integrals
   ``expected``                mean of a discount metric under any noise: one integral for each document
   ``expected_derivatives``    the same with its gradient and diagonal Hessian: one integral for each pair
oracle_chances
   ``expected_pairs``          mean of a metric of pairs, at any n, from the chances of its pairs
   ``softrank``                a discount metric by SoftRank's recursion (no expectation)
oracle_noise
   ``pair_probability``        the chance that one document is above another, in closed form
oracle_lambdarank
   ``lambdarank``              gradient and Hessian of LightGBM's lambdarank
   ``ranknet``                 gradient and Hessian of the logistic loss over all pairs
oracle_reference
   ``lambdaloss``, ``listnet``, ``cross_entropy``, ``xendcg``, ``queryrmse``    losses, to be differentiated numerically
   ``xendcg_newton``           XE-NDCG's gradient with terms of the Newton step, by matrices
   ``lightgbm_gammas``         what LightGBM's rank_xendcg draws
   ``draws``                   what our XE-NDCG draws, in whole numbers
   ``softlambda``              LambdaRank's direction and curvature with mean deltas over all n! orders

One query at a time. Labels and scores are one-dimensional and of equal length; a higher score means a
higher rank. Documents are compared by t_i = s_i + sigma * eps_i with independent eps_i. Options of a metric
(gain, discount, relevant_from, max_label, p_break, p_rel, p, normalizer) are keywords and have the package's
defaults. A query on which the metric is undefined has the value 0.

pnr of one order is concordant over discordant pairs; every mean of pnr is the ratio of the mean counts.
"""

from __future__ import annotations

from .oracle_chances import chance_by_integral, expected_pairs, pnr_of_discordant, softrank, softrank_ranks
from .oracle_hard import gain_of, ideal_dcg, probability_of
from .oracle_integrals import expected, expected_derivatives, pair_matrix
from .oracle_lambdarank import lambdarank, ranknet
from .oracle_noise import NOISES, RULES, Smooth, pair_probability, panel_integrator, quad_integrator
from .oracle_orders import (
    expected_orders,
    mean_over_orders,
    monte_carlo,
    order_derivatives,
    order_probabilities,
    plackett_luce,
)
from .oracle_pairs import average_ranks, pair_form, unequal_pairs
from .oracle_queries import KINDS, query, random_query
from .oracle_reference import (
    cross_entropy,
    draws,
    lambdaloss,
    lightgbm_gammas,
    listnet,
    queryrmse,
    softlambda,
    xendcg,
    xendcg_newton,
)
from .oracle_ties import (
    DISCOUNT_FAMILY,
    HARD,
    PAIR_FAMILY,
    hard,
    hard_expected_ties,
    hard_expected_ties_large,
    in_rank_order,
    linear_form,
    tie_blocks,
)

__all__ = [
    "DISCOUNT_FAMILY",
    "HARD",
    "KINDS",
    "NOISES",
    "PAIR_FAMILY",
    "RULES",
    "Smooth",
    "average_ranks",
    "chance_by_integral",
    "cross_entropy",
    "draws",
    "expected",
    "expected_derivatives",
    "expected_orders",
    "expected_pairs",
    "gain_of",
    "hard",
    "hard_expected_ties",
    "hard_expected_ties_large",
    "ideal_dcg",
    "in_rank_order",
    "lambdaloss",
    "lambdarank",
    "lightgbm_gammas",
    "linear_form",
    "listnet",
    "mean_over_orders",
    "monte_carlo",
    "order_derivatives",
    "order_probabilities",
    "pair_form",
    "pair_matrix",
    "pair_probability",
    "panel_integrator",
    "plackett_luce",
    "pnr_of_discordant",
    "probability_of",
    "quad_integrator",
    "query",
    "queryrmse",
    "random_query",
    "ranknet",
    "softlambda",
    "softrank",
    "softrank_ranks",
    "tie_blocks",
    "unequal_pairs",
    "xendcg",
    "xendcg_newton",
]
