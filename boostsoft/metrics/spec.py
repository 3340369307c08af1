"""From ``"ndcg@10"`` and options to a checked description of a metric, and from a repr back to the object."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, TypedDict, get_args

import numpy as np

from ..arguments import Numbers, Whole, as_array, as_flag, finite_number, finite_vector, fraction, one_of, short
from ..choices import DiscountName, Empty, GainName, Normalizer, ProbabilityName, Ties
from .registry import REGISTRY

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack
elif sys.version_info >= (3, 11):
    from typing import Unpack as Unpack
else:
    Unpack = list  # Python 3.10 has none; whoever reads annotations while running finds something


def _exp2_gain(label: Any) -> Any:
    gain = np.exp2(label)
    gain -= 1.0  # in place: another array of all documents costs more than the formula
    return gain


GAINS: dict[str, Callable[[Any], Any]] = {"exp2": _exp2_gain, "linear": lambda label: label}
DISCOUNTS: dict[str, Callable[[Any], Any]] = {
    "log2": lambda rank: 1.0 / np.log2(1.0 + rank),
    "reciprocal": lambda rank: 1.0 / rank,
}
# of a label, and of the largest grade
PROBABILITIES: dict[str, Callable[..., Any]] = {
    "exp2": lambda label, largest: _exp2_gain(label) / 2.0**largest,
    "label": lambda label, largest: label,
}
EMPTY = {"zero": 0.0, "one": 1.0, "skip": np.nan}  # the value of a query on which a metric is undefined
NORMALIZERS = get_args(Normalizer)
_DEEPEST = 2**53
_HIGHEST_LABEL = 1000.0  # 2 to its power is a float64

Cutoff = int | tuple[int, ...] | None
Table = tuple[float, ...] | Callable[[Any], Any]
TableOption = str | Table
GivenTable = Numbers | Mapping[Any, float] | Callable[[Any], Any]
Gain = GainName | GivenTable


class MetricOptions(TypedDict, total=False):
    """The options of all metrics as they may be given, for editors and type checkers."""

    gain: Gain
    discount: DiscountName | GivenTable
    relevant_from: float
    p: float
    p_rel: ProbabilityName | GivenTable
    max_label: float
    p_break: float
    normalizer: Normalizer
    pooled: bool
    ties: Ties
    empty: Empty


class CutoffOptions(MetricOptions, total=False):
    """The same with the cutoff, where the metric is not built by name."""

    k: Whole | Numbers | None


def is_gain(gain: TableOption, name: str) -> bool:
    """Whether a gain is the known one of this name, by its name or as a table of it."""
    if isinstance(gain, tuple):
        with np.errstate(over="ignore"):  # 2^1024
            return np.array_equal(gain, GAINS[name](np.arange(float(len(gain)))))
    return gain == name


# in XGBoost, trec_eval, ir_measures and scikit-learn
_NAMES_ELSEWHERE = {
    "ap": "map", "average_precision": "map", "p": "precision", "pre": "precision", "prec": "precision", "r": "recall",
    "rr": "mrr", "recip_rank": "mrr", "reciprocal_rank": "mrr", "tau": "kendall",
}  # fmt: skip
_HIT_RATES = ("hit", "hit_rate", "hitrate", "hr", "success")  # elsewhere
_ELSEWHERE = re.compile(r"([a-z][a-z_]*?)(?:(?:_cut)?[@:._-]?([1-9][0-9]*))?(?:_score)?")
_SPEC = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)(?:@(.*))?", re.DOTALL)


def _meant(spec: str) -> str:
    """The question whether a metric is meant that is written, called or made otherwise elsewhere, as this is."""
    match = _ELSEWHERE.fullmatch(spec.strip().lower())
    if match is None:
        return ""
    if match[1] in _HIT_RATES:
        cutoff = f"@{match[2]}" if match[2] else ""
        return f"; the hit rate of labels 0 and 1 is Metric('pfound{cutoff}', p_break=0, p_rel=[0, 1])"
    name = _NAMES_ELSEWHERE.get(match[1], match[1])
    nearest = difflib.get_close_matches(name, REGISTRY, n=1, cutoff=0.75)
    cutoff = f"@{match[2]}" if match[2] and nearest and not REGISTRY[nearest[0]].pairwise else ""
    return f": is {nearest[0] + cutoff!r} meant?" if nearest else ""


def parse_spec(caller: str, spec: Any) -> tuple[str, int | None]:
    """Split ``name`` or ``name@k`` into the metric's name and its cutoff."""
    if not isinstance(spec, str):
        raise TypeError(f"{caller}: metric must be a string such as 'ndcg@10'; got {short(spec)}")
    match = _SPEC.fullmatch(spec.strip())
    if match is None or match[1] not in REGISTRY:
        with_cutoff = [name for name, entry in REGISTRY.items() if not entry.pairwise]
        whole = [name for name, entry in REGISTRY.items() if entry.pairwise]
        raise ValueError(
            f"{caller}: unknown metric {short(spec)}; known are {', '.join(with_cutoff)}, each with or without @k, "
            f"and {', '.join(whole)}{_meant(spec)}"
        )
    if match[2] is None:
        return match[1], None
    refuse_cutoff(caller, match[1], short(spec))
    if not re.fullmatch(r"[0-9]{1,16}", match[2]) or not 0 < int(match[2]) <= _DEEPEST:
        raise ValueError(f"{caller}: the cutoff behind @ must be a whole number from 1 to 2^53; got {short(spec)}")
    return match[1], int(match[2])


def refuse_cutoff(caller: str, metric: str, given: str) -> None:
    """Raise if a metric, which was ``given`` a cutoff, is of the whole list."""
    if REGISTRY[metric].pairwise:
        raise ValueError(f"{caller}: {metric} is of the whole list and takes no cutoff; got {given}")


