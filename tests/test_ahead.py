"""Kernels that an installation brings: compiled once when it is made, used where they fit, and only there."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import types
from functools import partial
from pathlib import Path

import pytest

from boostsoft import ahead
from boostsoft.kernels import cache, targets

from .test_cache import CALL, NOWHERE, edit, ended, make_read_only, start, write_small

ROOT = Path(__file__).parents[1]
SHIP = """
from small import cache
from small.f import f
cache.COMPILED.mkdir()
with cache.shipping(cache.COMPILED):
    f(4)
"""
# what is compiled while people do the usual things, and the unusual ones
USE = """
import json, sys
from numba.core import event

compiled = []

class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
import numpy as np, lightgbm as lgb
import boostsoft as bs, boostsoft.lightgbm as bl
from boostsoft.objectives import REFERENCES, reference_objective

rng = np.random.default_rng(0)
X, y, group = rng.normal(size=(90, 3)), rng.integers(0, 4, 90), [40, 50]
for name in ("ndcg@10", "ndcg", "precision@5", "mrr", "err@10", "map", "rbp", "kendall", "auc"):
    bs.Metric(name)(y > 1 if name == "auc" else y, X[:, 0], group=group)
    for noise in ("gaussian", "gumbel"):
        soft = bs.SoftMetric(name, noise=noise)
        soft(y > 1 if name == "auc" else y, X[:, 0], group=group)
        soft.gradient(y > 1 if name == "auc" else y, X[:, 0], group=group)
for name in ("ndcg@10", "map", "kendall", "auc"):
    labels = y > 1 if name == "auc" else y
    bs.SoftMetric(name).value_gradient_hessian(labels, X[:, 0], group=group)
    for noise in ("gaussian", "gumbel"):
        bs.SoftMetric(name, ranks="sampled", noise=noise, n_samples=3).gradient(labels, X[:, 0], group=group)
bs.SoftMetric("ndcg@10", ranks="softrank").value_gradient_hessian(y, X[:, 0], group=group)
for kind in REFERENCES:
    rule = reference_objective(kind)
    rule.gradient_curvature(rule.prepare(y, bs.QueryGroups.from_sizes(group)), X[:, 0])
bs.SoftMetric("ndcg@10", accuracy="high").per_query(y, X[:, 0], group=group)
train = lgb.Dataset(X, y, group=group)
lgb.train({"objective": bl.objective("ndcg@10"), "metric": "None", "verbose": -1}, train, 2, valid_sets=[train],
          feval=bl.feval("ndcg@10", soft))
