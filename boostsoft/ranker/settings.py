"""The ranker's parameters, checked; what each means to a booster is said in the booster's own module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar, get_args

from ..adapters.shared import whole
from ..arguments import (
    LARGEST_INT32,
    FloatArray,
    as_flag,
    changed,
    finite_number,
    fraction,
    non_negative_number,
    one_of,
    positive_number,
    refuse_other_text,
    seed_of,
    short,
    whole_number,
)
from ..choices import BoosterName
from ..metric_lists import MetricList
from ..metrics.hard import Metric, refuse_cutoffs_per_query
from ..metrics.registry import REGISTRY
from ..metrics.soft import AnyMetric, MetricWeights, as_metric, watched_soft
from ..objectives.base import made_by
from ..objectives.soft import SoftObjective
from ..progress import shows
from ..queries import n_relevant
from ..query_groups import QueryGroups
from . import convex_losses, members, random_trees, rate

FIT = "SoftRanker.fit"
Checked = TypeVar("Checked")
Known = TypeVar("Known")
BOOSTERS = get_args(BoosterName)
# LightGBM's beside random_state, by which it draws for every tree; data_random_seed is used once, for its bins
SEEDS = ("bagging_seed", "bagging_fraction_seed", "feature_fraction_seed", "extra_seed")
WHOLE_ORDER: MetricWeights = {"kendall": 0.3}


@dataclass(frozen=True)
class Settings:
    """A ranker's parameters, checked.

    Attributes
    ----------
    booster : the booster's name.
    objective : what to train on.
    losses_by_data : whether the trees and the training data decide on the objective's convex losses.
    evaluated : what to evaluate after every tree.
    n_watched : how many of these, from the first, stop training by their sum.
    n_estimators, num_leaves, max_depth, min_child_samples, colsample, subsample : as given.
    learning_rate : how far a tree goes; None until the training data is known.
    reg_lambda : how many documents' curvature is added to a leaf's.
    random_trees : whether splits are chosen among random ones; None until the training data is known.
    random_by_data : whether the training data has decided on random trees.
    mix_by_data : whether the order of the list stands in the objective unless the labels say otherwise: if a higher one
        of them is worth less by the user's function.
    sampled : whether random trees are so by the rows and features that they see where thresholds could be random too.
    rare : whether most features are in too few documents to split by, if the training data has told.
    n_boosters : how many boosters there are; None until the training data is known.
    more : the booster's own further parameters.
    early_stopping_rounds, validation_fraction : as given.
    n_jobs : threads of the booster; None for its own choice.
    progress : whether to show a bar.
    seed : of the booster and of the split into training and validation queries.
    """

    booster: str
    objective: SoftObjective
    losses_by_data: bool
    evaluated: tuple[AnyMetric, ...]
    n_watched: int
    n_estimators: int
    learning_rate: float | None
    num_leaves: int
    max_depth: int
    min_child_samples: int
    reg_lambda: float
    colsample: float
    subsample: float
    random_trees: bool | None
    n_boosters: int | None
    more: Mapping[str, Any]
    early_stopping_rounds: int | None
    validation_fraction: float | None
    n_jobs: int | None
    progress: bool
    seed: int
    random_by_data: bool = False
    mix_by_data: bool = False
    sampled: bool = False
    rare: bool = False

    @property
    def draws_trees(self) -> bool:
        """Whether any booster's trees are random, once the training data is known."""
        return known(self.random_trees) or (self.random_by_data and known(self.n_boosters) > 1)

    def on(
        self,
        labels: FloatArray,
        groups: QueryGroups,
        continued: bool = False,
        unsuited: bool = False,
        slow: bool = False,
    ) -> Settings:
        """The same for training data of these labels and queries, with a booster that is ``continued`` or none.

        ``unsuited`` says that random trees do not suit its features, if the data is to decide on them, and ``slow``
        that trees go on learning for long, if it is to decide on the rate.
        """
        relevant = n_relevant(labels, groups)
        random_by_data = self.random_trees is None
        helps = random_trees.helps(groups.n_docs, relevant) and not unsuited
        random = helps if self.random_trees is None else self.random_trees
        objective, evaluated, n_watched = self.objective, self.evaluated, self.n_watched
        if self.mix_by_data and members.is_turned_on(FIT, objective.metric, labels):
            objective = changed(objective, mix=())
            if n_watched > 1:  # the metric, and the order of the list beside it
                evaluated, n_watched = evaluated[:1], 1
        if self.losses_by_data:
            losses = convex_losses.chosen(objective.metric, groups, relevant, random)
            objective = changed(objective, losses=tuple(losses.items()))
        n_boosters = self.n_boosters
        if n_boosters is None:
            n_boosters = 1 if continued else members.chosen(groups.n_docs, random, random_by_data)
        elif n_boosters > 1 and continued:
            raise ValueError(
                f"{FIT}: n_boosters must be 1 with init_model, which one booster goes on from; got {n_boosters}"
            )
        found = replace(
            self,
            random_trees=random,
            random_by_data=random_by_data,
            objective=objective,
            losses_by_data=False,
            evaluated=evaluated,
            n_watched=n_watched,
            n_boosters=n_boosters,
        )
        if self.learning_rate is None:
            return replace(found, learning_rate=rate.chosen(groups.n_docs, relevant, random, self.n_estimators, slow))
        return found

    def drawing_anew(self, n: int) -> Settings:
        """The same with seeds that are ``n`` further on, so that trees behind others repeat no draws of theirs."""
        given = {name: whole(self.more[name]) for name in SEEDS if name in self.more}
        moved = {name: (seed + n) % 2**31 for name, seed in given.items() if seed is not None}
        return replace(self, seed=(self.seed + n) % 2**31, more={**self.more, **moved})


