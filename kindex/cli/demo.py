"""The demo: a generated cluster, first alive behind a server, then standing still; it ends by itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kindex.cli.collector import without_collector
from kindex.cli.demo_live import run_live
from kindex.cli.demo_questions import RawStore, by_labels, by_node, by_owner, most_common_app, questions_table
from kindex.store import Store
from kindex.testing import generate_cluster

if TYPE_CHECKING:
    from rich.console import Console


def run_demo(*, pods: int, namespaces: int, seconds: float, seed: int, console: Console) -> None:
    """Make a cluster, let it live for *seconds*, then ask it, and print what came of it.

    Wherever something is found in two ways, it must be the same; it would be a bug in kindex if not, and the demo would
    end with it.
    """
    with console.status("making a cluster"), without_collector():
        started = time.perf_counter()
        cluster = generate_cluster(pods=pods, namespaces=namespaces, seed=seed)
        generated = time.perf_counter()
    console.print(
        f"A cluster of {pods:,} pods, {len(cluster.services):,} services and {len(cluster.nodes):,} nodes in"
        f" {namespaces:,} namespaces, made in {generated - started:.1f} s.",
        soft_wrap=not console.is_terminal,
    )
    run_live(cluster.pods, seconds=seconds, seed=seed, console=console)
    with without_collector():
        started = time.perf_counter()
        store: RawStore = Store(name="pods", indexers=[by_labels, by_node, by_owner])
        store.replace(cluster.pods)
        indexed = time.perf_counter()
    console.print(
        "The same pods without a server, as they were at first, indexed by namespace, app, tier, node and owner in"
        f" {indexed - started:.2f} s.\n",
        soft_wrap=not console.is_terminal,
    )
    with console.status("asking by index and by scan"):
        table = questions_table(cluster, store)
    console.print(table)
    app, namespace = most_common_app(cluster)
    plan = store.explain(namespace=namespace, label_selector=f"app={app},tier!=cache")
    console.print(f"\nexplain(namespace={namespace!r}, label_selector='app={app},tier!=cache'):", highlight=False)
    console.print(str(plan), markup=False, highlight=False)
    console.print("\nmemory():", highlight=False)
    console.print(str(store.memory()), markup=False, highlight=False, soft_wrap=True)
