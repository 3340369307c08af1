"""Data flows one way: a module imports only from layers before its own, and boosters stay in their adapters."""

from __future__ import annotations

import ast
from functools import cache
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
    ("frames", "labels", "decisions"),
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


@cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def without_types(tree):
    """A module without what type checkers alone read."""
    body = [node for node in tree.body if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))]
    return ast.Module(body, [])


@cache
def imports(path, outside_functions=False, types=True):
    """Absolute names of everything a module imports, at its top or inside functions, or outside of them only."""
    tree = parsed(path) if types else without_types(parsed(path))
    nodes = statements_outside_functions(tree) if outside_functions else ast.walk(tree)
    return tuple(imported_names(nodes, ("boostsoft", *path.relative_to(ROOT).parts[:-1])))


def imported_names(nodes, package):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join((*package[: len(package) - node.level + 1], *filter(None, [node.module])))
            yield from (f"{base}.{alias.name}" for alias in node.names)


def test_every_module_has_a_layer():
    assert {own_layer(path) for path in MODULES} == set(RANK)


def test_a_layer_imports_only_earlier_ones():
    for path in MODULES:
        layer = own_layer(path)
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "boostsoft" and len(parts) > 1 and parts[1] in RANK and parts[1] != layer:
                assert RANK[parts[1]] < RANK[layer], f"{path} imports {name}"


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


def test_kernels_know_neither_boosters_nor_tables():
    """Only what trains may import a booster (adapters inside their functions), and only the benchmark a peer."""
    for path in MODULES:
        known = {name.split(".")[0] for name in imports(path)}
        assert not {"pandas", "polars"} & {name.split(".")[0] for name in imports(path, types=False)}, path
        if own_layer(path) != "bench":
            assert not known & set(PEERS), path
        if own_layer(path) not in TRAINERS:
            assert not known & {"lightgbm", "xgboost"}, path


def test_the_benchmark_imports_boosters_and_peers_inside_functions_only():
    for path in MODULES:
        if own_layer(path) == "bench":
            loaded = {name.split(".")[0] for name in imports(path, outside_functions=True)}
            assert not loaded & {*PEERS, "lightgbm", "xgboost", "sklearn"}, path


def test_only_the_command_line_imports_the_benchmark():
    users = {own_layer(path) for path in MODULES if any(".bench" in f"{name}." for name in imports(path))}
    assert users <= {"bench", "cli"}
    assert "bench" not in (ROOT / "__init__.py").read_text(encoding="utf-8")


def test_what_is_heavy_is_imported_when_it_is_asked_for():
    """Boosters, plotting and scikit-learn: neither by the package, nor by the command line before its commands."""
    code = (
        "import sys, boostsoft, boostsoft.lightgbm, boostsoft.xgboost, boostsoft.datasets\n"
        "heavy = {'lightgbm', 'xgboost', 'sklearn', 'matplotlib', 'pandas', 'dask', 'scipy.stats', 'scipy.optimize'}\n"
        "found = lambda names: ', '.join(sorted(names & set(sys.modules)))\n"
        "assert not found(heavy | {'rich', 'boostsoft.bench'}), found(heavy | {'rich', 'boostsoft.bench'})\n"
        "from boostsoft import cli\n"
        "cli._parser()\n"
        "assert not found(heavy), found(heavy)\n"
        "assert {'SoftRanker', 'make_ranking_scorer'} <= set(dir(boostsoft)) & set(boostsoft.__all__)\n"
        "assert not hasattr(boostsoft, 'SoftRankers') and 'sklearn' not in sys.modules\n"
        "boostsoft.SoftRanker(booster='xgboost'), boostsoft.make_ranking_scorer\n"
        "assert 'sklearn' in sys.modules\n"
        "assert not found({'lightgbm', 'xgboost'}), found({'lightgbm', 'xgboost'})\n"
        "import boostsoft.blend_plots, boostsoft.drawing, boostsoft.track_plots, boostsoft.commands.train.plots\n"
        "assert not found({'matplotlib'})\n"
    )
    passes_alone(code)


def test_modules_for_users_need_no_import_of_their_own():
    code = (
        "import sys, boostsoft as bs\n"
        "modules = [name for name in dir(bs) if name not in bs.__all__]\n"
        "assert {'lightgbm', 'xgboost', 'objectives', 'dask', 'statistics', 'sigma'} <= set(modules)\n"
        "assert 'boostsoft.xgboost' not in sys.modules\n"
        "for name in modules:\n"
        "    assert getattr(bs, name) is sys.modules[f'boostsoft.{name}'], name\n"
        "assert bs.lightgbm.objective('ndcg@3') and bs.objectives.SoftObjective\n"
        "assert not hasattr(bs, 'kernel')\n"
    )
    passes_alone(code)


def test_new_figures_are_made_without_ax_and_pyplot_stays_out():
    code = (
        "import sys, numpy as np\n"
        "from boostsoft import drawing, track_plots\nfrom boostsoft.commands.train import plots\n"
        "from boostsoft.commands.experiment import Arm, Plan, Split\n"
        "from tests.tracked import track_of\n"
        "plan = Plan(baseline=False)\n"
        "arm = Arm('boostsoft', 1, '', {('valid', name): np.ones(3) for name in plan.names}, {}, 1.0)\n"
        "axes = plots.plot_curve(Split(plan, {}, (arm,)))\n"
        "assert drawing.png(axes.figure)\n"
        "assert track_plots.plot_changes(track_of(3)).figure and track_plots.plot_curves(track_of(3)).figure\n"
        "raise SystemExit('matplotlib.pyplot' in sys.modules)"
    )
    passes_alone(code)


@pytest.mark.parametrize("package", ["ranker", "blending"])
def test_what_is_imported_late_is_listed(package):
    """For help() and completion."""
    module = import_module(f"boostsoft.{package}")
    assert set(module.__all__) <= set(dir(module))
