"""What a client sees of its workers while they train, told by one that is made up; real ones die in another file."""

from __future__ import annotations

import contextlib
import threading
from types import SimpleNamespace

import pytest

distributed = pytest.importorskip("distributed")

from boostsoft.dask import watch  # noqa: E402
from boostsoft.dask.watch import Cluster, run_watched  # noqa: E402

ONE, TWO = "tcp://one", "tcp://two"


class Client:
    """Workers by address, with the folder of their process; tasks by key, and where they run."""

    def __init__(self):
        self.workers = {ONE: {"local_directory": "a"}, TWO: {"local_directory": "b"}}
        self.futures, self.homes, self.cancelled, self.current = {}, {}, [], False
        self.scheduler = SimpleNamespace(identity="identity")

    def sync(self, asked, n_workers):
        assert (asked, n_workers) == ("identity", -1)
        return {"workers": dict(self.workers)}

    def processing(self):
        return {address: [key for key, home in self.homes.items() if home == address] for address in (ONE, TWO)}

    def cancel(self, futures):
        for key in futures:
            self.cancelled.append(key)
            self.end(key)

    @contextlib.contextmanager
    def as_current(self):
        self.current = True
        yield
        self.current = False

    def begin(self, key, home=None):
        self.futures[key] = SimpleNamespace(status="pending")
        if home is not None:
            self.homes[key] = home

    def end(self, key):
        self.futures[key].status = "error"
        self.homes.pop(key, None)

    def restart(self, address):
        """Another process at the address of one that has died: its tasks are nowhere."""
        self.workers[address] = {"local_directory": "another"}
        self.homes = {key: home for key, home in self.homes.items() if home != address}


@pytest.fixture
def client(monkeypatch):
    monkeypatch.setattr(watch, "_POLL", 0.01)
    monkeypatch.setattr(watch, "_GRACE", 0.05)
    monkeypatch.setattr(watch, "_SETTLE", 0.1)
    monkeypatch.setattr(distributed, "Future", lambda key, of: key)
    return Client()


def test_nothing_is_needed_of_workers_that_are_all_there(client):
    cluster = Cluster(client, "train")
    client.begin("train-1")  # waits for its turn
    assert cluster.lost() == []
    assert not cluster.needs_the_lost()


@pytest.mark.parametrize("home", [None, TWO])
def test_a_task_that_has_lost_its_worker_or_is_to_run_in_its_place(client, home):
    cluster = Cluster(client, "train")
    client.begin("train-1", TWO)
    client.begin("train-2", ONE)
    client.restart(TWO)
    if home is not None:
        client.homes["train-1"] = home
    assert cluster.lost() == [TWO]
    assert cluster.needs_the_lost()


def test_a_worker_that_is_gone_is_lost(client):
    cluster = Cluster(client, "train")
    del client.workers[ONE]
    assert cluster.lost() == [ONE]
    client.workers["tcp://three"] = {"local_directory": "c"}  # one that came later is not
    assert cluster.lost() == [ONE]


def test_tasks_that_run_elsewhere_need_no_lost_worker(client):
    client.begin("train-0", TWO)  # before this training
    cluster = Cluster(client, "train")
    client.begin("train-1", ONE)
    client.begin("load-1", TWO)  # of something else
    client.begin("train-2", TWO)
    client.end("train-2")  # over
    client.restart(TWO)
    assert cluster.lost() == [TWO]
    assert not cluster.needs_the_lost()


def test_after_a_failure_lost_workers_and_those_that_wait_for_them(client):
    cluster = Cluster(client, "train")
    client.begin("train-1", ONE)
    client.begin("train-2", TWO)
    assert cluster.look_around() == ([], [ONE, TWO])  # once they have had their time
    client.restart(TWO)
    client.homes["train-2"] = TWO
    assert cluster.look_around() == ([TWO], [ONE])
    client.end("train-1")
    assert cluster.look_around() == ([TWO], [])


@pytest.mark.parametrize("task", ["train", None])
@pytest.mark.parametrize("lost", [[], [TWO]])
def test_workers_get_some_time_to_raise_themselves(client, task, lost):
    cluster = Cluster(client, task)
    client.begin("train-1", ONE)
    for address in lost:
        client.restart(address)
    later = threading.Timer(0.03, client.end, ["train-1"])
    later.start()
    assert cluster.look_around() == (lost, [])
    later.join()


def test_it_ends_as_soon_as_nothing_is_left_to_wait_for(client, monkeypatch):
    monkeypatch.setattr(watch, "_SETTLE", 60.0)
    monkeypatch.setattr(watch.time, "sleep", lambda seconds: pytest.fail("there is nothing to wait for"))
    cluster = Cluster(client, "train")
    assert cluster.look_around() == ([], [])
    client.restart(TWO)
    assert cluster.look_around() == ([TWO], [])


def test_the_value_of_the_call(client):
    assert run_watched("fit", client, lambda: ("model", client.current), task="train") == ("model", True)
    assert not client.current
    assert client.cancelled == []


def test_a_value_counts_even_if_a_worker_was_lost(client):
    def call():
        client.restart(TWO)
        return "model"

    assert run_watched("fit", client, call, task="train") == "model"


def test_the_calls_own_error(client):
    def call():
        client.begin("train-1", ONE)
        client.end("train-1")
        raise KeyError("no such column")

    with pytest.raises(KeyError, match="no such column"):
        run_watched("fit", client, call, task="train")
    assert client.cancelled == []


def test_a_call_that_would_wait_for_ever(client):
    forever = threading.Event()

    def call():
        client.begin("train-1", ONE)
        client.begin("train-2", TWO)
        client.restart(TWO)
        forever.wait(60)

    with pytest.raises(RuntimeError) as raised:
        run_watched("fit", client, call, task="train")
    forever.set()
    assert str(raised.value) == (
        "fit: lost the worker at tcp://two while training; no model was made. The workers tcp://one still wait for "
        "others, LightGBM's for time_out minutes (120 by default) or longer: client.restart_workers(['tcp://one']) "
        "frees them"
    )
    assert sorted(client.cancelled) == ["train-1", "train-2"]


def test_an_engine_that_raises_within_its_time_is_the_cause(client):
    def call():
        client.begin("train-1", TWO)
        client.restart(TWO)
        threading.Event().wait(0.03)
        client.end("train-1")
        raise OSError("connection reset")

    with pytest.raises(RuntimeError, match=r"lost the worker at tcp://two .* left are free again") as raised:
        run_watched("fit", client, call, task="train")
    assert isinstance(raised.value.__cause__, OSError)


def test_a_worker_that_raises_leaves_others_waiting(client):
    def call():
        client.begin("train-1", ONE)
        client.begin("train-2", TWO)
        client.end("train-2")
        raise ValueError("out of luck")

    said = r"^fit: training failed: out of luck. The workers tcp://one still"
    with pytest.raises(RuntimeError, match=said) as raised:
        run_watched("fit", client, call, task="train")
    assert isinstance(raised.value.__cause__, ValueError)
    assert client.cancelled == ["train-1"]
