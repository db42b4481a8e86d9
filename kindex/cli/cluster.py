"""A cluster to ask: which one, what it calls a kind, and its objects; what goes wrong is one sentence."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self, TypeAlias

import attrs

from kindex.cli.collector import without_collector
from kindex.cli.kinds import Kind
from kindex.decoding import DictDecoder
from kindex.errors import KindexError, QueryError
from kindex.sources.base import ListRequest
from kindex.sources.discovery import Discovery
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.kubeconfigs import KubeconfigError, client_of
from kindex.sources.making import source_of
from kindex.sources.resources import ResourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kindex.sources.discovery import Served

RawObject: TypeAlias = dict[str, Any]  # Any: JSON
Progress: TypeAlias = "Callable[[str, int], None]"

_PAGE: Final = 500
ANSWER_SECONDS: Final = 20.0  # for what a server answers at once, while somebody waits


class ClusterError(KindexError, OSError):
    """A cluster that cannot be asked, or refuses; the sentence says which, and what can be done."""


@attrs.frozen
class Wanted:
    """One kind to be listed, and in which namespaces; None for all, or where it has none."""

    served: Served
    namespaces: tuple[str, ...] | None

    @property
    def kind(self) -> Kind:
        """The kind, as the command line prints it."""
        return Kind(self.served.kind, self.served.resource.api_version.rpartition("/")[0])


class Cluster:
    """A cluster, by its client: ``with Cluster.of(kubeconfig, context) as cluster``."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - an ApiClient
        self.client = client
        self._discovery = Discovery(client, answer_seconds=ANSWER_SECONDS)

    @classmethod
    def of(cls, kubeconfig: str | None, context: str | None) -> Self:
        """Find it as kubectl does.

        Raises:
            ClusterError: the kubeconfig does not lead to one.
        """
        try:
            return cls(client_of(kubeconfig, context))
        except KubeconfigError as error:
            raise ClusterError(f"{error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._discovery.close()
        self.client.close()

    def wanted(self, words: Iterable[str], namespaces: Sequence[str]) -> list[Wanted]:
        """Find the kinds that *words* name, each once.

        Raises:
            QueryError: the cluster has no such kind.
            ClusterError: it cannot be asked.
        """
        found: dict[Wanted, None] = {}
        for word in words:
            try:
                served = self._discovery.find(word)
            except ResourceError as error:
                raise QueryError(f"{self.place}: {error}") from error
            except SourceError as error:
                raise self.error(error) from error
            within = tuple(namespaces) if namespaces and served.resource.namespaced is not False else None
            found[Wanted(served, within)] = None
        return list(found)

    def listed(self, wanted: Wanted, on_progress: Progress | None = None) -> list[RawObject]:
        """List the objects of a kind, page by page; *on_progress* is told its plural and how many there are so far.

        Raises:
            ClusterError: the cluster refuses, or cannot be asked.
        """
        found: list[RawObject] = []
        with self._source(wanted) as pages_of, without_collector():
            for namespace in wanted.namespaces or (None,):
                before = len(found)
                try:
                    for page in pages_of(namespace, _PAGE):
                        found += page
                        if on_progress is not None:
                            on_progress(wanted.served.resource.plural, len(found))
                except SourceError as error:
                    if error.kind is not ErrorKind.EXPIRED:
                        raise self.error(error, wanted, namespace) from error
                    # The token of a page lasts some minutes; a list that takes longer has to come in one piece.
                    del found[before:]
                    try:
                        found += next(pages_of(namespace, 0))
                    except SourceError as again:
                        raise self.error(again, wanted, namespace) from again
        return found

    def error(self, error: BaseException, wanted: Wanted | None = None, namespace: str | None = None) -> ClusterError:
        """Say what went wrong, where, and what may help.

        Args:
            error: it.
            wanted: what was asked for, if it was one kind.
            namespace: in which namespace; None for all.
        """
        hint = ""
        if isinstance(error, SourceError):
            match error.kind:
                case ErrorKind.RIGHTS if wanted is not None and wanted.served.resource.namespaced is False:
                    plural = wanted.served.resource.plural
                    hint = f" ({plural} have no namespace: only a ClusterRole gives rights to them)"
                case ErrorKind.RIGHTS if wanted is not None and namespace is None:
                    hint = " (-n asks for one namespace, where there may be rights)"
                case ErrorKind.CREDENTIALS:
                    hint = " (what the kubeconfig says of the user has expired, or was never valid here)"
        text = " ".join(str(error).split())
        return ClusterError(f"{self.place}: {text}{hint}")

    @property
    def place(self) -> str:
        """Where it is."""
        return str(self.client.configuration.host)

    def server_version(self) -> str:
        """Give what its server says its version is; raises SourceError where it does not answer."""
        return self._discovery.version()

    @contextmanager
    def _source(self, wanted: Wanted) -> Iterator[Callable[[str | None, int], Iterator[Sequence[RawObject]]]]:
        source = source_of(wanted.served.resource, decoder=DictDecoder(), client=self.client)

        def pages_of(namespace: str | None, limit: int) -> Iterator[Sequence[RawObject]]:
            page = source.list_page(ListRequest(namespace, limit=limit))
            yield page.objects
            while page.continuation:
                page = source.list_page(ListRequest(namespace, continuation=page.continuation, limit=limit))
                yield page.objects

        try:
            yield pages_of
        finally:
            source.close()
