"""One subject of ``bench_informers``, in a process of its own, which prints what it measured as JSON.

Arguments: the subject's name, the server's URL, how many pods it has, and which phases to go through.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

import urllib3
from kubernetes import client, config

from benchmarks.informer_subjects import SUBJECTS
from benchmarks.memory_process import rss
from benchmarks.thread_process import COLLECTOR

if TYPE_CHECKING:
    from collections.abc import Callable

BURST, PACED, RATE = 20_000, 1_000, 200
"""How many changes come at once, and then one after the other, at so many a second."""
PATIENCE = 120.0


def until(holds: Callable[[], bool], pause: float = 0.002) -> None:
    """Wait until it holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it took too long"
        time.sleep(pause)


def peak() -> int:
    """Give the most resident bytes since the last reset."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) * 1024


def kubeconfig(url: str) -> str:
    """Write a kubeconfig for the server; kopf looks for one."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "b", "cluster": {"server": url}}],
        "users": [{"name": "b", "user": {"token": "none"}}],
        "contexts": [{"name": "b", "context": {"cluster": "b", "user": "b"}}],
        "current-context": "b",
    }
    path = Path(tempfile.mkdtemp()) / "kubeconfig"
    path.write_text(json.dumps(content))
    return str(path)


def measured(name: str, url: str, count: int, burst: int) -> dict[str, Any]:
    """Start a subject, wait until it has *count* pods, send it changes, and give the figures."""
    os.environ["KUBECONFIG"] = kubeconfig(url)
    config.load_kube_config(os.environ["KUBECONFIG"])
    control = urllib3.PoolManager()

    def tell(what: str) -> dict[str, Any]:
        answer: dict[str, Any] = control.request("GET", f"{url}/control/{what}", timeout=PATIENCE).json()
        return answer

    if burst:
        tell("reset")
    api = client.CoreV1Api()
    api.list_pod_for_all_namespaces(limit=1)  # what a client loads and remembers then is no subject's
    subject = SUBJECTS[name](api)
    before = rss()
    Path("/proc/self/clear_refs").write_text("5")
    COLLECTOR.longest = 0.0
    wall, cpu = time.perf_counter(), time.process_time()
    subject.start()
    until(lambda: subject.count() >= count)
    found: dict[str, Any] = {
        "subject": name,
        "synced_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "peak_bytes": peak() - before,
        "pause_ms": COLLECTOR.longest * 1e3,
    }
    found["kept_bytes"] = rss() - before
    if burst:
        until(lambda: tell("state")["watches"] == 1)
        found |= changed(subject, tell, burst)
    subject.stop()
    return found


def changed(subject: Any, tell: Callable[[str], dict[str, Any]], burst: int) -> dict[str, Any]:
    """Send changes, first as fast as may be, then paced, and give the figures."""
    tell(f"prepare?events={burst}")
    gc.collect()
    COLLECTOR.longest = 0.0
    done = subject.changes()
    wall, cpu = time.perf_counter(), time.process_time()
    tell("burst")
    until(lambda: subject.changes() - done >= burst)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    found = {
        "events_per_s": burst / seconds,
        "cpu_us_per_event": cpu_seconds / burst * 1e6,
        "burst_pause_ms": COLLECTOR.longest * 1e3,
    }
    subject.listen()
    done = subject.changes()
    tell(f"paced?events={PACED}&rate={RATE}")
    until(lambda: subject.changes() - done >= PACED and len(subject.delays) >= PACED * 0.9)
    delays = subject.delays
    return found | {"delay_ms": median(delays) / 1e6, "delay_p99_ms": quantiles(delays, n=100)[98] / 1e6}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    asked = sys.argv[1:]
    print(json.dumps(measured(asked[0], asked[1], int(asked[2]), int(asked[3]))), flush=True)
    os._exit(0)  # threads of subjects that cannot be stopped
