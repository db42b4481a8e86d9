"""``kindex doctor``: whether a cluster can be followed from here, and a paragraph for a bug report."""

from __future__ import annotations

import platform
from contextlib import closing
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs

from kindex.cli.cluster import ANSWER_SECONDS, Cluster, ClusterError
from kindex.decoding import DictDecoder
from kindex.errors import QueryError
from kindex.sources.base import BookmarkEvent, ErrorEvent, ListRequest, WatchRequest
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.kubeconfigs import way_of
from kindex.sources.making import source_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kindex.cli.cluster import RawObject, Wanted
    from kindex.sources.client import ClientSource

Verdict: TypeAlias = Literal["ok", "no", "?", "failed"]
"""``no`` is what kindex does without; ``failed`` what it needs."""

_NEEDED: Final = ("kubernetes", "attrs", "msgspec", "pyroaring", "sortedcontainers")
_OTHERS: Final = ("kubernetes_asyncio", "kopf", "kr8s", "lightkube", "prometheus-client", "pydantic")

_NOBODY: Final = "metadata.name=kindex-doctor"
"""Which initial events are asked for: none, so that only their end is to come."""

_END_SECONDS: Final = 3
"""In which it has to come: servers before 1.27 never send it, and do not refuse."""


@attrs.frozen
class Finding:
    """What came of one question.

    Attributes:
        what: was asked.
        verdict: whether it is as it should be.
        says: the rest of it, for whoever sits here; names the cluster and its namespaces.
        told: the rest of it for a bug report; names nothing.
        error: to end with.
    """

    what: str
    verdict: Verdict
    says: str
    told: str = ""
    error: Exception | None = None

    def __str__(self) -> str:
        return f"{self.verdict:<7} {self.what:<11} {self.says}".rstrip()


def versions() -> str:
    """Say what runs here.

    >>> versions().startswith("kindex ")
    True
    """
    found = ", ".join(f"{name} {there}" for name in (*_NEEDED, *_OTHERS) if (there := _version(name)))
    system = f"{platform.python_implementation()} {platform.python_version()} on {platform.system()}"
    return f"kindex {_version('kube-kindex') or '?'}, {system} {platform.machine()}; {found}"


def paragraph(findings: Iterable[Finding]) -> str:
    """Say it all in one paragraph, without a name of anything in the cluster.

    >>> paragraph([Finding("list", "ok", "pods in prod", "pods")]).endswith("; list: ok (pods)")
    True
    """
    told = (f"{each.what}: {each.verdict}" + (f" ({each.told})" if each.told else "") for each in findings)
    return "; ".join([versions(), *told])


def findings_of(
    kubeconfig: str | None, context: str | None, words: Sequence[str], namespaces: Sequence[str]
) -> Iterator[Finding]:
    """Find the cluster, and examine it."""
    try:
        cluster = Cluster.of(kubeconfig, context)
    except ClusterError as error:
        yield Finding("kubeconfig", "failed", str(error), "leads to no cluster", error)
        return
    with cluster:
        yield Finding("kubeconfig", "ok", way_of(kubeconfig, context))
        yield from examine(cluster, words, namespaces)


def examine(cluster: Cluster, words: Sequence[str], namespaces: Sequence[str]) -> Iterator[Finding]:
    """Ask the cluster what informers of the kinds would, one thing after the other; ends where nothing else can work.

    Lists one object, and opens two watches for a moment. Changes nothing.
    """
    server = _of_server(cluster)
    yield server
    if server.error is not None:
        return
    try:
        kinds = cluster.wanted(words, namespaces)
    except QueryError as error:
        yield Finding("kind", "failed", str(error), "there is none of this name", error)
        return
    except OSError as error:
        cause = error.__cause__
        yield _failed("kind", error, _told(cause) if isinstance(cause, SourceError) else "")
        return
    for wanted in kinds:
        for namespace in wanted.namespaces or (None,):
            yield from _of_kind(cluster, wanted, namespace)


def _of_server(cluster: Cluster) -> Finding:
    place = cluster.place
    try:
        found = cluster.server_version()
    except SourceError as error:
        if error.kind is ErrorKind.RIGHTS:  # somebody took away what everybody has; lists may work all the same
            return Finding("server", "?", f"{place} does not tell its version", "version not told")
        return _failed("server", cluster.error(error), told=_told(error))
    return Finding("server", "ok", f"{place}: {found or 'no version'}", found or "no version")


def _of_kind(cluster: Cluster, wanted: Wanted, namespace: str | None) -> Iterator[Finding]:
    resource = wanted.served.resource
    where = "in all namespaces" if namespace is None else f"in namespace {namespace}"
    if resource.namespaced is False:
        where = "which have no namespace"
    scope = "all namespaces" if namespace is None else "one namespace"
    decoder, client, seconds = DictDecoder(), cluster.client, ANSWER_SECONDS
    source = source_of(resource, decoder=decoder, client=client, answer_seconds=seconds)
    nobody = source_of(resource, decoder=decoder, client=client, answer_seconds=seconds, field_selector=_NOBODY)
    with closing(source), closing(nobody):
        try:
            page = source.list_page(ListRequest(namespace, limit=1))
        except SourceError as error:
            yield _failed("list", cluster.error(error, wanted, namespace), told=_told(error))
        else:
            yield Finding("list", "ok", f"{resource.plural} {where}", scope)
            yield _of_pages(len(page.objects), more=bool(page.continuation))
        try:
            source.watch(WatchRequest(namespace, timeout_seconds=1, silence_seconds=5)).close()
        except SourceError as error:
            yield _failed("watch", cluster.error(error, wanted, namespace), told=_told(error))
            return
        yield Finding("watch", "ok", f"{resource.plural} {where}", scope)
        yield _of_watch_list(nobody, namespace)


def _of_pages(objects: int, *, more: bool) -> Finding:
    if more:
        return Finding("pages", "ok", "lists come in pages")
    if objects > 1:
        return Finding("pages", "no", "lists come whole, whatever limit is asked for", "limit is ignored")
    return Finding("pages", "?", "there are too few objects to tell", "too few objects")


def _of_watch_list(source: ClientSource[RawObject], namespace: str | None) -> Finding:
    """Ask for the initial events of nobody, and wait for their end."""
    request = WatchRequest(
        namespace, timeout_seconds=_END_SECONDS, silence_seconds=_END_SECONDS + 2, initial_events=True
    )
    refusal: Exception | None = None
    try:
        with closing(source.watch(request)) as stream:
            for event in stream:
                if isinstance(event, BookmarkEvent) and event.initial_events_end:
                    return Finding("WatchList", "ok", "watch_list=True may be tried")
                if isinstance(event, ErrorEvent):
                    refusal = event.error
                    break
    except (SourceError, TimeoutError) as error:
        refusal = error
    if isinstance(refusal, SourceError):
        return Finding("WatchList", "no", "refused; informers list in pages", _told(refusal))
    return Finding("WatchList", "no", "not answered; informers list in pages", "no end of initial events")


def _failed(what: str, error: Exception, told: str) -> Finding:
    return Finding(what, "failed", " ".join(str(error).split()), told, error)


def _told(error: SourceError) -> str:
    """Name an error without its message, which names users, namespaces and hosts."""
    return error.kind.value if error.status is None else f"{error.kind.value}, {error.status}"


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
