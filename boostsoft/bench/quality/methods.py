"""The methods that are compared, and what the search may change of each: one table.

A setting has two halves: ``trees``, parameters of the library's trees, and ``own``, those of the objective. For ours
both are arguments of SoftRanker; for CatBoost ``own`` is written into its loss; for the others they are parameters of
the library. Random trees are written "auto": as in SoftRanker, the data decides (``watch.grown``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...arguments import FloatArray
from .space import DIMENSIONS, Choice, Depth, LogInteger, LogUniform, Space

Setting = dict[str, dict[str, Any]]
RANDOM, AUTO = "random_trees", "auto"


@dataclass(frozen=True)
class Library:
    """How a booster's trees are searched.

    Attributes
    ----------
    name : str
        What it is called.
    trees : four of (parameter, space), or None
        Learning rate, leaves, least size of a leaf, L2: the same coordinate for each library, None where it has none.
    stock : mapping
        Further parameters of trial 0, where its trees are of another kind.
    """

    name: str
    trees: tuple[tuple[str, Space] | None, ...]
    stock: Mapping[str, Any] = field(default_factory=dict)


# SoftRanker's, whatever it trains
RANKER = Library(
    "SoftRanker",
    (
        ("learning_rate", LogUniform(0.02, 0.2, stock=0.1)),
        ("num_leaves", LogInteger(4, 64, stock=31)),
        ("min_child_samples", LogInteger(5, 100, stock=20)),
        ("reg_lambda", LogUniform(1.0, 300.0, stock=40.0)),  # in documents
    ),
)
LIBRARIES = {
    "lightgbm": Library(
        "LightGBM",
        (
            ("learning_rate", LogUniform(0.02, 0.2, stock=0.1)),
            ("num_leaves", LogInteger(4, 64, stock=31)),
            ("min_data_in_leaf", LogInteger(5, 100, stock=20)),
            ("lambda_l2", LogUniform(0.001, 30.0, stock=0.0)),
        ),
    ),
    "xgboost": Library(
        "XGBoost",
        (
            ("eta", LogUniform(0.02, 0.2, stock=0.3)),
            ("max_leaves", LogInteger(4, 64, stock=0)),
            # it cannot bound the number of documents in a leaf
            ("min_child_weight", LogUniform(0.01, 10.0, stock=1.0)),
            ("reg_lambda", LogUniform(0.1, 30.0, stock=1.0)),
        ),
        stock={"grow_policy": "depthwise", "max_depth": 6},
    ),
    "catboost": Library(
        "CatBoost",
        (
            ("learning_rate", LogUniform(0.02, 0.2, stock=0.03)),
            ("depth", Depth(4, 64, stock=6)),
            None,  # symmetric trees have none
            # the default of most losses; under YetiRank it is next to 0
            ("l2_leaf_reg", LogUniform(0.5, 30.0, stock=3.0)),
        ),
    ),
}


@dataclass(frozen=True)
class Method:
    """An objective in a library.

    Attributes
    ----------
    id, name : str
        In options and files, and in tables.
    library : str
        Import name of the booster.
    objective : str, optional
        The library's name of it; None for ours.
    own : mapping
        What is searched of the objective: spaces by parameter; or constants.
    fixed : mapping
        Parameters of the objective that are not searched.
    trees : mapping
        Spaces or constants that replace those of the library's trees, or add to them.
    """

    id: str
    name: str
    library: str
    objective: str | None
    own: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    trees: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ours(self) -> bool:
        """Whether the objective is this library's."""
        return self.objective is None

    @property
    def trainer(self) -> str:
        """What trains it: the name of the ranker, or of a library."""
        return RANKER.name if self.ours else self.library

    @property
    def searched(self) -> Library:
        """How its trees are searched."""
        return RANKER if self.ours else LIBRARIES[self.library]

    def stock(self) -> Setting:
        """Trial 0: the defaults of the library and of the objective, but for YetiRank's L2."""
        trees = {**self.searched.stock}
        own: dict[str, Any] = {}
        for half, name, space, _ in self._spaces():
            value = getattr(space, "stock", space)
            if value is not None:
                (trees if half == "trees" else own)[name] = value
        return {"trees": trees, "own": own}

    def setting(self, point: FloatArray) -> Setting:
        """The setting at a point of the unit cube."""
        found: Setting = {"trees": {}, "own": {}}
        for half, name, space, coordinate in self._spaces():
            found[half][name] = space.at(float(point[coordinate])) if hasattr(space, "at") else space
        return found

    def described(self) -> dict[str, Any]:
        """All that the search depends on, for the protocol."""
        spaces = {half: {n: repr(space) for h, n, space, _ in self._spaces() if h == half} for half in ("trees", "own")}
        return {
            "library": self.library,
            "objective": self.objective,
            "fixed": dict(self.fixed),
            **spaces,
        }

    def _spaces(self) -> Iterator[tuple[str, str, Any, int]]:
        """Half, name, space or constant, and coordinate of each parameter."""
        places = self.searched.trees
        for coordinate, place in enumerate(places):
            if place is not None:
                yield "trees", place[0], self.trees.get(*place), coordinate
        coordinate = len(places)
        for name, space in self.own.items():
            yield "own", name, space, coordinate
            coordinate += hasattr(space, "at")
        # from the other end, so that neither a further argument nor a further setting moves the others
        last, known = DIMENSIONS - 1, {place[0] for place in places if place is not None}
        for name, space in self.trees.items():
            if name not in known:
                yield "trees", name, space, last
                last -= hasattr(space, "at")


