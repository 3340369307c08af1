"""The L2 regularization of leaves, which is added to their curvature: how far a leaf of few documents goes."""

from __future__ import annotations

import numpy as np

from ..objectives import Objective
from .rows import Rows
from .settings import FIT, Settings
from .training import Trees


def first_curvature(objective: Objective, rows: Rows, trees: Trees, caller: str = FIT) -> float:
    """The average curvature of a document before the first tree, where all scores are equal, in LightGBM's units."""
    weights = None if rows.weights is None else rows.groups.per_document(rows.weights)
    queries = objective.prepare(rows.labels, rows.groups, caller=caller)
    gradient, curvature = objective.gradient_curvature(queries, np.zeros(rows.labels.size), weights)
    trees.refuse_gradients(caller, objective, gradient)  # before parameters are given that grow with them
    return float(curvature.mean())


def leaf_l2(settings: Settings, curvature: float) -> float:
    """What is added to a leaf's curvature: that of ``reg_lambda`` documents, given the average one."""
    return settings.reg_lambda * curvature
