"""Side-by-side benchmarks against installed peers: ``python -m boostsoft bench``.

Nearly everything runs in one process and one run, interleaved round by round (``timing``), so that a busy machine slows
all contenders alike; what is reported are medians over rounds and ratios within rounds. Layers: ``timing``, ``results``
and ``pools`` know nothing of what is measured; a module for each part (``objective_cost``, ``direct``,
``training_cost``, ``tracking``, ``live_cost``, ``hard_cost``, ``growth``, ``limits``, ``cold_start``, ``blending``)
measures and returns ``Section`` values, some of it in processes of their own (``children``); ``tables`` and ``figures``
show them; ``run`` puts them together and ``command`` is the command line. Peers are imported inside functions only. The
packages ``quality`` and ``defaults`` are other kinds of bench: they compare how well what is trained ranks, by settings
that are searched alike, and by those that the libraries come with.
"""