# ---------------------------------------------------------------------------------------------------------
# Ours: SoftRanker's arguments
# ---------------------------------------------------------------------------------------------------------

OWN: dict[str, Any] = {
    "mix": Choice(({"kendall": 0.1}, {"kendall": 0.3}, {"kendall": 1.0}), stock={"kendall": 0.3}),
    "noise": Choice(("gaussian", "gumbel"), stock="gumbel"),
}
_RANDOM = {RANDOM: AUTO}
OURS = (
    Method("soft-lightgbm", "boostsoft in LightGBM", "lightgbm", None, own=OWN),
    Method("soft-xgboost", "boostsoft in XGBoost", "xgboost", None, own=OWN),
)
ONE_BOOSTER = tuple(
    replace(method, id=f"{method.id}-one", name=f"{method.name}, one booster", fixed={"n_boosters": 1})
    for method in OURS
)

# ---------------------------------------------------------------------------------------------------------
# The others. All gains are 2^label - 1, where an objective has gains
# ---------------------------------------------------------------------------------------------------------

LAMBDARANK = "lambdarank"
_STOCK_HESSIAN = {"min_sum_hessian_in_leaf": 1e-3}
_TRUNCATION: dict[str, Space] = {"lambdarank_truncation_level": Choice((3, 5, 10, 20, 30, 100), stock=30)}
_PAIRS: dict[str, Space] = {"lambdarank_num_pair_per_sample": Choice((3, 5, 10, 20, 32), stock=32)}
_TOP = {"lambdarank_pair_method": "topk", "ndcg_exp_gain": True}
_DECAY: dict[str, Space] = {"decay": Choice((0.7, 0.85, 0.95, 0.99), stock=0.85)}
_PEERS = (
    Method(
        LAMBDARANK,
        "LightGBM lambdarank",
        "lightgbm",
        "lambdarank",
        own=_TRUNCATION,
        trees=_STOCK_HESSIAN,
    ),
    Method(
        "lambdarank-random",
        "LightGBM lambdarank, trees as ours",
        "lightgbm",
        "lambdarank",
        own=_TRUNCATION,
        trees={**_STOCK_HESSIAN, **_RANDOM},
    ),
    Method("xendcg", "LightGBM rank_xendcg", "lightgbm", "rank_xendcg", trees=_STOCK_HESSIAN),
    Method(
        "xendcg-random",
        "LightGBM rank_xendcg, trees as ours",
        "lightgbm",
        "rank_xendcg",
        trees={**_STOCK_HESSIAN, **_RANDOM},
    ),
    Method("xgb-ndcg", "XGBoost rank:ndcg", "xgboost", "rank:ndcg", own=_PAIRS, fixed=_TOP),
    Method(
        "xgb-ndcg-random",
        "XGBoost rank:ndcg, trees as ours",
        "xgboost",
        "rank:ndcg",
        own=_PAIRS,
        fixed=_TOP,
        trees=_RANDOM,
    ),
    Method(
        "xgb-pairwise",
        "XGBoost rank:pairwise",
        "xgboost",
        "rank:pairwise",
        own={"lambdarank_num_pair_per_sample": Choice((1, 2, 4, 8, 16), stock=1)},
        fixed={"lambdarank_pair_method": "mean"},
    ),
    Method(
        "stochasticrank",
        "CatBoost StochasticRank",
        "catboost",
        "StochasticRank",
        own={"sigma": LogUniform(0.1, 3.0, stock=1.0)},
        fixed={"metric": "NDCG", "top": 10, "type": "Exp"},
    ),
    Method("yetirank", "CatBoost YetiRank", "catboost", "YetiRank", own=_DECAY, fixed={"permutations": 10}),
    Method(
        "yetirank-ndcg",
        "CatBoost YetiRank, mode NDCG",
        "catboost",
        "YetiRank",
        # This mode takes no decay, and calls its gain dcg_type: CatBoost 1.2.10 passes over both `decay` and `type`
        own={"num_neighbors": Choice((1, 2, 5, 10), stock=1)},
        fixed={"mode": "NDCG", "top": 10, "dcg_type": "Exp", "permutations": 10},
    ),
    Method("queryrmse", "CatBoost QueryRMSE", "catboost", "QueryRMSE"),
)
METHODS: Mapping[str, Method] = {method.id: method for method in (*OURS, *ONE_BOOSTER, *_PEERS)}


def ours_first(methods: Sequence[str]) -> str | None:
    """The method that the others are held against: ours in LightGBM, or else in XGBoost; none of ours, None."""
    return next((method.id for method in (*OURS, *ONE_BOOSTER) if method.id in methods), None)
