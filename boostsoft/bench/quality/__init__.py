"""Test quality of training objectives, tuned alike: ``python -m boostsoft bench quality``.

Every method gets the same number of settings, drawn from the same points of a unit cube, trained on the training part
and valued on the validation part: by hard NDCG@10, ours by what SoftRanker watches (``watch``). What is best there is
frozen in a file before any test part is read; then it is trained anew with several seeds and tested. ``space`` and
``methods`` say what is tried; ``train_ranker`` trains ours, ``train_lightgbm``, ``train_xgboost`` and
``train_catboost`` the others; ``tasks`` is one run, ``workers`` runs many, ``comparison`` lists them;
``store``, ``protocol`` and ``frozen`` keep what an interrupted run needs to go on; ``analysis`` and
``report`` show the results; ``run`` puts all together.
"""
