"""Tiny ranking sets for the comparison of training objectives, its options, and what it leaves in its folder."""

from __future__ import annotations

import json

import numpy as np
import pytest

from boostsoft.bench.quality import run, tasks, workers
from boostsoft.bench.quality.options import Options

N_QUERIES, N_DOCS, TREES = 8, 12, 8
TINY = ("soft-lightgbm", "lambdarank")


def letor_text(part, seed=0, n_queries=N_QUERIES):
    """Queries of a dozen documents; the first one of each part has nothing relevant."""
    rng = np.random.default_rng([seed, part])
    lines = []
    for query in range(n_queries):
        X = rng.normal(size=(N_DOCS, 4))
        y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + 0.8 * rng.normal(size=N_DOCS), [0.6, 1.5]) * bool(query)
        for label, x in zip(y, X, strict=True):
            features = " ".join(f"{i}:{value:.3f}" for i, value in enumerate(x, 1))
            lines.append(f"{label} qid:{100 * part + query} {features}")
    return "\n".join(lines) + "\n"


def five_parts(path):
    """A folder of S1 to S5."""
    path.mkdir()
    for part in range(1, 6):
        (path / f"S{part}.txt").write_text(letor_text(part))
    return path


def three_files(path):
    """One fold in three files of its own."""
    path.mkdir()
    for part, name in enumerate(("train", "vali", "test"), 1):
        (path / f"{name}.txt").write_text(letor_text(part))
    return path


def options(folder, out, **changes):
    """A comparison of seconds."""
    given = {"methods": TINY, "trials": 3, "seeds": 2, "trees": TREES, "folds": 2, **changes}
    return Options(data=(folder,), out=out, **given)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return five_parts(tmp_path_factory.mktemp("quality") / "TINY")


@pytest.fixture
def split(tmp_path):
    return three_files(tmp_path / "SPLIT")


@pytest.fixture(scope="module")
def small(folder, tmp_path_factory):
    """The folder of a run of two methods that nothing interrupted."""
    out = tmp_path_factory.mktemp("small") / "out"
    run.run_quality(options(folder, out))
    return out


def records(out):
    """The lines of the log, by key."""
    return {record["key"]: record for record in map(json.loads, (out / "runs.jsonl").read_text().splitlines())}


def results(out):
    """All that runs give but their times."""
    return {
        key: {name: value for name, value in record.items() if name != "seconds"}
        for key, record in records(out).items()
    }


def arrays(out):
    """All values per query."""
    found = {}
    for path in sorted((out / "runs").iterdir()):
        with np.load(path) as values:
            found |= {f"{path.stem}/{name}": values[name] for name in values.files}
    return found


def assert_same(first, second):
    """Equal arrays under equal names."""
    assert first.keys() == second.keys()
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name])


def interrupt_after(monkeypatch, count):
    """Let so many runs be done, then press Ctrl-C; returns the keys that were trained."""
    trained, real = [], tasks.run_task

    def watched(task):
        if len(trained) == count:
            raise KeyboardInterrupt
        trained.append(task.key)
        return real(task)

    monkeypatch.setattr(workers, "run_task", watched)
    return trained
