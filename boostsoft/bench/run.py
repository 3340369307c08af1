"""A run of the benchmark: the parts that were asked for, shown as they are done, written at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ..atomic import Content, write_files
from ..commands.terminal import page
from ..drawing import png
from .blending import measure_blending
from .cold_start import measure_cold_start
from .direct import measure_direct
from .figures import cost_figure, growth_figure
from .growth import measure_growth
from .hard_cost import measure_hard
from .limits import measure_limits
from .machine import describe_machine, in_words
from .objective_cost import measure_objectives
from .peers import Peers, find_peers
from .pools import Pool, pool_of_files, synthetic_pool
from .progress import PartBar
from .results import Section
from .settings import FILES, Settings
from .tables import as_json, markdown, section_table, summary
from .timing import Watcher, in_hours
from .tracking import measure_tracking
from .training_cost import measure_training

_PAGE = 160  # columns, where nothing says how many there are
Part = Callable[[list[Pool], Settings, Peers, Watcher], Iterator[Section]]


def run_bench(
    parts: Sequence[str], files: Sequence[Path], out: Path, settings: Settings, folders: Sequence[Path] = ()
) -> None:
    """Measure, show and write; an interrupted run writes nothing."""
    console, machine = page(_PAGE), describe_machine()
    pools = [synthetic_pool(settings.queries, settings.documents, settings.seed)]
    if files:
        pools.append(pool_of_files(files, settings.seed))
    peers = find_peers(parts)
    duration = in_hours(60.0 * settings.minutes(parts, len(pools), len(folders)))
    lines = [
        f"{in_words(machine)}.",
        f"Peers: {peers.in_words()}.",
        f"{', '.join(parts)}: about {duration} on this machine; Ctrl-C stops, and leaves nothing behind.",
    ]
    console.print(Text("\n".join(lines) + "\n"))
    sections: list[Section] = []
    took, data = {}, [path.name for path in (*files, *folders)]
    for part in parts:
        started = time.perf_counter()
        sections += _run_part(part, pools, settings, peers, console, folders)
        took[part] = time.perf_counter() - started
    written: dict[str, Content] = {
        "bench.json": as_json(machine, peers, {**asdict(settings), "data": data, "seconds": took}, sections).encode(),
        "bench.md": markdown(in_words(machine), peers.in_words(), sections).encode(),
        **_pictures(sections),
    }
    write_files(out, written, FILES)
    console.print(Text(summary(sections), style="bold"))
    console.print(Text(f"Written to {out}: {', '.join(written)}"))


def _run_part(
    part: str, pools: list[Pool], settings: Settings, peers: Peers, console: Console, folders: Sequence[Path]
) -> list[Section]:
    with PartBar(Console(stderr=True), part) as bar:
        if part == "blend":
            sections = [section for folder in folders for section in measure_blending(folder, settings, bar)]
        else:
            sections = list(_PARTS[part](pools, settings, peers, bar))
    for section in sections:
        console.print(section_table(section))
    return sections


def _objective(pools: list[Pool], settings: Settings, peers: Peers, watcher: Watcher) -> Iterator[Section]:
    for pool in pools:
        yield measure_objectives(pool, settings, peers, watcher)
    yield from measure_direct(pools[0], settings, watcher)


def _training(pools: list[Pool], settings: Settings, peers: Peers, watcher: Watcher) -> Iterator[Section]:
    yield measure_training(pools[0].first(settings.training_queries), settings, peers, watcher)
    for pool in pools[1:]:
        yield measure_training(pool, settings, peers, watcher)


def _tracking(pools: list[Pool], settings: Settings, peers: Peers, watcher: Watcher) -> Iterator[Section]:
    yield from measure_tracking(pools[0].first(settings.training_queries), settings, peers, watcher)


def _hard(pools: list[Pool], settings: Settings, peers: Peers, watcher: Watcher) -> Iterator[Section]:
    for pool in pools:
        yield measure_hard(pool, settings, peers, watcher)


def _growth(_: list[Pool], settings: Settings, peers: Peers, watcher: Watcher) -> Iterator[Section]:
    yield from measure_growth(settings, peers, watcher)


def _limits(_: list[Pool], settings: Settings, __: Peers, watcher: Watcher) -> Iterator[Section]:
    yield from measure_limits(settings, watcher)


def _cold(_: list[Pool], settings: Settings, __: Peers, watcher: Watcher) -> Iterator[Section]:
    yield measure_cold_start(settings, watcher)


_PARTS: dict[str, Part] = {
    "objective": _objective,
    "training": _training,
    "tracking": _tracking,
    "hard": _hard,
    "growth": _growth,
    "limits": _limits,
    "cold": _cold,
}


def _pictures(sections: Sequence[Section]) -> dict[str, Content]:
    """A bar chart of the synthetic pool's objectives and the growth curves, of what was measured."""
    pictures: dict[str, Content] = {}
    costs = [section for section in sections if section.key.startswith("objective_synthetic")]
    if costs:
        pictures["cost.png"] = lambda: png(cost_figure(costs[0]))
    growth = [section for section in sections if section.key.startswith("growth_")]
    if growth:
        pictures["growth.png"] = lambda: png(growth_figure(growth))
    return pictures