def known(value: Known | None) -> Known:
    """A setting that "auto" may stand for, once the training data has decided on it (:meth:`Settings.on`)."""
    if value is None:
        raise RuntimeError("a setting is asked for that the training data has not decided on yet")
    return value


def check_settings(ranker: Any) -> Settings:
    """Check a ranker's parameters and build the objective and the metrics."""
    losses_by_data = isinstance(ranker.losses, str)
    if losses_by_data:
        refuse_other_text(FIT, "losses", ranker.losses, "a mapping from names of losses to weights")
    objective = made_by(
        FIT,
        SoftObjective,
        ranker.metric,
        mix=_mix(ranker),
        losses=None if losses_by_data else ranker.losses,
        noise=ranker.noise,
        sigma=ranker.sigma,
        hessian=ranker.hessian,
    )
    given = ranker.eval_metric
    evaluated = _watched(objective) if given is None else _evaluated(given)
    refuse_cutoffs_per_query(FIT, objective.metric)
    rounds, share = ranker.early_stopping_rounds, ranker.validation_fraction
    return Settings(
        booster=one_of(FIT, "booster", ranker.booster, BOOSTERS),
        objective=objective,
        losses_by_data=losses_by_data,
        evaluated=evaluated,
        n_watched=len(evaluated) if given is None else 1,
        mix_by_data=isinstance(ranker.mix, str) and callable(members.worth(objective.metric)),
        n_estimators=_narrow_number(FIT, "n_estimators", ranker.n_estimators, 1),
        learning_rate=_unless_auto("learning_rate", ranker.learning_rate, "a number above 0", positive_number),
        num_leaves=_narrow_number(FIT, "num_leaves", ranker.num_leaves, 2),
        max_depth=_depth(ranker.max_depth),
        min_child_samples=_narrow_number(FIT, "min_child_samples", ranker.min_child_samples, 0),
        reg_lambda=non_negative_number(FIT, "reg_lambda", ranker.reg_lambda),
        colsample=_share("colsample", ranker.colsample),
        subsample=_share("subsample", ranker.subsample),
        random_trees=_unless_auto("random_trees", ranker.random_trees, "a flag, True or False", as_flag),
        n_boosters=_unless_auto("n_boosters", ranker.n_boosters, "a whole number", partial(whole_number, least=1)),
        more=_more(ranker.booster_params),
        early_stopping_rounds=None if rounds is None else whole_number(FIT, "early_stopping_rounds", rounds, 1),
        validation_fraction=None if share is None else fraction(FIT, "validation_fraction", share),
        n_jobs=check_threads(FIT, ranker.n_jobs),
        progress=shows(FIT, ranker.progress),
        seed=seed_of(FIT, ranker.random_state, LARGEST_INT32),
    )