ranker = bs.SoftRanker(n_estimators=2).fit(X, y, group=group)
track = bs.track_trees(ranker.booster_, X, y, group=group, metrics=["ndcg@10", soft, bs.SoftMetric("ndcg@10")])
print(bs.compare(track, track, step_a=2))  # whose control measures scores anew
bs.SoftBlender("ndcg@10").fit(X, y, group=group)
print(json.dumps(compiled))
"""


# the features of the x86-64 psABI's levels, by the names that LLVM has for them
V2 = "+cmov,+cx8,+fxsr,+mmx,+sse,+sse2,+cx16,+sahf,+popcnt,+sse3,+ssse3,+sse4.1,+sse4.2"
V3 = V2 + ",+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave"
V4 = V3 + ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"


def used(small, **environment):
    """The value of f(4), whether it was read rather than compiled, and complaints."""
    (value, hits), error = ended(start(CALL, small.parent, **environment))
    return int(value), hits == "1", error


def run_ahead(folder, **environment):
    """The module's command, for a processor of these environment variables; its exit code and complaint."""
    found = subprocess.run(
        [sys.executable, "-m", "boostsoft.ahead", str(folder)],
        env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return found.returncode, found.stderr


def ship_small(folder, **environment):
    """The little package with its kernels compiled; the folder of the cache is not passed on."""
    small = write_small(folder)
    assert ended(start(SHIP, folder, NUMBA_CACHE_DIR=str(folder / "built"), **environment)) == ([], "")
    assert not (folder / "built").exists() or not [*(folder / "built").rglob("*.nb?")]
    return small


@pytest.fixture(scope="module")
def shipped(tmp_path_factory):
    """The little package for this very processor, to be copied."""
    return ship_small(tmp_path_factory.mktemp("shipped"))


@pytest.fixture
def brought(shipped, tmp_path):
    """A copy of it, as an installer makes one."""
    return Path(shutil.copytree(shipped, tmp_path / "small"))


def empty(tmp_path):
    return {"NUMBA_CACHE_DIR": str(tmp_path / "empty")}


def test_the_first_call_reads_what_was_brought(brought, tmp_path):
    assert used(brought, **empty(tmp_path)) == (41, True, "")
    assert not [*(tmp_path / "empty").rglob("*.nbc")]


def test_nothing_can_be_written_and_nothing_need_be(brought):
    make_read_only(brought)
    assert used(brought, **NOWHERE) == (41, True, "")


def test_the_package_can_be_moved(brought, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    brought.rename(tmp_path / "elsewhere" / "small")
    assert used(tmp_path / "elsewhere" / "small", **empty(tmp_path)) == (41, True, "")


def test_other_sources_are_compiled(brought, tmp_path):
    edit(brought / "g.py", "10", "20")
    assert used(brought, **empty(tmp_path)) == (81, False, "")


@pytest.mark.parametrize("other", [{"NUMBA_CPU_NAME": "generic"}, {"NUMBA_CPU_FEATURES": ""}])
def test_another_processor_compiles(brought, tmp_path, other):
    assert used(brought, **empty(tmp_path), **other) == (41, False, "")


def test_what_is_built_for_a_level_is_read_by_every_processor_that_has_it(tmp_path):
    level, lacks = "generic", {"NUMBA_CPU_NAME": "cortex-a53"}
    if platform.machine() in ("x86_64", "AMD64"):
        level, lacks = "x86-64-v2", {"NUMBA_CPU_FEATURES": "+sse4.1,-sse4.2"}
    small = ship_small(tmp_path, NUMBA_CPU_NAME=level, NUMBA_CPU_FEATURES="")
    assert used(small, **empty(tmp_path)) == (41, True, "")
    assert used(small, **empty(tmp_path), **lacks) == (41, False, "")


@pytest.mark.parametrize(("named", "features", "levels"), [
    (None, "+avx512f", ["generic"]),
    (None, V2, ["x86-64-v2", "generic"]),
    (None, V3, ["x86-64-v3", "x86-64-v2", "generic"]),
    (None, V3.replace("+fma", "-fma"), ["x86-64-v2", "generic"]),
    (None, V4, ["x86-64-v4", "x86-64-v3", "x86-64-v2", "generic"]),
    ("x86-64-v3", V4, ["x86-64-v3"]),
    ("haswell", V4, []),
])  # fmt: skip
def test_levels_that_a_processor_has(named, features, levels, monkeypatch):
    monkeypatch.setattr(targets.config, "CPU_NAME", named)
    own = ("x86_64-unknown-linux-gnu", named or "znver3", features)
    assert targets.run_here(own) == [own, *((own[0], level, "") for level in levels)]


@pytest.mark.parametrize(("named", "features", "wanted"), [
    (None, V2, None),
    (None, V3, "x86-64-v3"),
    (None, V4, "x86-64-v4"),
    (None, "+neon", None),
    ("znver3", V3, None),
    ("x86-64-v3", V4, "x86-64-v3"),
    ("x86-64-v2", V4, "x86-64-v2"),
    ("x86-64-v4", "", None),  # by whoever was told so
])  # fmt: skip
def test_an_installation_is_for_the_best_wide_level_or_the_one_asked_for(named, features, wanted, monkeypatch):
    monkeypatch.setattr(targets.config, "CPU_NAME", named)
    own = ("x86_64-unknown-linux-gnu", named or "znver3", features)
    assert targets.to_install(own) == ((own[0], wanted, "") if wanted else own)


def test_a_level_that_the_processor_lacks_is_refused(monkeypatch):
    monkeypatch.setattr(targets.config, "CPU_NAME", "x86-64-v4")
    with pytest.raises(ValueError, match="must be a level that this processor has; got x86-64-v4"):
        targets.to_install(("x86_64-unknown-linux-gnu", "x86-64-v4", V3))


def test_the_command_compiles_in_a_process_for_the_level(tmp_path, monkeypatch):
    """Of which Numba is told before it is imported; what it says, and how it ends, comes through."""
    own, did = ahead._own(), []
    monkeypatch.setattr(ahead, "ship", lambda folder: did.append(("ship", folder)))
    monkeypatch.setattr(ahead, "to_install", lambda target: target)
    assert ahead.main(tmp_path) == 0
    assert did == [("ship", tmp_path)]
    monkeypatch.setattr(ahead, "to_install", lambda target: (target[0], "some-level", "+some"))

    def run(command, env, check):
        did.append((command[-3:], {name: env[name] for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "PATH")}))
        return types.SimpleNamespace(returncode=7)

    monkeypatch.setattr(ahead.subprocess, "run", run)
    assert ahead._own() == own
    assert ahead.main(tmp_path) == 7
    told = {"NUMBA_CPU_NAME": "some-level", "NUMBA_CPU_FEATURES": "+some", "PATH": os.environ["PATH"]}
    assert did[1:] == [(["-m", "boostsoft.ahead", str(tmp_path)], told)]


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="x86-64's levels")
def test_the_command_refuses_a_level_that_the_processor_lacks(tmp_path):
    lacking = {"NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": "+sse3"}
    message = "ahead: NUMBA_CPU_NAME must be a level that this processor has; got x86-64-v2\n"
    assert run_ahead(tmp_path / "compiled", **lacking) == (1, message)
    assert not [*tmp_path.iterdir()]


