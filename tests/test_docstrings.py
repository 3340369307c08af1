"""What users read of public names: docstrings beside the signatures, the fitted attributes, and what tools list."""

from __future__ import annotations

import builtins
import doctest
import inspect
import re
import symtable
from importlib import import_module
from typing import Literal, get_args, get_origin

import pytest

from boostsoft import SoftBlender, SoftRanker, choices, sigma
from boostsoft.blending import scores, settings
from boostsoft.kernels.curvature import CURVATURES
from boostsoft.kernels.expected import ACCURACY
from boostsoft.kernels.noise import LAWS
from boostsoft.metrics.registry import REGISTRY
from boostsoft.metrics.spec import DISCOUNTS, EMPTY, GAINS, OPTIONS, MetricOptions
from boostsoft.objectives import REFERENCES, NothingToLearnError

MODULES = (
    "boostsoft",
    "boostsoft.blend_plots",
    "boostsoft.blending",
    "boostsoft.dask",
    "boostsoft.datasets",
    "boostsoft.lightgbm",
    "boostsoft.objectives",
    "boostsoft.scoring",
    "boostsoft.sigma",
    "boostsoft.smoothness",
    "boostsoft.statistics",
    "boostsoft.track_plots",
    "boostsoft.track_report",
    "boostsoft.tracking",
    "boostsoft.tracks",
    "boostsoft.xgboost",
)
PUBLIC = {
    f"{public.__module__}.{public.__qualname__}": public  # both adapters have an objective
    for module in MODULES
    for public in (getattr(import_module(module), name) for name in import_module(module).__all__)
    if callable(public)
}
METHODS = {
    method.__qualname__: method
    for public in PUBLIC.values()
    for name, method in inspect.getmembers(public, lambda it: inspect.isfunction(it) or inspect.ismethod(it))
    if inspect.isclass(public) and not name.startswith("_") and method.__module__.startswith("boostsoft")
}

PAGES = {name: public for name, public in {**PUBLIC, **METHODS}.items() if public is not NothingToLearnError}


@pytest.mark.parametrize("module", MODULES)
def test_completion_offers_public_names_and_modules_only(module):
    offered = set(dir(import_module(module)))
    public = {name.removeprefix("boostsoft.") for name in MODULES} if module == "boostsoft" else set()
    assert offered - public == set(import_module(module).__all__)


def documented(public, section):
    """The names that a section of a docstring explains, in their order; None without the section."""
    found = re.search(rf"^{section}\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)", inspect.getdoc(public), re.DOTALL | re.MULTILINE)
    if found is None:
        return None
    lines = [line.split(" : ")[0] for line in found[1].splitlines() if re.match(r"\S", line)]
    return [name for line in lines for name in line.split(", ")]


def parameters(public):
    """The names of a signature, with stars; those of a metric's options where they are named."""
    for name, parameter in inspect.signature(public).parameters.items():
        if parameter.annotation == "Unpack[MetricOptions]":
            yield from MetricOptions.__annotations__
        elif name != "self":
            yield {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "") + name


@pytest.mark.parametrize("name", PAGES)
def test_every_parameter_is_documented_once_in_the_signatures_order(name):
    public = PAGES[name]
    wanted, found = list(parameters(public)), documented(public, "Parameters")
    if inspect.isclass(public) and found is None:  # fields of a dataclass; some of its attributes are computed
        assert set(wanted) <= set(documented(public, "Attributes") or [])
    elif name in PUBLIC or found is not None:  # a short method may say in a sentence what it takes
        assert (found or []) == wanted


@pytest.mark.parametrize("estimator", [SoftRanker, SoftBlender])
def test_the_fitted_attributes_are_annotated_and_documented(estimator):
    annotated = [
        *estimator.__annotations__,
        *(name for name in vars(estimator) if re.fullmatch(r"[a-z].*[a-z]_", name)),
    ]
    assert sorted(documented(estimator, "Attributes")) == sorted(annotated)


def test_type_checkers_know_every_option_of_a_metric():
    assert set(MetricOptions.__annotations__) == {*OPTIONS, "ties"}


@pytest.mark.parametrize(
    ("choice", "known"),
    [
        ("Accuracy", ACCURACY),
        ("BlendMethod", settings._METHODS),
        ("DiscountName", DISCOUNTS),
        ("Empty", EMPTY),
        ("GainName", GAINS),
        ("Hessian", CURVATURES),
        ("Noise", LAWS),
        ("Normalize", scores.NORMALIZATIONS),
        ("Reference", REFERENCES),
        ("SigmaMethod", {"residual", *sigma._MEASURES}),
        ("Ties", {ties for entry in REGISTRY.values() for ties in entry.ties}),
    ],
)
def test_type_checkers_know_every_name_of_a_choice(choice, known):
    assert set(get_args(getattr(choices, choice))) == set(known)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_lists_the_names_that_type_checkers_know(name):
    public = PAGES[name]
    known = {word: get_args(choice) for word, choice in vars(choices).items() if get_origin(choice) is Literal}
    known["Progress"] = known["Auto"]
    for argument, parameter in inspect.signature(public).parameters.items():
        taken = {text for word in re.findall(r"\w+", str(parameter.annotation)) for text in known.get(word, ())}
        listed = re.search(rf"^(?:\w+, )*{argument}(?:, \w+)* : (.*)$", inspect.getdoc(public), re.MULTILINE)
        found = set(re.findall(r'"([^"]+)"', listed[1])) if listed else set()
        assert not (taken and found) or found == taken


def free_names(block):
    """What a block of code, and the functions in it, read without giving it a value."""
    yield from (symbol.get_name() for symbol in block.get_symbols() if symbol.is_referenced() and symbol.is_global())
    for inner in block.get_children():
        yield from free_names(inner)


@pytest.mark.parametrize("name", PAGES)
def test_an_example_runs_where_it_is_pasted(name):
    """With what it imports itself: doctest lends it all that its module has."""
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(PAGES[name]))
    block = symtable.symtable("".join(example.source for example in examples), name, "exec")
    given = {symbol.get_name() for symbol in block.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    assert set(free_names(block)) <= given | set(dir(builtins))
