"""The names that arguments are chosen among, for editors and type checkers."""

from __future__ import annotations

from typing import Literal

Auto = Literal["auto"]
Progress = bool | Auto

Noise = Literal["gaussian", "gumbel", "logistic"]
SigmaUnit = Literal["score", "spread"]
Ranks = Literal["exact", "softrank", "sampled"]
Accuracy = Literal["default", "high", "fast"]

GainName = Literal["exp2", "linear"]
DiscountName = Literal["log2", "reciprocal"]
ProbabilityName = Literal["exp2", "label"]
Ties = Literal["expected", "order", "worst", "corrected"]
Empty = Literal["zero", "one", "skip"]
Normalizer = Literal["relevant", "min", "retrieved", "k"]

Hessian = Literal["flow", "exact", "constant"]
Reference = Literal["lambdarank", "ranknet", "lambdaloss", "softlambda", "xendcg", "softmax", "listnet", "queryrmse"]
LambdaKind = Literal["lambdarank", "ranknet"]
Gamma = Literal["uniform", "expected"]
BoosterName = Literal["lightgbm", "xgboost"]

Normalize = Literal["rank", "zscore", "minmax", "none"]
Constraint = Literal["simplex", "nonnegative", "free"]
BlendMethod = Literal["soft", "coordinate-ascent", "ltr-ga", "ltr-mga", "grid", "random", "equal", "rrf"]
SigmaMethod = Literal["held-out", "tradeoff", "sensitivity", "residual"]

Frame = Literal["pandas", "polars"]
Pool = Literal["judged", "retrieved"]
Topics = Literal["judged", "all"]
WorstBy = Literal["value", "change"]
Smoothness = Literal["variation", "variance", "polynomial"]
BandKind = Literal["paired", "mean"]
RowKind = Literal["hard", "soft", "control"]
CurveKind = Literal["hard", "soft"]
