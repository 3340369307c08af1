"""A comparison from end to end: search, freeze, test, report; each step goes on from what the folder holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console
from rich.text import Text

from ...atomic import write_files
from ...commands.terminal import error_console, page
from ..machine import describe_machine, in_words
from ..peers import Peers, import_peers
from ..results import Section
from ..tables import section_table, summary
from ..timing import in_hours
from .comparison import Comparison
from .data import find_sets, fingerprints
from .display import Display
from .frozen import FILE, Frozen, choose, failures, failures_in_tests, freeze, read_settings
from .methods import METHODS
from .options import FILES, Options
from .protocol import Protocol, versions
from .report import report_files, sections_of, tested, threads_in_words
from .store import RunLog
from .tasks import TEST, TUNE, Place, Task
from .workers import Runner, workers

_PAGE = 180  # columns, where nothing says how many there are
_PILOTS = 2  # the first run of a method may compile, and is of stock settings, which need fewer trees than most


@dataclass
class _Bench:
    """A comparison with all that its steps use."""

    comparison: Comparison
    log: RunLog
    protocol: Protocol
    runner: Runner
    console: Console
    machine: dict[str, Any]
    peers: Peers
    asked: Sequence[Task] = ()

    @property
    def options(self) -> Options:
        """Of the comparison."""
        return self.comparison.options


def run_quality(options: Options) -> None:
    """Search, freeze, test and report; an interrupted run is continued."""
    console, machine = page(_PAGE), describe_machine()
    sets = find_sets(options.data, options.folds)
    peers = import_peers({METHODS[method].library for method in options.methods})
    methods = [method for method in options.methods if peers.has(METHODS[method].library)]
    if not methods:
        raise ValueError(f"--methods: none of {','.join(options.methods)} can be trained; peers: {peers.in_words()}")
    comparison = Comparison(options, sets, methods)
    given = None if options.settings is None else read_settings(options.settings, comparison.places, options.average)
    entries = _entries(comparison, peers)
    if given is not None:
        given.refuse_other_files(entries["data"])
    options.out.mkdir(parents=True, exist_ok=True)
    protocol, log = Protocol(options.out), RunLog(options.out)
    if not (log.has(TUNE) or log.has(TEST) or (options.out / FILE).is_file()):
        protocol.sections.clear()  # the data were refused before anything was made of them, and may have been mended
    protocol.enter("runs", entries)
    console.print(Text(f"{in_words(machine)}.\nLibraries: {peers.in_words()}.\n"))
    with workers(options.jobs) as runner:
        bench = _Bench(comparison, log, protocol, runner, console, machine, peers)
        try:
            _steps(bench, given)
        except KeyboardInterrupt:
            done = sum(task.key in log for task in bench.asked)
            text = f"{done} of {len(bench.asked)} runs are done and kept; the same command goes on from there."
            console.print(Text(text))
            raise


def _steps(bench: _Bench, given: Frozen | None) -> None:
    options = bench.options
    frozen = given or _tuned(bench)
    if options.tune_only:
        again = "--settings FILE"
        if options.average > 1:
            again += f" --average {options.average}"
        if bench.comparison.failed:
            again += f" --methods {','.join(bench.comparison.methods)}"
        text = f"Settings written to {options.out / FILE}: commit this file, then run again with {again}."
        bench.console.print(Text(text, style="bold"))
        return
    sections = _tested(bench, frozen)
    comparison, protocol = bench.comparison, bench.protocol.sections
    files = report_files(comparison, frozen, protocol, sections, bench.machine, bench.peers)
    try:
        write_files(options.out, files, FILES)
    finally:  # what has been measured is seen, whatever becomes of the files
        for section in sections:
            bench.console.print(section_table(section))
        bench.console.print(Text(summary(sections), style="bold"))
    bench.console.print(Text(f"Written to {options.out}: {', '.join(files)}"))


def _tuned(bench: _Bench) -> Frozen:
    """Search, and freeze what is best; a method that fails in every trial of a fold is left out from here on."""
    options = bench.options
    bench.protocol.enter("tuning", {"trials": options.trials, "seed": options.seed})
    trials = bench.comparison.trials()
    _execute(bench, "tuning", trials)
    trials = _left(bench, trials, failures(bench.log, trials), "trained")
    chosen = choose(bench.log, trials, options.average)
    return freeze(options.out, chosen, bench.protocol.sections, options.average)


def _tested(bench: _Bench, frozen: Frozen) -> list[Section]:
    """Test, and tabulate; from here on test parts are read. A method of which a run fails is left out."""
    comparison, options = bench.comparison, bench.options
    seeds = list(range(options.seed, options.seed + options.seeds))
    data = fingerprints(comparison.sets, "test")
    entries = {"settings_sha256": frozen.sha256, "seeds": seeds, "average": options.average, "data": data}
    if not bench.log.has(TEST):
        bench.protocol.sections.pop("testing", None)  # as above: a test part may have been mended
    bench.protocol.enter("testing", entries)
    tests = comparison.tests(frozen)
    _execute(bench, "testing", tests)
    tests = _left(bench, tests, failures_in_tests(bench.log, tests), "tested")
    found = tested(bench.comparison, bench.log, tests)
    return sections_of(bench.comparison, found, bench.peers, threads_in_words(bench.log, tests))


def _left(bench: _Bench, tasks: Sequence[Task], failed: Mapping[str, str], done: str) -> list[Task]:
    """The tasks of the methods that did not fail; those that did are named, and left out from here on."""
    comparison = bench.comparison
    methods = [method for method in comparison.methods if method not in failed]
    for method, why in failed.items():
        bench.console.print(Text(f"Left out: {METHODS[method].name} {why}"))
    if not methods:
        raise ValueError(f"bench quality: no method could be {done}; give other --methods, in another folder")
    bench.comparison = replace(comparison, methods=methods, failed={**comparison.failed, **failed})
    return [task for task in tasks if task.place.method in methods]


def _entries(comparison: Comparison, peers: Peers) -> dict[str, Any]:
    """What every run depends on."""
    options, sets, methods = comparison.options, comparison.sets, comparison.methods
    return {
        "data": fingerprints(sets, "train", "valid"),
        "folds": {found.name: len(found.folds) for found in sets},
        "options": {"trees": options.trees, "patience": options.patience},
        "methods": {method: METHODS[method].described() for method in methods},
        "versions": versions(peers),
    }


# ---------------------------------------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------------------------------------


def _execute(bench: _Bench, phase: str, tasks: Sequence[Task]) -> None:
    """Do what is not done yet: first two runs of each method and data set, to say how long all will take."""
    bench.asked = tasks
    todo = [task for task in tasks if task.key not in bench.log]
    if not todo:
        return
    firsts: dict[tuple[str, str], list[Task]] = {}
    for task in tasks:
        firsts.setdefault((task.place.data, task.place.method), []).append(task)
    names = [found.name for found in bench.comparison.sets]
    pilots = {task.key for same in firsts.values() for task in same[:_PILOTS]}
    last = {which: same[:_PILOTS][-1] for which, same in firsts.items()}
    # one data set after the other, as each is read anew
    first = sorted(
        (task for task in todo if task.key in pilots), key=lambda task: (names.index(task.place.data), task.number)
    )
    rest = [task for task in todo if task.key not in pilots]
    with error_console() as console, Display(console, phase, tasks, bench.log) as display:
        for turn in (first, rest):
            for outcome in bench.runner(turn):
                bench.log.add(outcome)
                display.done(outcome.task, outcome.record)
            if turn is first and (text := _estimate(bench, phase, tasks, last)):
                bench.console.print(Text(text))


def _estimate(bench: _Bench, phase: str, tasks: Sequence[Task], pilots: Mapping[tuple[str, str], Task]) -> str:
    """How long the rest takes, from the seconds of one run of each method and data set; empty if nothing is left."""
    options = bench.options
    left = Counter(task.place for task in tasks if task.key not in bench.log)
    tests: Counter[Place] = Counter()
    if phase == "tuning" and not options.tune_only:
        tests.update(bench.comparison.places * options.seeds)
    runs = left.total() + tests.total()
    if not runs:
        return ""

    def seconds(places: Counter[Place]) -> float:
        one = {which: float(bench.log[task.key]["seconds"]) for which, task in pilots.items()}
        return sum(one[place.data, place.method] * count for place, count in places.items())

    total = (seconds(left) + seconds(tests) * options.average) / options.jobs
    return (
        f"{phase}: {runs:,} {'run is' if runs == 1 else 'runs are'} left, about {in_hours(total)} on {options.jobs} x "
        f"{bench.comparison.threads} threads, from the first runs of each method; Ctrl-C keeps what is done."
    )