def test_a_level_is_not_sought_twice(monkeypatch):
    monkeypatch.setattr(targets.config, "CPU_NAME", "generic")
    assert targets.run_here(("arm64-apple-darwin", "generic", "")) == [("arm64-apple-darwin", "generic", "")]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_files_that_cannot_be_read_are_compiled(ending, brought, tmp_path):
    for path in (brought / "compiled").glob(f"*.{ending}"):
        path.write_bytes(b"\x80\x04?")
    assert used(brought, **empty(tmp_path)) == (41, False, "")
    assert used(brought, **empty(tmp_path)) == (41, True, "")  # kept by the cache as ever


def pretend(monkeypatch, text):
    """Compile nothing; what is written says which run it was."""
    monkeypatch.setattr(ahead, "compile_kernels", lambda to: (to / "f.nbc").write_text(text, encoding="utf-8"))


def test_a_folder_is_made_once_for_the_same_sources_and_processor(tmp_path, monkeypatch):
    folder = tmp_path / "made" / "compiled"
    pretend(monkeypatch, "first")
    assert not ahead.fits(folder)
    ahead.ship(folder)
    assert ahead.fits(folder)
    pretend(monkeypatch, "second")
    ahead.ship(folder)
    assert (folder / "f.nbc").read_text(encoding="utf-8") == "first"
    monkeypatch.setattr(ahead.numba, "__version__", "0.0")
    assert not ahead.fits(folder)
    ahead.ship(folder)
    assert (folder / "f.nbc").read_text(encoding="utf-8") == "second"
    assert [path.name for path in folder.parent.iterdir()] == ["compiled"]


def test_a_part_is_compiled_by_whoever_takes_it_first(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(ahead, "_parts", lambda: [lambda: (done.append(1), ahead.take_parts(tmp_path)),
                                                  lambda: done.append(2), lambda: done.append(3)])  # fmt: skip
    (tmp_path / "1.taken").touch()
    ahead.take_parts(tmp_path)
    assert done == [1, 3]


def other_helpers(monkeypatch, code):
    """Have as many helpers as there may be run this code instead; the list of those that were begun."""
    begun, popen = [], subprocess.Popen

    def start(command):
        begun.append(popen([sys.executable, "-c", code]))
        return begun[-1]

    monkeypatch.setattr(ahead.subprocess, "Popen", start)
    monkeypatch.setattr(ahead, "processors", lambda: 9)
    return begun


@pytest.mark.parametrize("code", [0, 1])
def test_what_helpers_leave_is_compiled_at_the_end(code, tmp_path, monkeypatch):
    did, begun = [], other_helpers(monkeypatch, f"raise SystemExit({code})")
    monkeypatch.setattr(ahead, "_parts", lambda: [partial(did.append, "part")] * 2)
    monkeypatch.setattr(ahead, "_calls", lambda: [partial(did.append, "calls")])
    (tmp_path / "0.taken").touch()  # by one that has failed
    ahead.compile_kernels(tmp_path)
    assert (did, [process.poll() for process in begun]) == (["part", "calls"], [code] * 3)
    assert not [*tmp_path.iterdir()]


def test_helpers_end_where_compiling_fails(tmp_path, monkeypatch):
    begun = other_helpers(monkeypatch, "import time; time.sleep(20)")

    def full(folder):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ahead, "take_parts", full)
    with pytest.raises(OSError, match="No space"):
        ahead.compile_kernels(tmp_path)
    assert len(begun) == 3
    assert all(process.poll() for process in begun)  # killed, neither running nor at their own end


def test_a_damaged_folder_is_made_again(tmp_path, monkeypatch):
    folder = tmp_path / "compiled"
    pretend(monkeypatch, "first")
    ahead.ship(folder)
    (manifest,) = folder.glob("*.txt")
    manifest.write_bytes(b"\xff" + manifest.read_bytes()[1:])
    pretend(monkeypatch, "second")
    ahead.ship(folder)
    assert (folder / "f.nbc").read_text(encoding="utf-8") == "second"


