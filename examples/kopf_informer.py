"""A kopf operator whose handlers ask an informer: the way to use kindex with kopf.

kopf goes on to do what it is good at, which is calling handlers; what they need to know of other objects comes from an
AsyncInformer that runs beside it, in kopf's own event loop. Here a handler of services tells which pods a service
selects, and on how many nodes they are: two indexes answer, however many pods there are.

What this cannot promise: handlers of kopf and the informer hear of a change by connections of their own, so a handler
may run a moment before the informer knows of what led to it. Look again when a pod changes, too; by a timer, or with
``pods.follow()``. ``@kopf.index`` has the same limit, and forgets no pod that was deleted while kopf's watch was down.

    python examples/kopf_informer.py --kubeconfig ~/.kube/config
"""

from __future__ import annotations

import argparse
import os
from contextlib import AsyncExitStack
from typing import Any

import kopf
from kubernetes_asyncio import client, config

from kindex import AsyncInformer, FieldIndexer, LabelIndexer, LabelSelector

by_labels = LabelIndexer("app", "tier")
by_node = FieldIndexer("spec.nodeName")


@kopf.on.startup()
async def begin(memo: kopf.Memo, **_: Any) -> None:
    """Start the informer; no handler runs before it has synced. If it cannot, kopf tries again."""
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(await config.new_client_from_config(os.environ.get("KUBECONFIG")))
        listing = client.CoreV1Api(api).list_pod_for_all_namespaces
        memo.pods = await stack.enter_async_context(AsyncInformer(listing, indexers=[by_labels, by_node]))
        memo.ending = stack.pop_all()


@kopf.on.cleanup()
async def end(memo: kopf.Memo, **_: Any) -> None:
    """Stop the informer, and close its connections."""
    await memo.ending.aclose()


@kopf.on.event("v1", "services")
async def on_service(memo: kopf.Memo, body: kopf.Body, namespace: str, name: str, **_: Any) -> None:
    """Say what a service selects."""
    selector = LabelSelector.of_service(body)
    nodes = {pod.path("spec.nodeName") for pod in memo.pods.select(namespace=namespace, label_selector=selector)}
    count = memo.pods.count(namespace=namespace, label_selector=selector)
    print(f"{namespace}/{name}: {count} pods on {len(nodes)} nodes", flush=True)


kopf.on.login()(kopf.login_with_kubeconfig)


def main() -> None:
    """Run the operator, until it is interrupted; ``kopf run -A examples/kopf_informer.py`` does as well."""
    parser = argparse.ArgumentParser(description="tell which pods each service selects")
    parser.add_argument("--kubeconfig", metavar="FILE", help="how to reach the cluster; default: $KUBECONFIG")
    kubeconfig = parser.parse_args().kubeconfig
    if kubeconfig:
        os.environ["KUBECONFIG"] = kubeconfig  # where kopf looks for it
    kopf.run(clusterwide=True, standalone=True)


if __name__ == "__main__":
    main()
