"""State: what queries read, of the present or of the past."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from weakref import ref

    from kindex.generation import Generation
    from kindex.indexers.terms import Term
    from kindex.keys import ObjectKey
    from kindex.lock_times import LockTimes
    from kindex.programs import Narrowing, Program
    from kindex.queries import Scan
    from kindex.schema import Schema, Spot
    from kindex.values import Filing, ValueKey

T = TypeVar("T")


class State(Protocol[T]):
    """What queries read: the present, a Generation, or the Past that a snapshot holds.

    All of it is read under the lock, and left before the lock is free.

    Attributes:
        schema: what objects are filed under.
        revision: how many commits made it.
        resource_versions: what replaces and bookmarks said last, by namespace.
    """

    schema: Schema[T]
    revision: int
    resource_versions: dict[str | None, str]

    def __len__(self) -> int:
        """Count the objects."""
        ...

    def __contains__(self, key: object) -> bool:
        """Tell whether there is an object under *key*; touches no object."""
        ...

    @property
    def indexed(self) -> Generation[T]:
        """What estimates are made on."""
        ...

    @property
    def namespaced(self) -> bool:
        """Whether any object has a namespace."""
        ...

    def get(self, key: ObjectKey) -> T | None:
        """Give the object under *key*, or None."""
        ...

    def held(self) -> list[T]:
        """Copy references to all objects."""
        ...

    def objects_of(self, program: Program) -> list[T]:
        """Copy references to the objects that *program* leaves."""
        ...

    def found(
        self, program: Program, limit: int | None, spot: Spot | None, trace: list[Narrowing] | None
    ) -> tuple[list[ObjectKey], list[T], list[Filing]]:
        """Give the keys and objects that *program* leaves, at most *limit*, and where they are filed at *spot*."""
        ...

    def counted(self, program: Program) -> int:
        """Count the objects that *program* leaves."""
        ...

    def sizes_at(self, spot: Spot) -> list[tuple[ValueKey, int]]:
        """Give the keys of an index with the sizes of their postings."""
        ...

    def skipped(self) -> dict[str, int]:
        """Count, for each index whose function may fail, the objects on which it did. O(slots)."""
        ...


class Readable(Protocol[T]):
    """What a view reads: the Core of a store, or the Moment of a snapshot."""

    @property
    def name(self) -> str:
        """Of the store."""
        ...

    @property
    def scope(self) -> str | None:
        """As declared."""
        ...

    @property
    def scan(self) -> Scan:
        """What to do when a query scans."""
        ...

    @property
    def lock(self) -> AbstractContextManager[bool]:
        """The lock of the store."""
        ...

    @property
    def generation(self) -> State[T]:
        """What is read; to be asked under the lock, and left before it is free."""
        ...

    @property
    def pending(self) -> object:
        """What is being applied; None is nothing."""
        ...

    @property
    def watchers(self) -> list[ref[Any]]:
        """Those who are told of each query."""
        ...

    @property
    def lock_times(self) -> LockTimes | None:
        """How long the lock was waited for and held, where that is measured."""
        ...

    @property
    def settles(self) -> Callable[[tuple[Term[Any], ...]], tuple[Term[Any], ...]] | None:
        """What to do with terms before they are asked; None is nothing."""
        ...

    def check_may_read(self) -> None:
        """Refuse to read inside a commit of this very thread."""
        ...

    def check_scope(self, key: ObjectKey) -> None:
        """Refuse a key that cannot be there."""
        ...

    def settle(self) -> None:
        """Finish a commit that was cut short. The caller holds the lock."""
        ...

    def count_scan(self) -> None:
        """Count a query that scanned."""
        ...
