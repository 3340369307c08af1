"""What is made of a loss: by a client that is made up; in test_dask_lost_worker.py real workers die."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from boostsoft.dask import watch
from boostsoft.dask.watch import Cluster, run_watched

pytest.importorskip("distributed")


class Scheduled:
    """What a client says of two workers and of the tasks that they run."""

    def __init__(self):
        self.workers = {"tcp://a": "first", "tcp://b": "second"}
        self.futures, self.homes, self.cancelled = {"fit-old": self.pending()}, {}, []
        self.current, self.asked = False, threading.Event()
        self.scheduler = SimpleNamespace(identity=lambda n_workers: {
            "workers": {address: {"local_directory": place} for address, place in self.workers.items()}
        })  # fmt: skip

    def pending(self):
        return SimpleNamespace(status="pending")

    def sync(self, call, **options):
        return call(**options)

    def processing(self):
        self.asked.set()
        return {address: [key for key, home in self.homes.items() if home == address] for address in self.workers}

    def cancel(self, futures):
        self.cancelled += [future.key for future in futures]

    @contextmanager
    def as_current(self):
        self.current = True
        yield
        self.current = False


def watched_workers(monkeypatch, task="fit"):
    """Of a training one task on each worker; of others one from before, one of another name and one that is done."""
    monkeypatch.setattr(watch, "_SETTLE", 0.2)
    monkeypatch.setattr(watch, "_POLL", 0.02)
    monkeypatch.setattr("distributed.Future", lambda key, client: SimpleNamespace(key=key))
    client = Scheduled()
    cluster = Cluster(client, task)
    client.futures |= {f"{name}-1": client.pending() for name in ("fit", "fitted")}
    client.futures |= {"fit-2": client.pending(), "fit-3": SimpleNamespace(status="finished")}
    client.homes = {"fit-1": "tcp://a", "fit-2": "tcp://b", "fit-old": "tcp://a", "fitted-1": "tcp://a"}
    return client, cluster


def test_a_worker_that_is_lost_is_missed_by_its_task(monkeypatch):
    client, cluster = watched_workers(monkeypatch)
    assert (cluster.lost(), cluster.needs_the_lost()) == ([], False)
    client.homes["fit-1"] = None  # it waits for a worker; none is lost
    assert not cluster.needs_the_lost()
    client.workers["tcp://a"] = "third"  # another process at the same address
    assert (cluster.lost(), cluster.needs_the_lost()) == (["tcp://a"], True)
    client.homes["fit-1"] = "tcp://a"
    assert cluster.needs_the_lost()
    client.homes["fit-1"] = "tcp://b"  # of the lost one nothing is needed any more, but by others
    assert not cluster.needs_the_lost()
    del client.workers["tcp://a"]
    assert cluster.lost() == ["tcp://a"]


def test_workers_that_still_run_tasks_of_the_training_are_stuck(monkeypatch):
    client, cluster = watched_workers(monkeypatch)
    assert cluster.look_around() == ([], ["tcp://a", "tcp://b"])
    client.workers["tcp://b"] = "third"
    assert cluster.look_around() == (["tcp://b"], ["tcp://a"])
    del client.homes["fit-1"]
    assert cluster.look_around() == (["tcp://b"], [])
    cluster.cancel()
    assert sorted(client.cancelled) == ["fit-1", "fit-2"]


def test_nobody_looks_around_longer_than_it_takes(monkeypatch):
    client, cluster = watched_workers(monkeypatch)
    other, unnamed = watched_workers(monkeypatch, None)
    monkeypatch.setattr(watch, "_SETTLE", 5.0)
    for key in ("fit-1", "fit-2"):
        client.futures[key].status = "error"
    waited = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: pytest.fail("it looks again"))
    monkeypatch.setattr(watch, "time", waited)
    assert cluster.look_around() == ([], [])  # its tasks have ended
    other.workers.pop("tcp://a")
    assert unnamed.look_around() == (["tcp://a"], [])  # a worker is lost, and nobody waits


def test_workers_are_looked_at_until_nobody_waits_and_a_loss_may_be_seen(monkeypatch):
    """A worker that is busy becomes free; of tasks that nobody can name, only a loss tells that they have ended."""
    client, cluster = watched_workers(monkeypatch)
    other, unnamed = watched_workers(monkeypatch, None)
    del client.workers["tcp://b"]
    later = [lambda: client.homes.pop("fit-1"), lambda: other.workers.pop("tcp://a")]
    monkeypatch.setattr(watch, "_SETTLE", 60.0)
    monkeypatch.setattr(watch, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: later.pop(0)()))
    assert cluster.look_around() == (["tcp://b"], [])
    assert len(later) == 1
    assert unnamed.look_around() == (["tcp://a"], [])
    assert not later


def test_a_call_that_waits_for_a_lost_worker_is_given_up(monkeypatch):
    client, _ = watched_workers(monkeypatch)
    monkeypatch.setattr(watch, "_GRACE", 0.1)
    ended = threading.Event()

    def call():
        client.futures["fit-9"], client.homes["fit-9"] = client.pending(), "tcp://a"
        del client.workers["tcp://a"]
        ended.wait(30)

    said = r"^here: lost the worker at tcp://a while training; no model was made\. The workers that are left are free"
    with pytest.raises(RuntimeError, match=said) as told:
        run_watched("here", client, call, task="fit")
    assert told.value.__cause__ is None
    assert client.cancelled == ["fit-9"]
    ended.set()


def test_an_engine_that_fails_soon_after_a_loss_is_the_cause(monkeypatch):
    client, _ = watched_workers(monkeypatch)
    monkeypatch.setattr(watch, "_GRACE", 60.0)

    def call():
        client.futures["fit-9"], client.homes["fit-9"] = client.pending(), "tcp://a"
        del client.workers["tcp://a"]
        client.asked.wait(60)  # the loss is noticed
        time.sleep(0.1)
        raise ValueError("out of luck")

    with pytest.raises(RuntimeError, match=r"^here: lost the worker at tcp://a while training") as told:
        run_watched("here", client, call, task="fit")
    assert isinstance(told.value.__cause__, ValueError)


def test_workers_that_wait_for_a_lost_one_are_named(monkeypatch):
    client, _ = watched_workers(monkeypatch)

    def call():
        client.futures |= {"fit-8": client.pending(), "fit-9": client.pending()}
        client.homes |= {"fit-8": "tcp://a", "fit-9": "tcp://b"}
        del client.workers["tcp://a"]
        raise ValueError("out of luck")

    said = r"lost the worker at tcp://a while .*\. The workers tcp://b still wait .*restart_workers\(\['tcp://b'\]\)"
    with pytest.raises(RuntimeError, match=said):
        run_watched("here", client, call, task="fit")
    assert sorted(client.cancelled) == ["fit-8", "fit-9"]


def test_an_interrupt_ends_the_training(monkeypatch):
    """Of the engine, by an error that is no Exception, or of whoever waits for it."""
    client, _ = watched_workers(monkeypatch)

    def leave():
        raise SystemExit("out of luck")

    with pytest.raises(SystemExit, match="out of luck"):
        run_watched("here", client, leave, task="fit")
    ended = threading.Event()

    def call():
        client.futures["fit-9"] = client.pending()
        monkeypatch.setattr(Cluster, "lost", interrupted)
        ended.wait(60)

    def interrupted(self):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_watched("here", client, call, task="fit")
    assert client.cancelled == ["fit-9"]
    ended.set()


def test_a_call_that_fails_and_leaves_a_worker_waiting_names_it(monkeypatch):
    client, _ = watched_workers(monkeypatch)

    def call():
        client.futures["fit-9"], client.homes["fit-9"] = client.pending(), "tcp://b"
        raise ValueError("out of luck")

    said = r"^here: training failed: out of luck\. The workers tcp://b still wait"
    with pytest.raises(RuntimeError, match=said) as told:
        run_watched("here", client, call, task="fit")
    assert isinstance(told.value.__cause__, ValueError)
    assert client.cancelled == ["fit-9"]

    def succeed():
        client.futures["fit-10"] = client.pending()
        return client.current

    assert run_watched("here", client, succeed, task="fit") is True  # the client is the current one inside
    assert client.cancelled == ["fit-9"]


def test_what_fails_while_another_training_runs_leaves_that_alone(monkeypatch):
    """Whose the tasks are nobody can tell; once it is alone again the next can."""
    client, _ = watched_workers(monkeypatch)

    def fail():
        client.futures["fit-9"], client.homes["fit-9"] = client.pending(), "tcp://b"
        raise ValueError("mine")

    def call():
        with pytest.raises(ValueError, match=r"^mine$"):
            run_watched("there", client, fail, task="fit")
        return "sound"

    assert run_watched("here", client, call, task="fit") == "sound"
    assert client.cancelled == []
    del client.futures["fit-9"]
    with pytest.raises(RuntimeError, match="still wait"):
        run_watched("here", client, fail, task="fit")
    assert client.cancelled == ["fit-9"]


def test_an_error_is_told_though_a_worker_has_gone(monkeypatch):
    """It may have been another's, or idle."""
    client, _ = watched_workers(monkeypatch)

    def call():
        del client.workers["tcp://a"]
        raise ValueError("my own fault")

    said = r"^here: lost the worker at tcp://a while training; no model was made \(my own fault\)\. The workers"
    with pytest.raises(RuntimeError, match=said):
        run_watched("here", client, call, task="fit")


def test_a_value_counts_even_if_a_worker_is_lost(monkeypatch):
    client, _ = watched_workers(monkeypatch)
    assert run_watched("here", client, lambda: client.workers.pop("tcp://a"), task="fit") == "first"