def test_without_a_folder_it_says_how_it_is_called():
    found = subprocess.run([sys.executable, "-m", "boostsoft.ahead"], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (1, "usage: python -m boostsoft.ahead FOLDER\n")


def test_without_the_compiler_no_folder_passes_for_a_complete_one(tmp_path):
    message = "ahead: NUMBA_DISABLE_JIT must not be set; got 1\n"
    assert run_ahead(tmp_path / "compiled", NUMBA_DISABLE_JIT="1") == (1, message)
    assert not [*tmp_path.iterdir()]


def test_two_may_make_one_folder(tmp_path, monkeypatch):
    folder, late = tmp_path / "compiled", [True]
    remove = shutil.rmtree

    def slowly(path, **options):
        """The other is done between this one's removing and its renaming."""
        remove(path, **options)
        if late.pop() if late else False:
            ahead.ship(folder)

    pretend(monkeypatch, "either")
    monkeypatch.setattr(ahead.shutil, "rmtree", slowly)
    ahead.ship(folder)
    assert ahead.fits(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["compiled"]


def test_a_failure_leaves_the_folder_as_it_was(tmp_path, monkeypatch):
    folder = tmp_path / "compiled"
    pretend(monkeypatch, "good")
    ahead.ship(folder)
    (folder / "made-for.txt").write_text("older", encoding="utf-8")

    def full(to):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ahead, "compile_kernels", full)
    with pytest.raises(OSError, match="No space"):
        ahead.ship(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["compiled"]
    assert (folder / "f.nbc").read_text(encoding="utf-8") == "good"


@pytest.fixture
def hook(monkeypatch, tmp_path):
    """What hatchling would call, for a package in a temporary folder."""
    interface = types.ModuleType("hatchling.builders.hooks.plugin.interface")
    interface.BuildHookInterface = object
    for depth in range(1, 6):
        name = ".".join(interface.__name__.split(".")[:depth])
        monkeypatch.setitem(sys.modules, name, interface if depth == 5 else types.ModuleType(name))
    spec = importlib.util.spec_from_file_location("hook", ROOT / ".build" / "hook.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "boostsoft").mkdir()
    (tmp_path / "boostsoft" / "__init__.py").touch()
    found = module.Kernels()
    found.root, said = str(tmp_path), []
    found.app = types.SimpleNamespace(display_warning=said.append)
    found.said = said
    return found


def assert_compiled_beside_sources(hook, version, artifacts):
    """The hook has the kernels compiled into their folder, says nothing, and adds these files."""
    code = "import sys\nopen('asked', 'w').write(sys.argv[1])\n"
    Path(hook.root, "boostsoft", "ahead.py").write_text(code, encoding="utf-8")
    data = {"artifacts": []}
    hook.initialize(version, data)
    assert (data, hook.said) == ({"artifacts": artifacts}, [])
    asked = Path(hook.root, "asked").read_text(encoding="utf-8")
    assert Path(asked) == Path(hook.root, "boostsoft", "kernels", "compiled")


def test_a_wheel_is_given_the_folder_that_was_compiled(hook):
    assert_compiled_beside_sources(hook, "standard", ["/boostsoft/kernels/compiled/*"])


@pytest.mark.skipif(sys.version_info < (3, 11), reason="PYTHONSAFEPATH is of Python 3.11")
def test_a_wheel_compiles_its_own_sources_wherever_modules_are_sought(hook, monkeypatch):
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    assert_compiled_beside_sources(hook, "standard", ["/boostsoft/kernels/compiled/*"])


def test_a_wheel_is_made_without_it_where_compiling_fails(hook):
    Path(hook.root, "boostsoft", "ahead.py").write_text("raise SystemExit('no compiler')\n", encoding="utf-8")
    data = {"artifacts": []}
    hook.initialize("standard", data)
    assert data == {"artifacts": []}
    assert len(hook.said) == 1
    assert hook.said[0].endswith("no compiler")


def test_an_editable_installation_compiles_beside_its_sources(hook):
    assert_compiled_beside_sources(hook, "editable", [])


def test_calls_compile_nothing_in_an_installation(tmp_path):
    if not ahead.fits(cache.COMPILED):
        pytest.skip("this copy of the package brings no kernels compiled from its sources for this machine")
    done = subprocess.run(
        [sys.executable, "-c", USE],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout.splitlines()[-1]) == []
