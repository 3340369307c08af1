"""Bars: where they show, and what."""

from __future__ import annotations

import io
import re
import sys
import threading
import time
from types import SimpleNamespace

import lightgbm as lgb
import numpy as np
import pytest

from boostsoft import Metric, SoftBlender, SoftMetric, blend_curve, choose_sigma, marginal_value, progress
from boostsoft.progress import bar, shows, watched

from . import ranker_cases
from .processes import passes_alone
from .ranker_cases import both, ranker
from .releases import IS_QUIET

data = ranker_cases.data  # fixture


@pytest.fixture
def terminal(monkeypatch):
    """Stderr is captured, and passes for a terminal."""
    monkeypatch.setattr(progress, "_on_terminal", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")


def lines(err):
    """What a bar said, one line after another, without colours and moves of the cursor."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", err)
    return [line.strip("━╸╺ ") for line in re.split(r"[\r\n]+", plain) if line.strip()]


IN_A_CHILD = """
from multiprocessing import get_context
from boostsoft import progress

progress._on_terminal = lambda: True  # of the child too, which is a copy
with get_context("fork").Pool(1) as pool:
    assert [pool.apply(progress.shows, ("fit", given)) for given in ("auto", True)] == [False, True]
assert progress.shows("fit", "auto")
"""


# ---- where --------------------------------------------------------------------------------------------------------


def test_by_default_it_shows_on_a_terminal(terminal):
    assert [shows("fit", given) for given in ("auto", True, False)] == [True, True, False]


def test_by_default_it_does_not_elsewhere():
    assert [shows("fit", given) for given in ("auto", True, False)] == [False, True, False]
    assert [shows("fit", given) for given in np.array([True, False])] == [True, False]  # as a search's grid has them


def test_workers_show_none_by_default(terminal):
    found = []
    thread = threading.Thread(target=lambda: found.extend(shows("fit", given) for given in ("auto", True)))
    thread.start()
    thread.join()
    assert found == [False, True]
    passes_alone(IN_A_CHILD)


@pytest.mark.parametrize("given", [None, 1, "yes", np.array([1, 2])], ids=str)
def test_what_is_no_progress_is_refused(given):
    with pytest.raises(ValueError, match=r"fit: progress must be True, False or 'auto'; got "):
        shows("fit", given)


# ---- on a terminal ------------------------------------------------------------------------------------------------


def test_short_work_shows_nothing_on_a_terminal(terminal, capsys):
    with bar(True, "training", 2, counts=True) as tell:
        tell(1)
        tell(2, "words")
    assert capsys.readouterr() == ("", "")


def test_long_work_shows_how_far_it_is_and_is_taken_away(terminal, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)

    def work():
        with bar(True, "training", 2, counts=True) as tell:
            tell(1, "booster 1 of 2")
            time.sleep(0.15)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    out, err = capsys.readouterr()
    assert not out
    assert any(re.fullmatch(r"training .* 1/2 booster 1 of 2 .*", line) for line in lines(err))
    assert err.endswith("\x1b[?25h\r\x1b[1A\x1b[2K")  # the cursor is back, and the line gone


# ---- elsewhere ----------------------------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch):
    """No line but the first is due, and the last one comes whenever it does."""
    monkeypatch.setattr(progress, "_PAUSE", 1e9)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.usefixtures("counted")
def test_a_line_elsewhere_is_written_now_and_then_and_ended(capsys):
    with bar(True, "reading", 3, counts=True) as tell:
        for done in (1, 2, 3):
            tell(done, "of a file")
    out, err = capsys.readouterr()
    assert not out
    assert lines(err) == ["1/3 reading of a file", "3/3 reading of a file"]
    assert err.endswith("\n")


def test_a_share_elsewhere(counted, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    with bar(True, "searching") as tell:
        tell(0.49, "so far .4")
        tell(0.5, "w" * 200)
    err = capsys.readouterr().err
    first, second = lines(err)
    assert first == "49% searching so far .4"
    assert second.startswith("50% searching w")
    assert second.endswith("…")
    green, rest = re.search(r"\x1b\[32m(━+)\x1b\[0m\x1b\[90m(━+)", err).groups()
    assert (len(green), len(rest)) == (12, 12)  # 49 % of 24, rounded
    widths = [len(line) for line in written(err)]
    assert widths[1] == progress.PAGE - 1


def written(err):
    """What stands in the line at each time, spaces behind it included."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", err).strip("\r\n").split("\r")


