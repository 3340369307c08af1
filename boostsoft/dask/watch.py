"""A training on Dask's workers that cannot hang when a worker is lost: it is watched from the client.

LightGBM's workers talk over sockets of their own. One that dies resets them, and the others raise, if a message was on
its way; otherwise they read nothing from a closed socket for ever, and the lost worker's task waits in the scheduler
for an address that never comes back. So the engine runs in a thread, and this one asks the scheduler for its workers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_POLL = 1.0  # seconds between two looks at the workers
_GRACE = 5.0  # seconds that the engine gets to raise on its own once a worker is lost
_SETTLE = 3.0  # seconds in which the other workers should raise, and the scheduler notice a loss, after an error
_LOCK = threading.Lock()
_WATCHED: list[Cluster] = []


def run_watched(caller: str, client: Any, call: Callable[[], Any], *, task: str | None = None) -> Any:
    """Return ``call()``, or raise once a worker that it needs is lost.

    ``task`` begins the keys of the engine's tasks, on which no others depend, if they may outlive a lost worker.

    Raises
    ------
    RuntimeError
        If a worker was lost, or one failed and left others waiting for it: from the engine's own error if there is one.
    """
    with _together(Cluster(client, task)) as cluster:
        return _run_watched(caller, cluster, call)


def _run_watched(caller: str, cluster: Cluster, call: Callable[[], Any]) -> Any:
    outcome, finished = _Outcome(), threading.Event()

    def run() -> None:
        try:
            with cluster.client.as_current():
                outcome.value = call()
        except BaseException as error:
            outcome.error = error
        finally:
            finished.set()

    threading.Thread(target=run, name=caller, daemon=True).start()
    lost: list[str] = []
    stuck: list[str] = []
    try:
        while not finished.wait(_POLL):
            if cluster.needs_the_lost():
                finished.wait(_GRACE)
                break
        if finished.is_set() and outcome.error is None:
            return outcome.value
        lost, stuck = cluster.look_around()
    finally:
        if outcome.error is not None or not finished.is_set():
            cluster.cancel()  # ends the thread too, if it still waits
    if lost:
        said = "" if outcome.error is None else f" ({outcome.error})"  # which may have another cause
        raise RuntimeError(
            f"{caller}: lost the worker at {', '.join(lost)} while training; no model was made{said}. {_advice(stuck)}"
        ) from outcome.error
    if stuck:
        raise RuntimeError(f"{caller}: training failed: {outcome.error}. {_advice(stuck)}") from outcome.error
    raise outcome.error or RuntimeError(f"{caller}: training was interrupted")


class _Outcome:
    """What the engine's thread leaves behind."""

    def __init__(self) -> None:
        self.value: Any = None
        self.error: BaseException | None = None


class Cluster:
    """The workers as they were, and the tasks of one training since then.

    Attributes
    ----------
    client : what the training's tasks were given to.
    shared : whether the client had another training meanwhile: nobody can tell whose a task is.
    """

    def __init__(self, client: Any, task: str | None) -> None:
        self.client, self._task, self.shared = client, task, False
        self._known = set(client.futures)
        self._processes = self._alive()

    def _alive(self) -> dict[str, str]:
        """The process behind each address: one that is restarted at its old address has a new directory.

        Asked of the scheduler: what ``client.scheduler_info`` returns is replaced every other second by an answer that
        names no workers.
        """
        workers = self.client.sync(self.client.scheduler.identity, n_workers=-1)["workers"]
        return {address: worker["local_directory"] for address, worker in workers.items()}

    def _tasks(self) -> set[Any]:
        """The keys of the training's unfinished tasks."""
        return {
            key
            for key, state in list(self.client.futures.items())
            if key not in self._known and str(key).startswith(f"{self._task}-") and state.status == "pending"
        }

    def _own_tasks(self) -> set[Any]:
        """Those of them that can be no other training's."""
        return set() if self.shared else self._tasks()

    def lost(self) -> list[str]:
        """The addresses whose processes are gone."""
        alive = self._alive()
        return [address for address, process in self._processes.items() if alive.get(address) != process]

    def needs_the_lost(self) -> bool:
        """Whether a task of the training has lost its worker, or was given to the one that took its address."""
        lost = self.lost()
        if not lost:
            return False
        homes = {key: address for address, keys in self.client.processing().items() for key in keys}
        return any(homes.get(key) in (None, *lost) for key in self._tasks())

    def look_around(self) -> tuple[list[str], list[str]]:
        """After a failure: the lost workers, and those that still run tasks of the training."""
        until = time.monotonic() + _SETTLE
        while True:
            lost, tasks = self.lost(), self._own_tasks()
            running = self.client.processing().items()
            busy = {address for address, keys in running if tasks.intersection(keys)} - set(lost)
            ended = self._task is not None and not tasks
            if (not busy and (lost or ended)) or time.monotonic() > until:
                return lost, sorted(busy)
            time.sleep(_POLL / 4.0)

    def cancel(self) -> None:
        """Forget the training's tasks."""
        from distributed import Future

        if tasks := self._own_tasks():
            self.client.cancel([Future(key, self.client) for key in tasks])


@contextmanager
def _together(cluster: Cluster) -> Iterator[Cluster]:
    """Let all trainings of a client that are watched at once know of one another."""
    with _LOCK:
        others = [other for other in _WATCHED if other.client is cluster.client]
        for one in (cluster, *others):
            one.shared = one.shared or bool(others)
        _WATCHED.append(cluster)
    try:
        yield cluster
    finally:
        with _LOCK:
            _WATCHED.remove(cluster)


def _advice(stuck: list[str]) -> str:
    if not stuck:
        return "The workers that are left are free again."
    return (
        f"The workers {', '.join(stuck)} still wait for others, LightGBM's for time_out minutes (120 by default) or "
        f"longer: client.restart_workers({stuck}) frees them"
    )
