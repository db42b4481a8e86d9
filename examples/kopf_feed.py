"""kopf's own event feed, kept in an indexed store: for operators that may not open a second watch on the same objects.

``kopf_informer.py`` is the better way wherever that is no matter. kopf tells neither that its watch expired nor that it
listed anew, and a deletion that happened meanwhile it never tells at all. So a list of one's own puts the store right
now and then: it becomes a diff, and who follows the store hears of the deletions.

What this cannot promise:

* between two lists the store may hold objects that are gone, for as long as ``--relist-seconds``;
* there is no ``live``: whether kopf's watch is at work, nobody says;
* kopf puts events of one object together that come within a tenth of a second, and tells the last;
* an object is kept as a dict, four times as large as the LazyObject of an informer.

    python examples/kopf_feed.py --kubeconfig ~/.kube/config --relist-seconds 300
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
from typing import Any

import kopf
from kubernetes import client, config

from kindex import LabelIndexer, LabelSelector, Store
from kindex.decoding import DictDecoder
from kindex.sources import ListRequest, source_of


class Feed:
    """A store of pods that takes in events and lists; all of it runs in kopf's event loop, but for the requests."""

    def __init__(self) -> None:
        self.pods: Store[dict[str, Any]] = Store(name="pods", indexers=[LabelIndexer("app")], scope="namespaced")
        self._held: list[tuple[Any, dict[str, Any]]] | None = None

    def hear(self, event_type: Any, obj: dict[str, Any]) -> None:
        """Take in an event; while a list is under way it waits, as it may be newer than the list."""
        if self._held is None:
            self.pods.observe(event_type, obj)  # what is known already, by its version, is ignored
        else:
            self._held.append((event_type, obj))

    async def relist(self) -> None:
        """Make the store equal to a list."""
        self._held = []
        try:
            objects, version = await asyncio.to_thread(_listed)
            self.pods.replace(objects, version)
        finally:
            held, self._held = self._held, None
            for event in held:
                self.hear(*event)


def _listed() -> tuple[list[dict[str, Any]], str]:
    """List all pods, in pages; nothing is given unless all came."""
    with config.new_client_from_config(os.environ.get("KUBECONFIG")) as api:
        source = source_of(client.CoreV1Api(api).list_pod_for_all_namespaces, decoder=DictDecoder())
        page = source.list_page(ListRequest(limit=500))
        objects = list(page.objects)
        while page.continuation:
            page = source.list_page(ListRequest(limit=500, continuation=page.continuation))
            objects += page.objects
        source.close()
    return objects, page.resource_version


feed = Feed()


@kopf.on.startup()
async def begin(memo: kopf.Memo, logger: logging.Logger, **_: Any) -> None:
    """List before any handler runs, since "not there" would be a guess until then; and again and again."""
    await feed.relist()

    async def again() -> None:
        while True:
            await asyncio.sleep(memo.get("relist_seconds", 300.0))
            try:
                await feed.relist()
            except Exception as error:  # noqa: BLE001 - whatever it was, the next list may succeed
                logger.warning("no list: %s", error)

    memo.relisting = asyncio.create_task(again())


@kopf.on.cleanup()
async def end(memo: kopf.Memo, **_: Any) -> None:
    """List no more."""
    memo.relisting.cancel()


@kopf.on.event("v1", "pods")
async def on_pod(event: dict[str, Any], **_: Any) -> None:
    """Take in what kopf says; an object that it has listed comes without a type."""
    feed.hear(event["type"] or "ADDED", event["object"])


@kopf.on.event("v1", "services")
async def on_service(body: kopf.Body, namespace: str, name: str, **_: Any) -> None:
    """Say what a service selects."""
    count = feed.pods.count(namespace=namespace, label_selector=LabelSelector.of_service(body))
    print(f"{namespace}/{name}: {count} pods", flush=True)


kopf.on.login()(kopf.login_with_kubeconfig)


def main() -> None:
    """Run the operator, until it is interrupted."""
    parser = argparse.ArgumentParser(description="tell how many pods each service selects")
    parser.add_argument("--kubeconfig", metavar="FILE", help="how to reach the cluster; default: $KUBECONFIG")
    parser.add_argument("--relist-seconds", type=float, default=300.0, help="how often to list all pods; default: 300")
    arguments = parser.parse_args()
    if arguments.kubeconfig:
        os.environ["KUBECONFIG"] = arguments.kubeconfig  # where kopf looks for it
    kopf.run(clusterwide=True, standalone=True, memo=kopf.Memo(relist_seconds=arguments.relist_seconds))


if __name__ == "__main__":
    main()