NOT_PNR = "watch auc or kendall in place of pnr"  # which is infinite once a query is in perfect order


def refuse_pnr(caller: str, spec: str) -> None:
    """Raise if a metric's mean over queries would not be finite."""
    if parse_spec(caller, spec)[0] == "pnr":
        raise ValueError(
            f"{caller}: pnr is infinite for a query in perfect order, and then so is its mean over queries: use auc "
            "or kendall, which count the same pairs"
        )


def check_cutoff(caller: str, k: Any) -> Cutoff:
    """A cutoff for all queries, one for each, or None for the whole list."""
    if k is None:
        return None
    array = as_array(caller, "k", k)
    if array.dtype.kind not in "iu" or array.ndim > 1 or array.size == 0:
        raise TypeError(f"{caller}: k must be a whole number or one for each query; got {short(k)}")
    if np.any(array <= 0) or np.any(array > _DEEPEST):
        wrong = int(array.min() if np.any(array <= 0) else array.max())
        raise ValueError(f"{caller}: k must be from 1 to 2^53; got {wrong}")
    return int(array) if array.ndim == 0 else tuple(int(value) for value in array)


def check_table(caller: str, argument: str, value: Any, known: Collection[str]) -> TableOption:
    """A gain, discount or probability: one of the known names, a table or mapping, or a function of an array."""
    if isinstance(value, str):
        return str(one_of(caller, argument, value, known))
    if callable(value):
        function: Callable[[Any], Any] = value
        return function
    if isinstance(value, Mapping):
        value = _values_in_order(caller, argument, value)
    return tuple(finite_vector(caller, argument, value).tolist())


def _values_in_order(caller: str, argument: str, table: Mapping[Any, Any]) -> list[Any]:
    """The values of a mapping from all labels from 0 on, or all ranks from 1 on."""
    point, first = ("rank", 1) if argument == "discount" else ("label", 0)
    points = range(first, first + len(table))
    if set(table) != set(points):
        raise ValueError(
            f"{caller}: {argument} must have a value for every {point} from {first} on; got {short(table)}"
        )
    return [table[at] for at in points]


def _check_break(caller: str, p_break: Any) -> float:
    number = finite_number(caller, "p_break", p_break)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{caller}: p_break must be a probability, from 0 to 1; got {p_break!r}")
    return number


def _check_max_label(caller: str, max_label: Any) -> float:
    number = finite_number(caller, "max_label", max_label)
    if not 0.0 <= number <= _HIGHEST_LABEL:
        raise ValueError(f"{caller}: max_label must be from 0 to {_HIGHEST_LABEL:.0f}; got {max_label!r}")
    return number


# option -> (default, check of (caller, value)); ties depends on the metric and is checked apart
OPTIONS: dict[str, tuple[Any, Callable[[str, Any], Any]]] = {
    "gain": ("exp2", lambda caller, value: check_table(caller, "gain", value, GAINS)),
    "discount": ("log2", lambda caller, value: check_table(caller, "discount", value, DISCOUNTS)),
    "relevant_from": (1.0, lambda caller, value: finite_number(caller, "relevant_from", value)),
    "p": (0.8, lambda caller, value: fraction(caller, "p", value)),
    "p_rel": ("exp2", lambda caller, value: check_table(caller, "p_rel", value, PROBABILITIES)),
    "max_label": (4.0, _check_max_label),
    "p_break": (0.15, _check_break),
    "normalizer": ("relevant", lambda caller, value: one_of(caller, "normalizer", value, NORMALIZERS)),
    "pooled": (False, lambda caller, value: as_flag(caller, "pooled", value)),
    "empty": ("zero", lambda caller, value: one_of(caller, "empty", value, EMPTY)),
}


def check_options(caller: str, metric: str, options: dict[str, Any]) -> dict[str, Any]:
    """Every option of any metric: the given ones checked, the rest by default."""
    entry = REGISTRY[metric]
    unknown = [option for option in options if option not in entry.options]
    if unknown:
        known = ", ".join(entry.options)
        raise TypeError(
            f"{caller}: {metric} takes the options {known}{'' if entry.pairwise else ', k'} and name; got {unknown[0]}"
        )
    given = {**entry.defaults, **options}
    checked = {name: check(caller, given.get(name, default)) for name, (default, check) in OPTIONS.items()}
    checked["ties"] = one_of(caller, "ties", given.get("ties", "expected"), entry.ties)
    return checked


def check_name(caller: str, name: Any) -> str | None:
    """A name that both boosters can print and parse: no spaces, no colon."""
    if name is None:
        return None
    if not isinstance(name, str) or not name or re.search(r"[\s:]", name):
        raise ValueError(f"{caller}: name must be a text without spaces and colons; got {short(name)}")
    return name


def parse_call(caller: str, text: str, builders: dict[str, Callable[..., Any]]) -> Any:
    """Evaluate the repr of a metric without evaluating anything else."""

    def build(node: ast.expr) -> Any:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in builders:
            arguments = [build(argument) for argument in node.args]
            keywords = {word.arg: build(word.value) for word in node.keywords if word.arg is not None}
            if len(keywords) < len(node.keywords):
                raise ValueError("** or an argument given twice")
            return builders[node.func.id](*arguments, **keywords)
        try:
            return ast.literal_eval(node)
        except (TypeError, ValueError):
            raise ValueError(f"{ast.unparse(node)} is no plain value") from None

    if not isinstance(text, str):
        raise TypeError(f"{caller}: text must be a string; got {short(text)}")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        if not isinstance(tree, ast.Call):
            raise ValueError("not a call")
        return build(tree)
    except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError) as error:
        raise ValueError(f"{caller}: cannot read {short(text)} as the repr of a metric: {error}") from error
