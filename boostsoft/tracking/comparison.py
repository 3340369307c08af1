"""Compare two models on the same queries: which is better, how sure that is, and what a soft metric adds to that."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from ..arguments import Whole, fraction, short, whole_number
from ..choices import Progress, RowKind
from ..metrics.hard import twin_in
from ..metrics.soft import SoftMetric, SomeMetrics
from ..progress import Tell, bar, shows
from ..query_means import counted_weights, refuse_infinite
from ..statistics import check_resamples
from ..tracks import TreeTrack
from .compared import ComparedMetric, Comparison
from .paired import Paired, Resampling, gain, interval, pair_all, queries_needed, sample_sizes, significance
from .systems import CALLER, Systems, from_scores, from_tracks


def compare(
    a: Any,
    b: Any,
    *,
    metrics: SomeMetrics | None = None,
    y_true: Any = None,
    group: Any = None,
    qid: Any = None,
    query_weight: Any = None,
    level: float = 0.95,
    n_boot: int = 2000,
    seed: int = 0,
    step_a: Whole = -1,
    step_b: Whole = -1,
    power: float = 0.8,
    small: int | None = None,
    progress: Progress = "auto",
) -> Comparison:
    r"""Compare two systems on the same queries, in hard and soft metrics side by side.

    All differences are b - a: what b adds. Every metric gets a paired test, how well it tells the two apart, and the
    number of queries that takes; every soft metric besides its agreement with the hard one on all queries, and a
    control: what it shows when only the spread of the scores changes.

    Parameters
    ----------
    a, b : TreeTrack, or (n_docs,) scores
        Two tracks on the same queries, or two score vectors for the same documents. Two steps of one track are
        ``compare(track, track, step_a=9)``.
    metrics : metric or list of them, optional
        For tracks those that both have, by name or value; by default all. For scores specs, Metrics and SoftMetrics,
        to which the hard twins of soft ones are added; by default NDCG@10, hard and soft, with noise of a fifth of the
        scores' spread.
    y_true, group, qid, query_weight : optional
        With scores: labels, the queries by either, and their weights, as metrics take them.
    level : float
        Confidence of intervals; tests are at 1 - ``level``.
    n_boot, seed : int
        Number of resamples and of samples, 20 at least, and their seed. All rows share them. Of few, percentiles are
        too narrow: at .95 those of 20 hold .87, of 100 .93, of 1,000 .95 where queries are many.
    step_a, step_b : int
        With tracks: position of the step, from the end if negative; the last by default.
    power : float
        Chance to find the difference, for ``queries_needed``.
    small : int, optional
        Queries of a small sample: by default a tenth of those with weight, at least 2 if there are as many.
    progress : "auto", True or False
        Whether to show how much is resampled, which takes a minute of a million queries: "auto" where stderr is a
        terminal, True in notebooks and logs too.

    Returns
    -------
    Comparison
        Prints as a table; ``to_frame()`` makes it a DataFrame, ``row("ndcg@10")`` finds one of ``rows``, of which there
        is one for each metric and, behind a soft one, one for its control. A row has

        - ``metric``, ``kind`` ("hard", "soft" or "control") and ``n``, the queries that count;
        - ``a``, ``b``, both means; ``difference`` = b - a and its standard error ``error``, paired over queries (the
          formula is that of :class:`boostsoft.TreeTrack`); ``low``, ``high``, percentiles over resampled queries;
        - ``t`` = difference / error with the two-sided p-values ``p_t`` and ``p_wilcoxon`` (signed ranks; NaN if
          queries differ in weight);
        - ``sd`` = error x sqrt(n), ``effect`` = difference / sd, and ``queries_needed`` = ((z(1 - alpha / 2) +
          z(power)) / effect)^2, rounded up, at least 2: with so many queries a two-sided test at alpha = 1 - level
          finds this difference with the chance ``power``. Infinite without an effect;
        - ``same_sign``, the share of resamples with the difference's sign; ``gain``, ``gain_low``, ``gain_high``, the
          effect over the hard twin's with percentiles; ``agrees_half``, ``agrees_small``, the share of samples of half
          of the queries, and of ``small`` ones, with the sign of the hard difference on all;
        - ``identical``, whether no query differs: then the difference is 0, and what divides by its sd NaN.

        ``labels`` and ``spreads`` are the two systems' names and spreads of scores, ``notes`` what else to know.

    Raises
    ------
    TypeError, ValueError
        If a and b are of different kinds or on different queries, labels or queries are missing, a metric is unknown,
        pooled or infinite, or an option is out of range.

    Notes
    -----
    Percentiles over few queries are too narrow: of 95 % intervals some 92 % hold the true difference with 20 queries,
    90 % with 10, 83 % with 5; ``p_t`` is by Student's law, which allows for that. Neither allows for queries of which
    few differ, by skewed amounts: with 5 of 100 that did (exponential, of one sign) 83 % of percentiles and 81 % of
    Student's intervals held it, with 15 of 300 91 % and 90 %, with 50 of 1,000 94 % and 94 %.

    Intervals and p-values are of one row: of m rows or pairs of systems, the least p-value is to be held against
    (1 - ``level``) / m.

    ``queries_needed`` takes the effect that was found for the true one. Where \|t\| is below 2, so many other queries
    found it about half the time (pairs of rankers of MQ2007-agg, power .8), above 3 .6 to .75 of it. The samples of
    ``agrees_half`` are of these queries, and agree more than others do: .91 where halves of others agreed .74.

    The control knows how large the scores are, not how they are spread out: scores replaced by their ranks differ in a
    soft metric, in units of the spread too, where no document has moved. Of systems whose scores are of another kind,
    of two libraries or objectives say, the hard metric tells which is better, or both on one scale, such as
    :meth:`boostsoft.SoftBlender.normalize_scores` gives.

    Differences within 1e-9 count as 0, of values above 1 within 1e-9 of the largest. A track knows the scores of its
    last step only: the control then rescales those of a, or those of b back to a's spread. Where neither step is the
    last it is 0 for a metric in units of the spread, which rescaled scores leave as it is, and there is none for one in
    units of the score; a note says so.

    Examples
    --------
    >>> import numpy as np
    >>> from boostsoft import compare
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 400)
    >>> a, b = y + rng.normal(size=400), y + 3 * rng.normal(size=400)
    >>> found = compare(a, b, y_true=y, group=[10] * 40)
    >>> [(row.metric, row.kind, round(row.difference, 2)) for row in found.rows]
    [('ndcg@10', 'hard', -0.12), ('ndcg_gaussian@10', 'soft', -0.12), ('ndcg_gaussian@10', 'control', 0.0)]
    """
    shown = shows(CALLER, progress)
    systems = _systems(a, b, metrics, (y_true, group, qid, query_weight), (step_a, step_b))
    n_queries, n_counted = systems.weights.size, int(np.count_nonzero(systems.weights))
    plan = Resampling(
        level=fraction(CALLER, "level", level),
        power=fraction(CALLER, "power", power),
        n_boot=check_resamples(CALLER, n_boot),
        seed=whole_number(CALLER, "seed", seed, 0),
        small=min(max(2, n_counted // 10), n_counted) if small is None else whole_number(CALLER, "small", small, 1),
    )
    if plan.small > n_queries:
        raise ValueError(f"{CALLER}: small must be at most the number of queries, {n_queries}; got {plan.small}")
    with bar(shown, CALLER) as tell:
        rows, notes = _rows(systems, plan, tell)
    return Comparison(
        rows, systems.labels, systems.spreads, plan.level, plan.power, plan.n_boot, plan.small, tuple(notes)
    )


def _systems(a: Any, b: Any, metrics: Any, data: Sequence[Any], steps: tuple[Whole, Whole]) -> Systems:
    tracks = [isinstance(system, TreeTrack) for system in (a, b)]
    if all(tracks):
        if any(given is not None for given in data):
            raise TypeError(
                f"{CALLER}: y_true, group, qid and query_weight belong to score vectors; tracks have theirs"
            )
        return from_tracks(a, b, metrics, *steps)
    if any(tracks):
        raise TypeError(f"{CALLER}: a and b must be two tracks or two score vectors; got one of each")
    if not all(np.array_equal(step, -1) for step in steps):
        raise TypeError(f"{CALLER}: step_a and step_b belong to tracks; got score vectors")
    for name, system in (("a", a), ("b", b)):
        if hasattr(system, "predict") or isinstance(system, (str, PathLike)):  # a model, or a file of one
            raise TypeError(
                f"{CALLER}: {name} must be the scores of a model, or what track_trees makes of it; got "
                f"{short(system) if isinstance(system, (str, PathLike)) else type(system).__name__}"
            )
    return from_scores(a, b, metrics, *data)


def _rows(systems: Systems, plan: Resampling, tell: Tell) -> tuple[tuple[ComparedMetric, ...], list[str]]:
    for metric, a, b in zip(systems.metrics, *systems.values, strict=True):
        refuse_infinite(CALLER, metric.name, np.stack([a, b]), counted_weights(a, systems.weights))
    soft = [metric for metric in systems.metrics if isinstance(metric, SoftMetric)]
    controls = {metric: control for metric in soft if (control := systems.control(metric)) is not None}
    all_paired = pair_all([*zip(*systems.values, strict=True), *controls.values()], systems.weights, plan, tell)
    paired, of_controls = all_paired[: len(systems.metrics)], all_paired[len(systems.metrics) :]
    control_of = dict(zip(controls, of_controls, strict=True))
    rows, notes, missing, by_unit = [], [], [], []
    for metric, found in zip(systems.metrics, paired, strict=True):
        at = twin_in(systems.metrics, metric)
        twin = None if at is None else paired[at]
        rows.append(_row(metric.name, "soft" if metric in soft else "hard", found, twin, plan))
        if found.identical:
            why = "no query differs (within 1e-9)" if found.n else "no query counts"
            notes.append(f"{metric.name}: {why}; nothing to test.")
        if isinstance(metric, SoftMetric) and metric not in controls:
            missing.append(metric.name)
        elif isinstance(metric, SoftMetric):
            rows.append(_row(metric.name, "control", control_of[metric], None, plan))
            if controls[metric][0] is controls[metric][1]:
                by_unit.append(metric.name)
    if missing:
        notes.append(
            f"No control of {', '.join(missing)}: it needs labels, the scores of one of both steps (a track knows "
            "those of its last), and spreads above 0."
        )
    if by_unit:
        notes.append(
            f"Control of {', '.join(by_unit)}: 0 by its unit, not computed, since a track knows the scores of its last "
            "step only; in spreads a value stays as it is when scores are rescaled."
        )
    return tuple(rows), notes


def _row(name: str, kind: RowKind, paired: Paired, twin: Paired | None, plan: Resampling) -> ComparedMetric:
    low, high = interval(paired, plan.level)
    t, p_t, p_wilcoxon = significance(paired)
    ratio = (np.nan, np.nan, np.nan) if twin is None or kind == "hard" else gain(paired, twin, plan.level)
    reference = np.nan if twin is None else twin.difference
    half, small = (
        paired.sign_kept(sums, reference) if 0 < size <= paired.n else np.nan
        for size, sums in zip(sample_sizes(paired.n, plan), paired.samples, strict=True)
    )
    effect = paired.effect
    return ComparedMetric(
        metric=name, kind=kind, n=paired.n, a=float(paired.means[0]), b=float(paired.means[1]),
        difference=paired.difference, error=paired.error, low=low, high=high, t=t, p_t=p_t, p_wilcoxon=p_wilcoxon,
        sd=paired.error * float(np.sqrt(paired.n)), effect=effect,
        same_sign=paired.sign_kept(paired.boot, paired.difference) if paired.n > 1 else np.nan,
        queries_needed=queries_needed(effect, plan.level, plan.power),
        gain=ratio[0], gain_low=ratio[1], gain_high=ratio[2], agrees_half=half, agrees_small=small,
        identical=paired.identical,
    )  # fmt: skip
