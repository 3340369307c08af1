"""bx.train: XGBoost's own train with what a ranking objective needs, and no stopping at the worst tree."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import boostsoft as bs
import boostsoft.xgboost as bx

from .releases import left_out

xgb = pytest.importorskip("xgboost")

SIZES = [20] * 30


def ranking(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 4))
    return X, np.digitize(X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(scale=0.5, size=600), [0.5, 1.5]).astype(float)


@pytest.fixture(scope="module")
def data():
    return xgb.DMatrix(*ranking(0), group=SIZES)


@pytest.fixture(scope="module")
def valid():
    return xgb.DMatrix(*ranking(1), group=SIZES)


def same(one, other, data):
    np.testing.assert_array_equal(one.predict(data, output_margin=True), other.predict(data, output_margin=True))


def test_it_is_xgboosts_train_with_the_settings_named(data):
    ours = bx.train({"eta": 0.1}, data, 8, verbose_eval=False)
    params = {"eta": 0.1, "base_score": 0, "disable_default_eval_metric": True}
    same(ours, xgb.train(params, data, 8, obj=bx.objective("ndcg@10")), data)


@pytest.mark.parametrize(
    "obj",
    ["map", bs.Metric("err@5"), bx.objective("ndcg@3", noise="gumbel"), bx.reference_objective("ranknet")],
    ids=repr,
)
def test_objectives_of_every_kind(data, obj):
    rule = obj if isinstance(obj, bx.XGBoostObjective) else bx.objective(obj)
    params = {"base_score": 0, "disable_default_eval_metric": True}
    expected = xgb.train(params, data, 3, obj=rule)
    same(bx.train({}, data, 3, obj=obj, verbose_eval=False), expected, data)
    same(
        bx.train({"base_score": None}, data, 3, obj=obj, verbose_eval=False), expected, data
    )  # as get_xgb_params has it


def test_what_is_set_is_said_and_the_users_own_stays(data, capfd):
    bx.train({}, data, 2, evals=[(data, "train")])
    said = capfd.readouterr().out
    assert said.startswith(
        "boostsoft.xgboost.train sets base_score=0, disable_default_eval_metric=True, maximize=True\n"
    )
    assert "train-ndcg_hard@10" in said
    assert "train-ndcg_gaussian@10" in said
    assert "rmse" not in said
    bx.train({"base_score": 2.0}, data, 2, evals=[(data, "train")])
    assert "sets disable_default_eval_metric=True, maximize=True" in capfd.readouterr().out
    bx.train({"base_score": 0, "disable_default_eval_metric": True}, data, 2, evals=[(data, "train")])
    assert capfd.readouterr().out.startswith("boostsoft.xgboost.train sets maximize=True\n")
    bx.train({}, data, 2, obj=bx.objective("map", noise="gumbel"), evals=[(data, "train")], evals_result=(log := {}))
    assert list(log["train"]) == ["map_hard", "map_gumbel"]
    capfd.readouterr()
    bx.train({}, data, 2, evals=[(data, "train")], verbose_eval=False)
    bx.train({}, data, 2, evals=None)  # as xgb.train's default
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("obj", ["mrr@10", "ndcg@10", "kendall"])
def test_early_stopping_keeps_the_best_tree_of_metrics_whose_direction_is_not_in_their_names(data, valid, obj):
    log = {}
    model = bx.train(
        {"eta": 0.5, "max_depth": 8}, data, 200, obj=obj, evals=[(data, "train"), (valid, "valid")],
        early_stopping_rounds=10, evals_result=log, verbose_eval=False,
    )  # fmt: skip
    curve = log["valid"][list(log["valid"])[-1]]
    assert list(log["valid"])[-1].split("@")[0].endswith("_gaussian")
    assert model.best_iteration == int(np.argmax(curve))
    assert 0 < len(curve) - 1 - model.best_iteration == 10


def test_metrics_may_be_one_many_or_an_adapter(data):
    soft = bs.SoftMetric("map@10", noise="gumbel")
    for given, names in (
        ("mrr", ["mrr_hard"]),
        (soft, ["map_gumbel@10"]),
        (["auc", soft], ["auc_hard", "map_gumbel@10"]),
        (bx.custom_metric("err"), ["err_hard"]),
    ):
        log = {}
        bx.train({}, data, 1, custom_metric=given, evals=[(data, "train")], evals_result=log, verbose_eval=False)
        assert list(log["train"]) == names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"maximize": False}, "boostsoft.xgboost.train: maximize must be True"),
        (
            {"callbacks": [xgb.callback.EarlyStopping(rounds=2, maximize=False)]},
            "would minimise 'ndcg_gaussian@10', which is to be maximised: give it maximize=True; got maximize=False",
        ),
        (
            {"custom_metric": "mrr", "callbacks": [xgb.callback.EarlyStopping(rounds=2)]},
            "would minimise 'mrr_hard', which is to be maximised: give it maximize=True; got maximize=None",
        ),
        (
            {
                "custom_metric": ["mrr", "ndcg"],
                "callbacks": [xgb.callback.EarlyStopping(rounds=2, metric_name="mrr_hard")],
            },
            "would minimise 'mrr_hard'",
        ),
    ],
)
def test_a_direction_that_contradicts_is_refused(data, arguments, message):
    with pytest.raises(ValueError, match=message):
        bx.train({}, data, 5, evals=[(data, "train")], verbose_eval=False, **arguments)


def test_the_direction_may_be_left_open_as_in_xgboost(data, valid):
    given = {"custom_metric": "err@10", "early_stopping_rounds": 3, "evals": [(valid, "valid")], "verbose_eval": False}
    said, left = (bx.train({"eta": 0.5}, data, 50, maximize=maximize, **given) for maximize in (True, None))
    assert (left.best_iteration, left.best_score) == (said.best_iteration, said.best_score)


def test_a_metric_that_is_called_mape_would_be_minimised(data, valid):
    """By XGBoost, which takes other names that begin with map for metrics to maximise."""

    def stopped(name):
        stop = xgb.callback.EarlyStopping(rounds=3)
        metric = bs.Metric("ndcg@10", name=name)
        return bx.train(
            {}, data, 5, custom_metric=metric, evals=[(valid, "valid")], callbacks=[stop], verbose_eval=False
        )

    assert stopped("mapped").best_iteration >= 0
    with pytest.raises(ValueError, match=r"would minimise 'mape'.* got maximize=None"):
        stopped("mape")


@pytest.mark.parametrize("name", ["valid", "mine"])
def test_a_recorder_beside_evals_leaves_early_stopping_as_it_is(data, valid, name):
    given = {"custom_metric": "ndcg@10", "early_stopping_rounds": 5, "verbose_eval": False}
    alone = bx.train({"eta": 0.5}, data, 100, evals=[(valid, "valid")], **given)
    recorder = bx.TrackCallback(data, "err@10", name=name)
    beside = bx.train({"eta": 0.5}, data, 100, evals=[(valid, "valid")], callbacks=[recorder], **given)
    assert (beside.best_iteration, beside.best_score) == (alone.best_iteration, alone.best_score)
    assert beside.num_boosted_rounds() == alone.num_boosted_rounds() < 100


RECORDED = {
    "its own set": ("valid", (), {}),
    "the set by name": ("mine", ["train"], {"data_name": "mine"}),
    "the metric by name": ("train", ["train"], {"metric_name": "err_hard@10"}),
}


@pytest.mark.parametrize(("name", "evals", "watched"), RECORDED.values(), ids=RECORDED)
def test_a_recorded_metric_that_would_be_minimised_is_refused(data, valid, name, evals, watched):
    callbacks = [bx.TrackCallback(valid, "err@10", name=name), xgb.callback.EarlyStopping(rounds=3, **watched)]
    given = {"evals": [(data, each) for each in evals], "verbose_eval": False}
    with pytest.raises(ValueError, match="an EarlyStopping callback would minimise 'err_hard@10', which is to be"):
        bx.train({}, data, 5, callbacks=callbacks, **given)
    callbacks[1].maximize = True
    assert bx.train({}, data, 5, callbacks=callbacks, **given).num_boosted_rounds() <= 5


def test_a_recorded_metric_that_is_not_watched_may_have_any_name(data, valid):
    callbacks = [bx.TrackCallback(valid, "err@10"), xgb.callback.EarlyStopping(rounds=3)]
    given = {"custom_metric": bs.Metric("err@10", name="ndcg_of_mine"), "evals": [(data, "train")]}
    assert bx.train({}, data, 5, callbacks=callbacks, verbose_eval=False, **given).num_boosted_rounds() == 5


@pytest.mark.parametrize("kept", [False, True], ids=["named", "kept"])
def test_an_error_of_xgboosts_own_behind_what_is_recorded_is_not_maximised(data, valid, kept):
    params, start = {"eval_metric": ["ndcg@5", "rmse"]}, None
    if kept:  # by a model in memory
        params, start = {}, xgb.train(params, data, 2)
    soft = bs.SoftMetric("ndcg@10", sigma=0.2, sigma_unit="spread")

    def stopped(params, custom_metric=None, record="ndcg@10", **given):
        callbacks = [bx.TrackCallback(valid, record, soft), *given.pop("callbacks", ())]
        given = {"xgb_model": start, "verbose_eval": False, "evals": [(valid, "valid")], **given}
        return bx.train(params, data, 9, custom_metric=custom_metric, callbacks=callbacks, **given)

    with pytest.raises(ValueError, match=r"train: early_stopping_rounds would keep the worst tree by 'rmse', the last"):
        stopped(params, early_stopping_rounds=3)
    stopped(params)  # nothing stops
    stopped(params, evals=(), early_stopping_rounds=3)  # by what is recorded
    stopped({"eval_metric": [*params.get("eval_metric", ()), "ndcg@3"]}, early_stopping_rounds=3)
    stopped(params, "ndcg@10", record="err@10", early_stopping_rounds=3)
    named = xgb.callback.EarlyStopping(rounds=3, metric_name="ndcg_gaussian@10", maximize=True)
    assert float(stopped(params, callbacks=[named]).attr("best_score")) < 1


@pytest.mark.parametrize(
    "callback",
    [
        xgb.callback.EarlyStopping(rounds=2, maximize=True),
        xgb.callback.EarlyStopping(rounds=2, metric_name="ndcg_hard@10"),
        xgb.callback.EarlyStopping(rounds=2, metric_name="logloss", maximize=False, data_name="train"),
        xgb.callback.LearningRateScheduler([0.1] * 3),
    ],
    ids=lambda callback: type(callback).__name__,
)
def test_callbacks_that_do_not_contradict_are_left_alone(data, callback):
    log = {}
    params = {"eval_metric": "logloss"}
    bx.train(params, data, 3, evals=[(data, "train")], callbacks=[callback], evals_result=log, verbose_eval=False)
    assert list(log["train"]) == ["logloss", "ndcg_hard@10", "ndcg_gaussian@10"]


def map_of_lightgbm():
    import boostsoft.lightgbm as bl

    return bl.feval("map")


@pytest.mark.parametrize(
    "given",
    [lambda p, d: ("a", 1.0), map_of_lightgbm(), 3, {"ndcg": [5]}],
    ids=["function", "feval", "number", "mapping"],
)
def test_a_metric_of_another_kind_is_refused_with_the_remedy(data, given):
    match = (
        r"boostsoft\.xgboost\.train: custom_metric must be metrics such as 'ndcg@10', or what "
        r"boostsoft\.xgboost\.custom_metric builds; got .*: xgb\.train itself takes functions, and maximize="
    )
    with pytest.raises(TypeError, match=match):
        bx.train({}, data, 3, custom_metric=given)


@pytest.mark.parametrize("obj", [bs.SoftMetric("ndcg@10"), ["ndcg@10"], lambda predt, dtrain: None])
def test_what_cannot_be_trained_on_is_refused_by_the_name_of_the_argument(data, obj):
    match = r"^boostsoft\.xgboost\.train: obj must be a string such as 'ndcg@10', a Metric or what .* builds; got"
    with pytest.raises(TypeError, match=match):
        bx.train({}, data, 3, obj=obj)


def test_data_that_is_no_dmatrix_is_refused():
    with pytest.raises(TypeError, match=r"^boostsoft\.xgboost\.train: dtrain must be a DMatrix; got ndarray"):
        bx.train({}, np.zeros((4, 2)), 3)


@pytest.mark.parametrize("params", [None, [("eta", 0.1)], "eta=1"])
def test_params_that_are_no_mapping_are_refused(data, params):
    with pytest.raises(TypeError, match=r"xgboost\.train: params must be a dict, \{\} for XGBoost's defaults; got"):
        bx.train(params, data, 3)


@pytest.mark.parametrize("sets", [3, [3], "valid", [("valid", 3)], [(None, "valid")], [()]])
def test_evals_that_are_no_pairs_of_data_and_name_are_refused(data, sets):
    with pytest.raises(TypeError, match=r"boostsoft\.xgboost\.train: evals must be pairs of a DMatrix and a name.*got"):
        bx.train({}, data, 2, evals=sets)


def test_a_data_set_without_its_name_is_no_pair(data):
    with pytest.raises(TypeError, match="evals must be pairs"):
        bx.train({}, data, 2, evals=data)
    with pytest.raises(TypeError, match="evals must be pairs"):
        bx.train({}, data, 2, evals=[data])


def test_two_data_sets_of_one_name_are_refused(data, valid):
    """XGBoost would write both into one curve, in turns."""
    with pytest.raises(ValueError, match="the names in evals must differ; got 'v' more than once"):
        bx.train({}, data, 2, evals=[(data, "v"), (valid, "w"), (valid, "v")])


def test_another_objective_in_params_is_refused(data):
    with pytest.raises(
        ValueError, match="params must not hold an objective, obj= says what to train on; got 'rank:ndcg'"
    ):
        bx.train({"objective": "rank:ndcg"}, data)


def test_training_continues_from_a_model(data):
    whole = bx.train({}, data, 6, verbose_eval=False)
    half = bx.train({}, data, 3, verbose_eval=False)
    same(bx.train({}, data, 3, xgb_model=half, verbose_eval=False), whole, data)


@pytest.mark.parametrize("objective", ["binary:logistic", "count:poisson", "reg:squarederror", "rank:ndcg"])
def test_a_model_that_is_continued_keeps_what_its_scores_start_from(data, objective, capfd):
    X, y = ranking(0)
    clicks = xgb.DMatrix(X, y > 1, group=SIZES)
    start = xgb.train({"objective": objective, "base_score": 0.3}, clicks, 3)
    booster = bx.train({}, data, 3, xgb_model=start, evals=[(data, "train")])
    assert "sets disable_default_eval_metric=True, maximize=True" in capfd.readouterr().out
    same(booster[:3], start, data)
    assert booster.num_boosted_rounds() == 6


class Batches(xgb.DataIter):
    """The queries in three batches, from memory or by way of a cache on disk."""

    def __init__(self, cache=None):
        super().__init__(cache_prefix=None if cache is None else str(cache))
        self.X, self.y = ranking(0)
        self.qid = np.repeat(np.arange(30), 20)
        self.at = 0

    def reset(self):
        self.at = 0

    def next(self, input_data):
        if self.at == 3:
            return False
        rows = slice(200 * self.at, 200 * (self.at + 1))
        input_data(data=self.X[rows], label=self.y[rows], qid=self.qid[rows])
        self.at += 1
        return True


OF_XGBOOST_3 = left_out(xgb.__version__, (3, 0), "XGBoost before 3.0 has no such matrix")


@pytest.mark.parametrize("kind", ["quantile", "external", pytest.param("external quantile", marks=OF_XGBOOST_3)])
def test_quantile_and_external_memory_data_train(data, kind, tmp_path):
    """Where queries come in batches, whole each, the groups and the model are those of one matrix."""
    cache = tmp_path / "cache"
    built = {
        "quantile": lambda: xgb.QuantileDMatrix(Batches()),
        "external": lambda: xgb.DMatrix(Batches(cache)),
        "external quantile": lambda: xgb.ExtMemQuantileDMatrix(Batches(cache)),
    }[kind]()
    assert built.get_uint_info("group_ptr").tolist() == list(range(0, 601, 20))
    model = bx.train({"max_depth": 3}, built, 10, verbose_eval=False)
    plain = bx.train({"max_depth": 3}, data, 10, verbose_eval=False)
    ndcg = bs.Metric("ndcg@10")
    X, y = ranking(0)
    values = [ndcg(y, booster.predict(xgb.DMatrix(X)), group=SIZES) for booster in (model, plain)]
    assert values[0] == pytest.approx(values[1], abs=0.02)
    assert values[0] > ndcg(y, np.zeros(600), group=SIZES) + 0.1


def test_a_missing_xgboost_is_one_line_that_names_the_extra():
    code = (
        "import sys; sys.modules['xgboost'] = None\n"
        "import boostsoft.xgboost as bx\n"
        "bx.custom_metric('ndcg@10'); bx.objective()\n"
        "try:\n    bx.train({}, None)\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "boostsoft.xgboost.train: XGBoost is not installed: pip install 'boostsoft[xgboost-cpu]' "
        "(or 'boostsoft[xgboost]')\n"
    )


def test_no_round_leaves_an_empty_model_that_a_tracking_callback_can_watch(data):
    for progress in (False, True):
        callback = bx.TrackCallback(data, "ndcg@10", progress=progress)
        assert bx.train({}, data, 0, callbacks=[callback], verbose_eval=False).num_boosted_rounds() == 0


def test_callbacks_may_come_from_an_iterator(data):
    class Counted(xgb.callback.TrainingCallback):
        rounds = 0

        def after_iteration(self, model, epoch, evals_log):
            self.rounds += 1
            return False

    callback = Counted()
    bx.train({}, data, 3, callbacks=iter([callback]), verbose_eval=False)
    assert callback.rounds == 3


def weighted(seed):
    X, y = ranking(seed)
    return xgb.DMatrix(X, y, group=SIZES, weight=np.linspace(1, 2, len(SIZES)))


@pytest.mark.parametrize(
    ("params", "wrong"),
    [
        ({"eval_metric": "rmse"}, "rmse"),
        ({"eval_metric": ["ndcg@5", "mae"]}, "mae"),
        ({"eval_metric": ["map@5", "mape"]}, "mape"),
        ({"disable_default_eval_metric": False}, "rmse"),
        ({"disable_default_eval_metric": "False"}, "rmse"),
        ({"disable_default_eval_metric": "0"}, "rmse"),
    ],
)
def test_a_metric_of_documents_is_not_evaluated_where_queries_have_weights(params, wrong):
    """XGBoost would end the process."""
    data = weighted(0)
    with pytest.raises(ValueError, match=f"train: '{wrong}' must not be evaluated on 'valid', whose weights are"):
        bx.train(params, data, 2, evals=[(data, "valid")], verbose_eval=False)
    bx.train({"eval_metric": ["ndcg@5", "ndcg@3-"]}, data, 2, evals=[(data, "valid")], verbose_eval=False)
    bx.train(params, weighted(0), 2, verbose_eval=False)


def test_the_metrics_of_a_model_that_is_continued_are_seen(data):
    plain, queries = xgb.train({}, data, 2), weighted(1)
    with pytest.raises(ValueError, match="'rmse' must not be evaluated on 'valid'"):
        bx.train({}, queries, 2, evals=[(queries, "valid")], xgb_model=plain, verbose_eval=False)
    bare = xgb.Booster(model_file=plain.save_raw())
    assert bx.train({}, queries, 2, evals=[(queries, "valid")], xgb_model=bare, verbose_eval=False) is not None


@pytest.mark.parametrize("saved", [False, True])
def test_the_metric_of_its_objective_is_refused_where_a_model_is_continued(saved, data, tmp_path):
    queries, on = weighted(1), {"disable_default_eval_metric": False}
    for objective, refused in (("ours", True), ("rank:ndcg", False), ("rank:pairwise", False), ("reg:logistic", True)):
        labels = xgb.DMatrix(ranking(0)[0], (data.get_label() > 0).astype(float), group=SIZES)
        first = bx.train({}, data, 2, verbose_eval=False) if objective == "ours" else None
        first = first or xgb.train({"objective": objective}, labels, 2)
        first.save_model(path := tmp_path / "model.json")
        start = str(path) if saved else xgb.Booster(model_file=path)
        given = {"evals": [(queries, "valid")], "xgb_model": start, "verbose_eval": False}
        bx.train({}, queries, 2, **given)
        if refused:
            with pytest.raises(ValueError, match=r"train: 'the metric of reg:\w+' must not be evaluated on 'valid'"):
                bx.train(on, queries, 2, **given)
        else:
            bx.train(on, queries, 2, **given)


def test_mape_is_not_taken_for_map(data):
    stop, metric = xgb.callback.EarlyStopping(rounds=2), bs.Metric("ndcg@5", name="mape")
    with pytest.raises(ValueError, match="would minimise 'mape'"):
        bx.train({}, data, 2, custom_metric=metric, evals=[(data, "v")], callbacks=[stop], verbose_eval=False)


def test_a_single_weighted_query_is_enough_to_be_refused(data):
    X, y = ranking(0)
    one = xgb.DMatrix(X[:20], y[:20], group=[20], weight=[2.0])
    with pytest.raises(ValueError, match="'rmse' must not be evaluated on 'one', whose weights are"):
        bx.train({"eval_metric": "rmse"}, data, 2, evals=[(one, "one")], verbose_eval=False)


@pytest.mark.parametrize("build", [bx.objective, bx.reference_objective], ids=lambda build: build.__name__)
def test_an_objective_is_built_before_it_is_given(build, data):
    name = f"boostsoft.xgboost.{build.__name__}"
    with pytest.raises(TypeError, match=rf"^{name}: takes one argument by position.* a booster takes what {name}\("):
        xgb.train({"base_score": 0}, data, 2, obj=build)
