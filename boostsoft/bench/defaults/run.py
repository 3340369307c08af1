"""A comparison from end to end: draw, fit, measure, report."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.progress import TextColumn, TimeRemainingColumn
from rich.text import Text

from ...arguments import LARGEST_INT32
from ...atomic import write_files
from ...commands.terminal import Bars, error_console, page
from ..machine import describe_machine, in_words
from ..peers import KNOWN, Peers, import_peers
from ..results import Section
from ..tables import section_table
from ..timing import first_line
from .draws import DataSet, Draw, data_sets
from .measured import MAIN, Run, measure, per_query
from .options import FILES, Options
from .rankers import RANKERS, Job
from .report import report_files, section_of

_PAGE = 180  # columns, where nothing says how many there are


def run_defaults(options: Options) -> None:
    """Fit, measure and report; the files are whole after each data set, whatever becomes of the next."""
    console, machine = page(_PAGE), describe_machine()
    peers = import_peers({RANKERS[method].library for method in options.methods})
    methods = [method for method in options.methods if peers.has(RANKERS[method].library)]
    if not methods:
        raise ValueError(f"--methods: none of {','.join(options.methods)} can be fitted; peers: {peers.in_words()}")
    console.print(Text(f"{in_words(machine)}.\nLibraries: {peers.in_words()}.\n"))
    sections: list[Section] = []
    for found in data_sets(options.data, options.documents):
        with error_console() as errors, _Bar(errors, found.name, options.draws * len(methods)) as bar:
            sections.append(_measured(found, methods, options, peers, bar))
        console.print(section_table(sections[-1]))
        files = report_files(options, sections, machine, peers)
        write_files(options.out, files, FILES)
    console.print(Text(f"Written to {options.out}: {', '.join(files)}"))


def _measured(found: DataSet, methods: Sequence[str], options: Options, peers: Peers, bar: _Bar) -> Section:
    left_out = {
        RANKERS[method].name: f"{KNOWN[RANKERS[method].library][0]} {peers.missing[RANKERS[method].library]}"
        for method in options.methods
        if method not in methods
    }
    runs: dict[str, list[Run]] = {method: [] for method in methods}
    for number in range(options.draws):
        seed = (options.seed + number) % (LARGEST_INT32 + 1)  # no library takes more
        draw = found.draw(seed)
        turn = number % len(methods)  # no ranker is always the first
        for method in [*methods[turn:], *methods[:turn]]:
            bar.step(RANKERS[method].name)
            if RANKERS[method].name in left_out:
                continue
            try:
                runs[method].append(_run(draw, method, seed, options))
            except Exception as error:
                left_out[RANKERS[method].name] = first_line(error)
    whole = {method: runs[method] for method in methods if RANKERS[method].name not in left_out}
    if not whole:
        raise ValueError(f"bench defaults: no ranker could be fitted on {found.name}: {next(iter(left_out.values()))}")
    if np.isnan(per_query(next(iter(whole.values())), MAIN)).all():
        raise ValueError(f"bench defaults: no draw of {found.name} has anything relevant to test on: give more --draws")
    return section_of(found.name, whole, left_out, options, found.read)


def _run(draw: Draw, method: str, seed: int, options: Options) -> Run:
    started = time.perf_counter()
    fitted = RANKERS[method].fit(Job(draw, seed, options.trees, options.stop))
    return measure(draw, fitted, time.perf_counter() - started)


class _Bar(Bars):
    """A bar over all fits on a data set."""

    def __init__(self, console: Console, name: str, fits: int) -> None:
        super().__init__(console, TimeRemainingColumn(), TextColumn("[cyan]{task.fields[now]}"), transient=True)
        self._task, self._begun = self._progress.add_task(name, total=fits, now=""), 0

    def step(self, name: str) -> None:
        """Name what is fitted; what was before it is done."""
        self._progress.update(self._task, completed=self._begun, now=name)
        self._begun += 1