def test_a_line_covers_the_one_before_and_keeps_apart_from_what_comes_next(counted, capsys):
    line = progress.Line()
    line.write(None, "9 trees", "ndcg@10", "0.5000")
    line.write(None, "10 trees", "map")
    first, second = written(capsys.readouterr().err)
    assert first == "9 trees ndcg@10 0.5000  "
    assert second == "10 trees map ".ljust(len(first))


@pytest.mark.parametrize(
    ("environment", "encoding", "expected"),
    [
        ({}, "utf-8", "━" * 24 + " 1/4 ndcg@10 0.5 ± 0.1"),
        ({"NO_COLOR": "1"}, "utf-8", "━" * 6 + " " * 18 + " 1/4 ndcg@10 0.5 ± 0.1"),
        ({"TERM": "dumb"}, "utf-8", "━" * 6 + " " * 18 + " 1/4 ndcg@10 0.5 ± 0.1"),
        ({}, "ascii", "-" * 24 + " 1/4 ndcg@10 0.5 +- 0.1"),
        ({"NO_COLOR": "1"}, "latin-1", "-" * 6 + " " * 18 + " 1/4 ndcg@10 0.5 +- 0.1"),
        ({"COLUMNS": "49"}, "utf-8", "1/4 ndcg@10 0.5 ± 0.1"),
        ({"COLUMNS": "22"}, "utf-8", "1/4 ndcg@10 0.5 ± …"),
        ({"COLUMNS": "20"}, "ascii", "1/4 ndcg@10 0.5 +"),
    ],
)
def test_a_line_suits_the_terminal(environment, encoding, expected, terminal, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding))
    monkeypatch.delenv("FORCE_COLOR")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    line = progress.Line()
    line.write(0.25, "1/4", "ndcg@10", "0.5 ± 0.1")
    line.write(0.25, "1/4", "ndcg@10", "0.5 ± 0.1")
    sys.stderr.flush()
    shown = raw.getvalue().decode(encoding)
    assert shown.startswith("\r")
    assert written(shown) == [expected + "  "] * 2


def test_an_editors_shell_is_no_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: True))
    for term, found in (("xterm", True), ("dumb", False), ("", True)):
        monkeypatch.setenv("TERM", term)
        assert shows("fit", "auto") is found


def test_what_stands_in_for_a_terminal_need_not_know_what_it_is(monkeypatch):
    closed = io.StringIO()
    closed.close()
    for stream in (None, SimpleNamespace(write=str), closed):
        monkeypatch.setattr(sys, "stderr", stream)
        assert shows("fit", "auto") is False


@pytest.mark.usefixtures("counted")
def test_a_bar_within_another_is_silent(capsys):
    inner = progress.MetricBar("track", True)
    assert inner.due(last=True)
    with bar(True, "outer", 2, counts=True) as tell:
        with bar(True, "inner", 2, counts=True) as tell_inner:
            tell_inner(2)
        assert not inner.due(last=True)
        tell(2)
    assert inner.due(last=True)
    assert lines(capsys.readouterr().err) == ["2/2 outer"]


