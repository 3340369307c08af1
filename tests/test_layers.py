"""Data flows one way: a module imports only from layers before its own, and boosters stay in their adapters."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

import boostsoft

from .processes import passes_alone

ROOT = Path(boostsoft.__file__).parent
# the order of the layers; a folder stands for all of its modules
LAYERS = [
    ("kernels",),
    ("atomic", "choices"),
    ("arguments",),
    ("extras", "progress"),
    ("frames", "labels"),
    ("query_groups", "query_means"),
    ("pictures",),
    ("drawing",),
    ("queries",),
    ("metrics",),
    ("objectives",),
    ("ahead",),
    ("pooling",),
    ("statistics",),
    ("metric_lists",),
    ("tracks",),
    ("adapters",),
    ("lightgbm", "xgboost"),
    ("dask",),
    ("stages",),
    ("ranker",),
    ("scoring",),
    ("tracking",),
    ("smoothness",),
    ("blending",),
    ("sigma",),
    ("ranking_data",),
    ("text_files", "json_text"),
    ("_letor", "_digits"),
    ("_trec",),
    ("datasets",),
    ("track_plots", "blend_plots"),
    ("track_report",),
    ("commands",),
    ("bench",),
    ("cli",),
    ("__main__",),
]
# what trains or reads a booster
TRAINERS = (
    "adapters", "bench", "commands", "dask", "ranker", "stages", "tracking", "xgboost",
)  # fmt: skip
# what others wrote: the benchmark compares with it
PEERS = ("catboost", "ranx", "pytrec_eval")
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
MODULES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def statements_outside_functions(tree):
    """What runs when a module is imported."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


def own_layer(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def without_types(tree):
    """A module without what type checkers alone read."""
    tree.body = [
        node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
    ]
    return tree


def imports(path, outside_functions=False, types=True):
    """Absolute names of everything a module imports, at its top or inside functions, or outside of them only."""
    package = ("boostsoft", *path.relative_to(ROOT).parts[:-1])
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree = tree if types else without_types(tree)
    for node in statements_outside_functions(tree) if outside_functions else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join((*package[: len(package) - node.level + 1], *filter(None, [node.module])))
            yield from (f"{base}.{alias.name}" for alias in node.names)


def test_every_module_has_a_layer():
    assert {own_layer(path) for path in MODULES} == set(RANK)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_layer_imports_only_earlier_ones(path):
    layer = own_layer(path)
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "boostsoft" and len(parts) > 1 and parts[1] in RANK and parts[1] != layer:
            assert RANK[parts[1]] < RANK[layer], f"{path.name} imports {name}"


def module_name(path):
    return ".".join(("boostsoft", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def module_behind(name, modules):
    """The module that an imported name is, or lies in; "" if it is not of this package."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def test_no_module_needs_itself_by_way_of_others():
    """Within a folder, too, data flows one way; names for type checkers aside."""
    modules = {module_name(path): path for path in MODULES}
    needs = {
        name: {module_behind(other, modules) for other in imports(path, types=False)} for name, path in modules.items()
    }
    try:
        TopologicalSorter({name: others - {name, ""} for name, others in needs.items()}).prepare()
    except CycleError as error:
        pytest.fail(" needs ".join(reversed(error.args[1])))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_kernels_know_neither_boosters_nor_tables(path):
    """Only what trains may import a booster (adapters inside their functions), and only the benchmark a peer."""
    known = {name.split(".")[0] for name in imports(path)}
    assert not {"pandas", "polars"} & {name.split(".")[0] for name in imports(path, types=False)}
    if own_layer(path) != "bench":
        assert not known & set(PEERS)
    if own_layer(path) not in TRAINERS:
        assert not known & {"lightgbm", "xgboost"}


@pytest.mark.parametrize("path", [p for p in MODULES if own_layer(p) == "bench"], ids=lambda path: path.name)
def test_the_benchmark_imports_boosters_and_peers_inside_functions_only(path):
    loaded = {name.split(".")[0] for name in imports(path, outside_functions=True)}
    assert not loaded & {*PEERS, "lightgbm", "xgboost", "sklearn"}


def test_only_the_command_line_imports_the_benchmark():
    users = {own_layer(path) for path in MODULES if any(".bench" in f"{name}." for name in imports(path))}
    assert users <= {"bench", "cli"}
    assert "bench" not in (ROOT / "__init__.py").read_text(encoding="utf-8")


def test_importing_the_package_imports_no_booster_and_no_plotting():
    code = (
        "import sys, boostsoft, boostsoft.lightgbm, boostsoft.xgboost, boostsoft.datasets\n"
        "heavy = {'lightgbm', 'xgboost', 'sklearn', 'matplotlib', 'pandas', 'rich', 'dask', 'boostsoft.bench'}\n"
        "heavy = (heavy | {'scipy.stats', 'scipy.optimize'}) & set(sys.modules)\n"
        "raise SystemExit(', '.join(sorted(heavy)) or None)"
    )
    passes_alone(code)


def test_the_command_line_is_there_before_what_its_commands_need():
    code = (
        "import sys\n"
        "from boostsoft import cli\n"
        "cli._parser()\n"
        "heavy = {'lightgbm', 'xgboost', 'sklearn', 'matplotlib', 'pandas', 'dask', 'scipy.stats', 'scipy.optimize'}\n"
        "raise SystemExit(', '.join(sorted(heavy & set(sys.modules))) or None)"
    )
    passes_alone(code)


def test_what_needs_scikit_learn_is_imported_when_asked_for():
    code = (
        "import sys, boostsoft\n"
        "assert {'SoftRanker', 'make_ranking_scorer'} <= set(dir(boostsoft)) & set(boostsoft.__all__)\n"
        "assert not hasattr(boostsoft, 'SoftRankers') and 'sklearn' not in sys.modules\n"
        "boostsoft.SoftRanker(booster='xgboost'), boostsoft.make_ranking_scorer\n"
        "assert 'sklearn' in sys.modules\n"
        "raise SystemExit(', '.join(sorted({'lightgbm', 'xgboost'} & set(sys.modules))) or None)"
    )
    passes_alone(code)


@pytest.mark.parametrize("package", ["ranker", "blending"])
def test_what_is_imported_late_is_listed(package):
    """For help() and completion."""
    module = import_module(f"boostsoft.{package}")
    assert set(module.__all__) <= set(dir(module))
