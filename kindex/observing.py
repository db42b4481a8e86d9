"""Observing: what a watch says becomes writes, but for what is late or said twice.

Watches repeat themselves after a reconnect, and bridges may mix up the order. What an event says is compared with what
is there: a repeat changes nothing, an older version does not overwrite a newer one, a late deletion of an object that
has been created anew since does not remove the new one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

from kindex.errors import QueryError
from kindex.objects import resource_version_of, uid_changed
from kindex.resource_versions import compare, usable
from kindex.writes import checked_key, delete, put

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kindex.core import Core
    from kindex.deltas import Delta

T = TypeVar("T")

EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class Ignored(NamedTuple):
    """How many events changed nothing, and why.

    Attributes:
        repeats: the object is there, in this very version.
        older: the object is there in a newer version.
        late_deletes: another object is there under the key, by its UID.

    >>> from kindex import Store
    >>> pods = Store(name="pods")
    >>> pod = {"metadata": {"name": "a", "namespace": "x", "uid": "u1", "resourceVersion": "7"}}
    >>> for _ in range(2):
    ...     _ = pods.observe("ADDED", pod)
    >>> pods.ignored
    Ignored(repeats=1, older=0, late_deletes=0)
    """

    repeats: int = 0
    older: int = 0
    late_deletes: int = 0


def observe(core: Core[T], event_type: EventType, obj: T, namespace: str | None) -> tuple[Delta[T], ...]:
    """Write what one event says; see ``Store.observe``."""
    core.check_may_write()
    if event_type not in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK"):
        raise QueryError(
            f"{event_type!r} is no event that changes a store (ADDED, MODIFIED, DELETED, BOOKMARK); an ERROR means that"
            " the watch is over: list again, and replace()"
        )
    versions = _newer(core, resource_version_of(obj), namespace)
    if event_type == "BOOKMARK":
        _note(core, versions)
        return ()
    found: list[str] = []
    deltas: tuple[Delta[T], ...]
    if event_type == "DELETED":

        def late(there: T | None) -> bool:
            found[:] = ["late_deletes"] if uid_changed(there, obj) else []
            return bool(found)

        deleted = delete(core, checked_key(core, obj), late, versions)
        deltas = () if deleted is None else (deleted,)
    else:

        def known(there: T | None) -> bool:
            found[:] = _why_known(there, obj)
            return bool(found)

        deltas = put(core, obj, known, versions)
    if not deltas:
        _note(core, versions)
    for reason in found:
        core.count_ignored(reason)
    return deltas


def _why_known(there: object, obj: object) -> list[str]:
    """Say why an event has nothing new to say; nothing when it has."""
    if there is None:
        return []
    order = compare(resource_version_of(there), resource_version_of(obj))
    if order == 1:
        return ["older"]
    return ["repeats"] if order == 0 and not uid_changed(there, obj) else []


def _newer(core: Core[T], version: str, namespace: str | None) -> Mapping[str | None, str] | None:
    """Give what to note of *version*: the event of a deletion may carry an older one, which takes nothing back."""
    if not usable(version):
        return None
    present = core.generation.resource_versions.get(namespace)
    return None if present and compare(present, version) in (0, 1) else {namespace: version}


def _note(core: Core[T], versions: Mapping[str | None, str] | None) -> None:
    if versions is None:
        return
    with core.lock:
        core.settle()
        core.generation.resource_versions.update(versions)
    core.ring()