def refuse_clashes(more: Mapping[str, Any], taken: Mapping[str, str], settled: Mapping[str, str]) -> None:
    """Refuse what the ranker decides itself among a booster's further parameters.

    ``taken`` gives the ranker's own parameter for a booster's name, ``settled`` the reason why there is none.
    """
    for name in more:
        if name in taken:
            raise ValueError(f"{FIT}: booster_params must not hold {name!r}: set the ranker's own {taken[name]}")
        if name in settled:
            raise ValueError(f"{FIT}: booster_params must not hold {name!r}: {settled[name]}")


def by_alias(names: Mapping[str, str]) -> dict[str, str]:
    """From the ranker's word -> "name alias alias" to name -> the ranker's word."""
    return {alias: word for word, aliases in names.items() for alias in aliases.split()}


def _watched(objective: SoftObjective) -> tuple[AnyMetric, ...]:
    """The metric, and the order of the whole list where it is trained on too: steadier than the metric alone."""
    order = [metric for metric, _ in objective.mix if metric.metric == "kendall"]
    return tuple(watched_soft(metric, objective.noise) for metric in (objective.metric, *order[:1]))


def _evaluated(given: Any) -> tuple[AnyMetric, ...]:
    several = given if isinstance(given, (list, tuple)) else [given]
    metrics = tuple(MetricList(f"{FIT}: eval_metric", several).metrics)
    for metric in metrics:
        refuse_cutoffs_per_query(FIT, metric.hard)
    return metrics


def _unless_auto(
    argument: str, value: Any, otherwise: str, check: Callable[[str, str, Any], Checked]
) -> Checked | None:
    """The value, checked; None for "auto", which the training data decides."""
    if isinstance(value, str):
        refuse_other_text(FIT, argument, value, otherwise)
        return None
    return check(FIT, argument, value)


def _mix(ranker: Any) -> MetricWeights | None:
    """What is trained on besides the metric."""
    mix = ranker.mix
    if not isinstance(mix, str):
        given: MetricWeights | None = mix
        return given
    refuse_other_text(FIT, "mix", mix, "a mapping from metrics to weights")
    return chosen_mix(as_metric(FIT, ranker.metric, {}))


def chosen_mix(metric: Metric) -> MetricWeights | None:
    """What is trained on besides a metric by default: the order of the whole list.

    Nothing if the metric is about that already, or if its own table has higher labels worth less.
    """
    return None if REGISTRY[metric.metric].pairwise or members.is_turned(metric) else WHOLE_ORDER


def _depth(value: Any) -> int:
    depth = _narrow_number(FIT, "max_depth", value, -1)
    if depth == 0:
        raise ValueError(f"{FIT}: max_depth must be -1, for no limit, or at least 1; got 0")
    return depth


def _share(argument: str, value: Any) -> float:
    number = finite_number(FIT, argument, value)
    if not 0.0 < number <= 1.0:
        raise ValueError(f"{FIT}: {argument} must be a share above 0 and up to 1; got {short(value)}")
    return number


def _more(value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise TypeError(f"{FIT}: booster_params must be a dict of names and values; got {short(value)}")
    return dict(value)


def check_threads(caller: str, value: Any) -> int | None:
    """A booster's number of threads, None for its own choice."""
    if value is None:
        return None
    from joblib import effective_n_jobs  # type: ignore[import-untyped]

    n_jobs = _narrow_number(caller, "n_jobs", value, -LARGEST_INT32 - 1)
    if n_jobs == 0:
        raise ValueError(f"{caller}: n_jobs must not be 0; got 0")
    # joblib counts from behind below 0, and gives 1 to a worker among workers; a plain number is meant as it stands
    return n_jobs if n_jobs > 0 else int(effective_n_jobs(n_jobs))


def _narrow_number(caller: str, argument: str, value: Any, least: int) -> int:
    """A whole number of 32 bits, which is what boosters keep: LightGBM silently accepts larger ones."""
    return whole_number(caller, argument, value, least, LARGEST_INT32)
