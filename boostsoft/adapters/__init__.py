"""Behind ``boostsoft.lightgbm`` and ``boostsoft.xgboost``: how a booster hands over its data and calls, its traps."""
