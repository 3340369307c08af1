"""A training on Dask's workers that cannot hang when a worker is lost: it is watched from the client.

LightGBM's workers talk over sockets of their own. One that dies resets them, and the others raise, if a message was on
its way; otherwise they read nothing from a closed socket for ever, and the lost worker's task waits in the scheduler
for an address that never comes back. So the engine runs in a thread, and this one asks the scheduler for its workers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

_POLL = 1.0  # seconds between two looks at the workers
_GRACE = 5.0  # seconds that the engine gets to raise on its own once a worker is lost
_SETTLE = 3.0  # seconds in which the other workers should raise, and the scheduler notice a loss, after an error


def run_watched(caller: str, client: Any, call: Callable[[], Any], *, task: str | None = None) -> Any:
    """Return ``call()``, or raise once a worker that it needs is lost.

    ``task`` begins the keys of the engine's tasks, on which no others depend, if they may outlive a lost worker.

    Raises
    ------
    RuntimeError
        If a worker was lost, or one failed and left others waiting for it: from the engine's own error if there is one.
    """
    outcome, finished, cluster = _Outcome(), threading.Event(), Cluster(client, task)

    def run() -> None:
        try:
            with client.as_current():
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
        raise RuntimeError(
            f"{caller}: lost the worker at {', '.join(lost)} while training; no model was made. {_advice(stuck)}"
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
    """The workers as they were, and the tasks of one training since then."""

    def __init__(self, client: Any, task: str | None) -> None:
        self._client, self._task = client, task
        self._known = set(client.futures)
        self._processes = self._alive()

    def _alive(self) -> dict[str, str]:
        """The process behind each address: one that is restarted at its old address has a new directory.

        Asked of the scheduler: what ``client.scheduler_info`` returns is replaced every other second by an answer that
        names no workers.
        """
        workers = self._client.sync(self._client.scheduler.identity, n_workers=-1)["workers"]
        return {address: worker["local_directory"] for address, worker in workers.items()}

    def _tasks(self) -> set[Any]:
        """The keys of the training's unfinished tasks."""
        return {
            key
            for key, state in list(self._client.futures.items())
            if key not in self._known and str(key).startswith(f"{self._task}-") and state.status == "pending"
        }

    def lost(self) -> list[str]:
        """The addresses whose processes are gone."""
        alive = self._alive()
        return [address for address, process in self._processes.items() if alive.get(address) != process]

    def needs_the_lost(self) -> bool:
        """Whether a task of the training has lost its worker, or was given to the one that took its address."""
        lost = self.lost()
        if not lost:
            return False
        homes = {key: address for address, keys in self._client.processing().items() for key in keys}
        return any(homes.get(key) in (None, *lost) for key in self._tasks())

    def look_around(self) -> tuple[list[str], list[str]]:
        """After a failure: the lost workers, and those that still run tasks of the training."""
        until = time.monotonic() + _SETTLE
        while True:
            lost, tasks = self.lost(), self._tasks()
            running = self._client.processing().items()
            busy = {address for address, keys in running if tasks.intersection(keys)} - set(lost)
            ended = self._task is not None and not tasks
            if (not busy and (lost or ended)) or time.monotonic() > until:
                return lost, sorted(busy)
            time.sleep(_POLL / 4.0)

    def cancel(self) -> None:
        """Forget the training's tasks."""
        from distributed import Future

        if tasks := self._tasks():
            self._client.cancel([Future(key, self._client) for key in tasks])


def _advice(stuck: list[str]) -> str:
    if not stuck:
        return "The workers that are left are free again."
    return (
        f"The workers {', '.join(stuck)} still wait for others, LightGBM's for time_out minutes (120 by default) or "
        f"longer: client.restart_workers({stuck}) frees them"
    )
