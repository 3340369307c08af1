"""Training on several machines with Dask, by the boosters' own Dask engines.

A gradient compares the documents of a query, so all of them must lie within one partition:
:func:`repartition_by_query` makes it so. :func:`fit_lightgbm` and :func:`train_xgboost` check it on the workers before
training starts, and leave the rest to ``lightgbm.DaskLGBMRanker`` and ``xgboost.dask.train``.

>>> from distributed import Client
>>> import lightgbm as lgb, boostsoft.dask as bd, boostsoft.lightgbm as bl
>>> client = Client("tcp://scheduler:8786")  # doctest: +SKIP
>>> frame = bd.repartition_by_query(frame, npartitions=64).persist()  # doctest: +SKIP
>>> X, y, qid = frame[features], frame["label"], frame["qid"]  # doctest: +SKIP
>>> objective = bl.sklearn_objective("ndcg@10")
>>> ranker = lgb.DaskLGBMRanker(objective=objective, metric="None", time_out=1)  # doctest: +SKIP
>>> bd.fit_lightgbm(ranker, X, y, qid)  # doctest: +SKIP
>>> bd.evaluate("ndcg@10", y, ranker.predict(X), qid)  # doctest: +SKIP

What the engines do, observed on LightGBM 4.7, XGBoost 3.2 and Dask 2026.8:

- Both train where the partitions lie. A worker joins its own into one data set and calls the objective on that;
  gradients, sums over queries, need nothing from other workers: the first tree has the same on any number of them.
- LightGBM takes group sizes, chunked as the partitions are (:func:`group_sizes`). Each feature's bins are found by one
  worker, by chance, from its own rows, and several workers count the rows of a leaf by their curvature
  (``min_child_samples``): trees differ a little from those of one machine, and from run to run.
- LightGBM shows a custom metric the worker's own rows and logs one worker's values, hence :func:`evaluate`. Early
  stopping would stop one worker and leave the others waiting: it is refused here. A worker that raises leaves them
  waiting too, until ``time_out`` (in minutes, 120 by default); one that dies leaves them waiting for ever, unless its
  sockets are reset. The call raises here in either case, and names the workers that wait and how to free them.
- XGBoost takes query ids and sorts a worker's rows by them. It averages over the workers what custom metrics return;
  those of ``boostsoft.xgboost`` have pooled their sums and the spread before that, by XGBoost's own collective, so that
  the log shows the mean over all queries, and early stopping happens on all workers at once. With query ids it takes no
  weights ("not implemented"); here they travel as ``label_lower_bound``, for which ranking has no other use. When a
  worker dies or raises, the others raise at once, and which error arrives is a matter of chance: the cause may stand in
  the workers' log.
- Metrics with ``ranks="sampled"`` seed a query's draws by its place in its part: other partitions, other draws.
"""

from .evaluation import evaluate
from .lightgbm import fit_lightgbm
from .parts import group_sizes
from .repartition import repartition_by_query
from .xgboost import train_xgboost

__all__ = ["evaluate", "fit_lightgbm", "group_sizes", "repartition_by_query", "train_xgboost"]


def __dir__() -> list[str]:
    return __all__  # completion is not to offer the modules behind these
