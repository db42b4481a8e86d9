"""A store in a child process."""

from __future__ import annotations

import gc
import os
import threading
import warnings
from typing import Any

import pytest

from kindex import LabelIndexer, Store, forks

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def pod(name: str, app: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "x", "labels": {"app": app}}}


def exit_code_of_child(store: Store[Any]) -> int:
    """Fork; the child checks, reads and writes the store. 0 is well, 1 is torn, 2 is hung."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of forking with threads, which is the point
        child = os.fork()
    if child == 0:
        code = 1
        try:
            if not store._core.lock.acquire(timeout=5):
                code = 2
            else:
                store._core.lock.release()
                store._check()
                store.put(pod("child", "web"))
                store._check()
                code = 0 if store.get("child", namespace="x") else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


@pytest.mark.parametrize("guarded", [True, False])
def test_a_child_has_a_whole_store(guarded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forked in the middle of another thread's commit, the child finds the lock free and no commit half done.

    The control, without the hooks, finds the lock held for ever.
    """
    store: Store[Any] = Store(indexers=[LabelIndexer("app")])
    store.put(pod("a", "web"))
    if not guarded:
        monkeypatch.setattr(forks, "_cores", set())
    in_commit, go_on = threading.Event(), threading.Event()
    index = store._core.generation.indexes[1]
    file = type(index).file

    def slow(self: Any, slot: int, filing: Any) -> None:
        if self is index and threading.current_thread() is writer:
            in_commit.set()
            go_on.wait(5)
        file(self, slot, filing)

    monkeypatch.setattr(type(index), "file", slow)
    writer = threading.Thread(target=store.put, args=(pod("a", "db"),))
    writer.start()
    assert in_commit.wait(5)
    if guarded:
        # The fork waits for the commit, so let it go on once the fork is under way.
        threading.Timer(0.05, go_on.set).start()
    code = exit_code_of_child(store)
    go_on.set()
    writer.join()
    assert code == (0 if guarded else 2)
    assert store.count(label_selector="app=db") == 1


def test_children_of_a_busy_store_are_whole() -> None:
    """Twenty children, forked while two threads write as fast as they can."""
    store: Store[Any] = Store(indexers=[LabelIndexer("app")])
    done = threading.Event()

    def write(name: str) -> None:
        number = 0
        while not done.is_set():
            number += 1
            store.put(pod(f"{name}{number % 50}", f"app-{number % 7}"))

    writers = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for writer in writers:
        writer.start()
    codes = [exit_code_of_child(store) for _ in range(20)]
    done.set()
    for writer in writers:
        writer.join()
    assert codes == [0] * 20
    store._check()


def test_hooks_keep_no_store_alive() -> None:
    """A store that is let go of is no longer known to the hooks."""
    before = len(forks._cores)
    stores = [Store[Any]() for _ in range(100)]
    assert len(forks._cores) >= before + 100
    del stores
    gc.collect()
    assert len(forks._cores) <= before
