"""Conduct: how an informer behaves, whatever it lists and in whatever form it keeps that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypedDict

import attrs

from kindex.answers import REMEMBERED
from kindex.budgets import Budget, Drop, bytes_of
from kindex.decoding import OnDecodeError
from kindex.indexers.base import AnyIndexer, several
from kindex.informer.clocks import Clock, SystemClock
from kindex.informer.object_budgets import OnObjectBudget
from kindex.informer.reflector import Reflector
from kindex.informer.retries import RetryPolicy
from kindex.informer.settings import SettingError, number
from kindex.keys import ObjectKey
from kindex.objects import key_of
from kindex.queries import Scan
from kindex.store import Scope, Store
from kindex.transforms import Transform

# Any, in this module: an object of whatever type; mypy cannot carry it through a TypedDict.


class Settings(TypedDict, total=False):
    """What an informer may be told by name; ``Informer`` says what each means."""

    name: str
    indexers: Iterable[AnyIndexer[Any]]
    client: object
    namespace: str | None
    namespaces: Iterable[str] | None
    label_selector: object
    field_selector: object
    on_decode_error: OnDecodeError
    strip: Transform[Any] | None
    transform: Any
    key: Callable[[Any], ObjectKey]
    scope: Scope | None
    scan: Scan
    budget: Budget | None
    on_budget: Literal["raise"] | Callable[[Drop], object] | None
    remember_bytes: int | str
    object_budget: int | str | None
    on_object_budget: OnObjectBudget
    sync_timeout: float | None
    resync_seconds: float | None
    relist_seconds: float | None
    page_size: int
    watch_list: bool | None
    retry: RetryPolicy
    clock: Clock


def checked_namespace(name: str) -> str:
    """Give *name* if it names a namespace.

    Raises:
        SettingError: it does not.
    """
    if not isinstance(name, str) or not name or "/" in name:
        raise SettingError("namespace", name, "the name of one")
    return name


def _checked_names(names: Iterable[str] | None) -> tuple[str, ...] | None:
    if isinstance(names, str):
        raise SettingError("namespaces", names, f"several names, such as [{names!r}]")
    return None if names is None else tuple(dict.fromkeys(map(checked_namespace, names)))


def _several(indexers: Iterable[AnyIndexer[Any]]) -> tuple[AnyIndexer[Any], ...]:
    return several(indexers)


@attrs.frozen(kw_only=True)
class Conduct:
    """How an informer behaves; the attributes are what ``Informer`` takes under these names."""

    name: str | None = None
    indexers: tuple[AnyIndexer[Any], ...] = attrs.field(default=(), converter=_several)
    namespaces: tuple[str, ...] | None = attrs.field(default=None, converter=_checked_names)
    key: Callable[[Any], ObjectKey] = key_of
    scope: Scope | None = None
    scan: Scan = "allow"
    budget: Budget | None = None
    on_budget: Literal["raise"] | Callable[[Drop], object] | None = None
    remember_bytes: int = attrs.field(default=REMEMBERED, converter=bytes_of)
    object_budget: int | None = attrs.field(default=None, converter=attrs.converters.optional(bytes_of))
    on_object_budget: OnObjectBudget = "warn"
    sync_timeout: float | None = attrs.field(default=60.0, validator=number(optional=True))
    resync_seconds: float | None = attrs.field(default=None, validator=number(optional=True))
    relist_seconds: float | None = None
    page_size: int = 500
    watch_list: bool | None = None
    retry: RetryPolicy = attrs.field(factory=RetryPolicy)
    clock: Clock = attrs.field(factory=SystemClock)

    def __attrs_post_init__(self) -> None:
        if self.name is not None and (not isinstance(self.name, str) or not self.name):
            raise SettingError("name", self.name, "text that is not empty")
        if not isinstance(self.retry, RetryPolicy):
            raise SettingError("retry", self.retry, "a RetryPolicy, such as RetryPolicy(cap_seconds=30)")
        if self.on_object_budget not in ("warn", "stop"):
            raise SettingError("on_object_budget", self.on_object_budget, "'warn' or 'stop'")
        self.reflector(None, offers_watch_list=False)  # which checks what is its own

    def reflector(self, namespace: str | None, *, offers_watch_list: bool) -> Reflector[Any]:
        """Make the reflector for a namespace, or for all."""
        return Reflector(
            namespace=namespace,
            watch_list=offers_watch_list if self.watch_list is None else self.watch_list,
            page_size=self.page_size,
            relist_seconds=self.relist_seconds,
            retry=self.retry,
            key_of=self.key,
        )

    def store(self, name: str, source: object) -> Store[Any]:
        """Make the store; where *source* knows of what scope its objects are, so does the store."""
        scope, namespaced = self.scope, getattr(source, "namespaced", None)
        if scope is None and namespaced is not None:
            scope = "namespaced" if namespaced else "cluster"
        return Store(
            name=name,
            indexers=self.indexers,
            key=self.key,
            scope=scope,
            scan=self.scan,
            budget=self.budget,
            on_budget=self.on_budget,
            remember_bytes=self.remember_bytes,
        )
