"""``kindex query -w``: the answer, and how it changes, until somebody ends it."""

from __future__ import annotations

import logging
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kindex.cli.changes import ChangePrinter, Happening
from kindex.deltas import Added
from kindex.errors import QueryError, SyncTimeoutError
from kindex.informer.informer import Informer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kindex.cli.cluster import Cluster, Wanted
    from kindex.cli.printing import Output
    from kindex.cli.query import Question
    from kindex.deltas import Delta

RawObject: TypeAlias = dict[str, Any]  # Any: JSON
_Came: TypeAlias = "tuple[int, Delta[RawObject]]"  # which of the kinds, and what happened

_LOOK_SECONDS: Final = 0.1  # between two looks whether the first list has failed


def check_watched(question: Question, *, explain: bool) -> None:
    """Refuse what an answer that goes on cannot do.

    Raises:
        QueryError: so it is.
    """
    refused = {"--sort-by": question.sort_by is not None, "--limit": question.limit is not None, "--explain": explain}
    for option, given in refused.items():
        if given:
            raise QueryError(f"-w prints changes as they come, so it takes no {option}")


def watched(
    question: Question,
    cluster: Cluster,
    kinds: Sequence[Wanted],
    output: Output,
    *,
    say: Callable[[str], None],
    headers: bool = True,
    namespaces: bool = False,
) -> Iterator[str]:
    """Give the answer, each object as ADDED, and then each change of it, as text that ends with a line; never ends.

    An object that no longer answers is DELETED, be it there or not. Interruptions of the connection are said, and
    survived. The first objects come by key.

    Raises:
        ClusterError: the first list was refused, or failed.
    """
    came: SimpleQueue[_Came] = SimpleQueue()
    with ExitStack() as stack, _warnings(say) as speak:
        informers = [stack.enter_context(_informer(wanted, cluster, question)) for wanted in kinds]
        for informer, wanted in zip(informers, kinds, strict=True):
            _wait_synced(informer, wanted, cluster)
            for namespace in informer.refused:
                say(f"no rights to list {informer.name} in namespace {namespace}; it is asked for again now and then")
        speak()
        registrations = [
            informer.view.add_event_handler(
                put := _putter(came, number),
                put,
                put,
                label_selector=question.labels,
                field_selector=question.fields,
                name=f"{informer.name}-printing",
            )
            for number, informer in enumerate(informers)
        ]
        for registration in registrations:
            registration.wait_synced()
        printers = [
            ChangePrinter(
                wanted.kind,
                output,
                namespaces=_has_namespaces(wanted) and (namespaces or len(question.namespaces) != 1),
                resources=len(kinds) > 1,
                headers=headers,
            )
            for wanted in kinds
        ]
        last: int | None = None
        batch = _in_order(_taken(came))
        while True:
            for number, group in groupby(batch, key=lambda each: each[0]):
                happenings = [Happening.of(delta) for _, delta in group]
                yield from printers[number].printed(happenings, now=datetime.now(UTC), heading=number != last)
                last = number
            batch = [came.get(), *_taken(came)]


@contextmanager
def _informer(wanted: Wanted, cluster: Cluster, question: Question) -> Iterator[Informer[RawObject]]:
    informer: Informer[RawObject] = Informer(
        wanted.served.resource,
        client=cluster.client,
        namespaces=wanted.namespaces,
        indexers=question.indexers,
        name=wanted.served.resource.plural,
        objects="dict",
        strip=None,
        sync_timeout=None,
    )
    try:
        yield informer.start()
    finally:
        informer.stop()


def _wait_synced(informer: Informer[RawObject], wanted: Wanted, cluster: Cluster) -> None:
    """Wait for the first list; an error ends it, where later ones are survived: somebody waits for an answer."""
    while True:
        try:
            informer.wait_synced(_LOOK_SECONDS)
        except SyncTimeoutError:
            if informer.last_error is not None:
                namespace = None if wanted.namespaces is None else ""
                raise cluster.error(informer.last_error, wanted, namespace) from informer.last_error
        else:
            return


def _has_namespaces(wanted: Wanted) -> bool:
    return wanted.served.resource.namespaced is not False


def _putter(came: SimpleQueue[_Came], number: int) -> Callable[[Delta[RawObject]], None]:
    return lambda delta: came.put((number, delta))


def _taken(came: SimpleQueue[_Came]) -> list[_Came]:
    """Give what has come, without waiting."""
    found: list[_Came] = []
    try:
        while True:
            found.append(came.get_nowait())
    except Empty:
        return found


def _in_order(batch: list[_Came]) -> list[_Came]:
    """Sort the first objects by kind and key; where something has happened since, what came stays as it came."""
    if not all(isinstance(delta, Added) for _, delta in batch):
        return batch
    return sorted(batch, key=lambda each: (each[0], each[1].key))


@contextmanager
def _warnings(say: Callable[[str], None]) -> Iterator[Callable[[], None]]:
    """Say what the informers warn of in the log, once the function that this gives was called."""
    speaking = False

    def speak() -> None:
        nonlocal speaking
        speaking = True

    class _Saying(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if speaking:
                say(record.getMessage())

    handler = _Saying(logging.WARNING)
    logger = logging.getLogger("kindex.informer")
    logger.addHandler(handler)
    try:
        yield speak
    finally:
        logger.removeHandler(handler)
