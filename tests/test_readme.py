"""What the README shows runs: its Python blocks, in order, in one namespace, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import boostsoft as bs
import boostsoft.lightgbm as bl
from boostsoft.metrics.registry import REGISTRY

README = Path(__file__).parent.parent / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_python_blocks_run_in_order():
    pytest.importorskip("xgboost")
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 11
    assert blocks[0].count("n_estimators=800") == 1
    blocks[0] = blocks[0].replace("n_estimators=800", "n_estimators=30")  # with fewer trees it runs as well
    names = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert names["booster"].num_boosted_rounds() == 50
    assert names["ranker"].n_features_in_ == 5
    _, curvature = bl.objective("ndcg@10")(np.zeros(400), names["train"])
    assert names["l2"] == pytest.approx(40 * curvature.mean(), rel=1e-6)
    X = names["X"]
    refitted = names["named"].refit(X, names["y"], group=names["sizes"])
    assert refitted.predict(X).shape == names["named"].predict(X).shape == (400,)
    assert names["gradient"].shape == names["hessian"].shape == (400,)
    assert abs(names["gradient"].sum()) < 1e-9


def test_the_table_of_peers_names_the_sources():
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| yes \|[^|]*\| ([^|]*) \|", TEXT, re.MULTILINE)
    sources = {name: source for names, source in rows for name in re.findall(r"\w+", names)}
    assert sources == {name: entry.source for name, entry in REGISTRY.items()}


def test_the_table_lists_every_metric():
    table = TEXT[TEXT.index("| metric |") : TEXT.index("Write each as `name@k`")]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| (.*) \|$", table, re.MULTILINE)
    assert [name for name, _, _ in rows] == list(REGISTRY)
    for name, formula, options in rows:
        assert formula == REGISTRY[name].summary
        listed = {*re.findall(r"`(\w+)`", options), "ties", "empty"}
        assert listed == set(bs.Metric(name).options)


@pytest.mark.parametrize(
    ("n_docs", "n_relevant", "losses", "random_trees", "rate"),
    [
        (5_000, 2_500, "", True, 0.1),
        (25_000, 12_500, "many", True, 0.1),
        (25_000, 250, "rare", True, 0.1),
        (60_000, 30_000, "many", False, 0.14),
        (60_000, 4_000, "many", True, 0.1),
        (200_000, 50_000, "many", False, 0.2),
    ],
)
def test_what_to_say_by_hand_is_what_the_ranker_says(n_docs, n_relevant, losses, random_trees, rate):
    table = TEXT[TEXT.index("| part | say |") :].partition("</details>")[0]
    [objective] = re.findall(r"`(bl\.objective\(.*\))`", table)
    by_size = dict(zip(("many", "rare"), re.findall(r'(\{"xendcg".*?\})`', table), strict=True))
    own = eval(objective[:-1] + f", losses={by_size.get(losses)})", {"bl": bl})
    labels = np.zeros(n_docs)
    labels[:: n_docs // n_relevant] = 1
    given = bs.SoftRanker().train_arguments(labels, group=[50] * (n_docs // 50))["params"]
    assert repr(given["objective"]) == repr(own)
    assert given.get("extra_trees", False) == random_trees
    assert given["learning_rate"] == pytest.approx(rate, abs=0.002)
    [categories] = re.findall(r'`("cat_l2".*?)`', table)
    assert eval("{" + categories + "}").items() <= given.items()