def lgb_model(X, y):
    params = {"objective": "lambdarank", "verbose": -1, "num_leaves": 4, "min_data_in_leaf": 2, "num_threads": 1}
    return lgb.train(params, lgb.Dataset(X, y, group=[10] * 6), 2)


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize(
    "call",
    [
        lambda S, y, **given: blend_curve(S, y, n_boot=20, **given),
        lambda S, y, **given: choose_sigma(S, y, method="tradeoff", sigmas=[0.1, 0.5], **given),
        lambda S, y, **given: choose_sigma(S, y, method="held-out", sigmas=[0.1, 0.5], **given),
        lambda S, y, **given: marginal_value(lgb_model(S, y), {"new": (S, y, [10] * 6)}, S, y, **given),
        lambda S, y, **given: SoftBlender(progress=given["progress"]).fit(S, y, group=given["group"]),
    ],
)
def test_a_bar_ends_with_an_error_though_its_traceback_is_kept(call, monkeypatch, capsys):
    """As an interactive session keeps it: another bar would be silent."""
    rng = np.random.default_rng(0)
    S, y = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)

    def interrupting(method):
        def interrupted(*given):
            if progress._open:
                raise KeyboardInterrupt
            return method(*given)

        return interrupted

    for kind, name in ((Metric, "evaluate"), (SoftMetric, "evaluate"), (SoftMetric, "evaluate_with_gradient")):
        monkeypatch.setattr(kind, name, interrupting(getattr(kind, name)))
    with pytest.raises(KeyboardInterrupt) as kept:
        call(S, y, group=[10] * 6, progress=True)
    assert kept.tb is not None
    assert progress._open == []


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize(("total", "shown"), [(2, ["1/2 reading", "2/2 reading"]), (None, ["1 reading"])])
def test_what_is_gone_through_is_counted_once_it_is_done(total, shown, capsys):
    found = watched("ab", total, "reading", True)
    assert next(found) == "a"
    assert capsys.readouterr().err == ""
    assert list(found) == ["b"]
    err = capsys.readouterr().err
    assert lines(err) == shown
    assert ("━" in err) == (total is not None)


# ---- of a ranker --------------------------------------------------------------------------------------------------


@both
@IS_QUIET
@pytest.mark.parametrize("n_boosters", [1, 2])
def test_a_ranker_says_how_far_it_is(booster, n_boosters, data, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    models = [
        ranker(booster, n_estimators=5, n_boosters=n_boosters, progress=shown).fit(
            data.X, data.y, qid=data.qid, eval_set=sets, eval_qid=[data.qid] if sets else None
        )
        for sets in (None, [(data.X, data.y)])
        for shown in (False, True)
    ]
    out, err = capsys.readouterr()
    assert not out
    total, said = 5 * n_boosters, lines(err)
    curve = models[-1].evals_result_["valid_0"]["ndcg_gaussian@10"]
    assert len(said) == 2 * total
    for done, (alone, with_metric) in enumerate(zip(said[:total], said[total:], strict=True), 1):
        which = f" booster {(done - 1) // 5 + 1} of 2" if n_boosters == 2 else ""
        assert alone == f"{done}/{total} training{which}"
        assert with_metric == f"{alone}{',' if which else ''} ndcg_gaussian@10 {curve[done - 1]:.4f}"
    assert all(np.array_equal(model.predict(data.X), models[0].predict(data.X)) for model in models)


@IS_QUIET
def test_a_ranker_is_silent_where_nobody_looks(data, capsys):
    ranker().fit(data.X, data.y, qid=data.qid)
    assert capsys.readouterr() == ("", "")


@both
def test_a_booster_that_stops_early_counts_as_done(booster, data, capsys, monkeypatch):
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    model = ranker(booster, n_estimators=60, n_boosters=2, learning_rate=0.9, early_stopping_rounds=2, progress=True)
    model.fit(data.X, data.y, qid=data.qid, eval_set=[(data.X, -data.y + 3)], eval_qid=[data.qid])
    done = [int(line.split("/")[0]) for line in lines(capsys.readouterr().err)]
    assert model.n_iter_ == len(done) < 20
    assert done[0] == 1
    assert 61 in done


def test_a_ranker_checks_what_it_is_to_show(data):
    with pytest.raises(ValueError, match=r"SoftRanker.fit: progress must be True, False or 'auto'; got 'yes'"):
        ranker(progress="yes").fit(data.X, data.y, qid=data.qid)
