"""Registration: functions that are called with each delta of a store, in a thread of their own."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar, assert_never

from kindex.deadlines import Deadline
from kindex.deltas import Added, Deleted, Updated
from kindex.errors import FollowerTooSlow, QueryError
from kindex.following import Follower

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex.core import Core
    from kindex.deltas import Delta
    from kindex.filters import Filter
    from kindex.following import Overflow

T = TypeVar("T")

OnError: TypeAlias = "Callable[[Exception, Delta[T] | None], object]"

_log = logging.getLogger(__name__)


class Handlers(Generic[T]):
    """The functions of one registration, and what became of their calls. Used by the registration's thread alone."""

    def __init__(
        self,
        name: str,
        store: str,
        on_add: Callable[[Added[T]], object] | None,
        on_update: Callable[[Updated[T]], object] | None,
        on_delete: Callable[[Deleted[T]], object] | None,
        on_error: OnError[T] | None,
    ) -> None:
        self.name = name
        self.store = store
        self.on_add = on_add
        self.on_update = on_update
        self.on_delete = on_delete
        self.on_error = on_error
        self.handled = 0
        self.errors = 0
        self.synced = False
        self.settled = threading.Event()  # synced, or over before that

    def call(self, delta: Delta[T]) -> None:
        """Call the function for *delta*; what it raises is counted and reported, and goes no further."""
        try:
            match delta:
                case Added():
                    if self.on_add is not None:
                        self.on_add(delta)
                case Updated():
                    if self.on_update is not None:
                        self.on_update(delta)
                case Deleted():
                    if self.on_delete is not None:
                        self.on_delete(delta)
                case _:
                    assert_never(delta)
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            self.report(error, delta)
        self.handled += 1

    def report(self, error: Exception, delta: Delta[T] | None) -> None:
        """Count an error, and tell the user's function for errors of it, or the log."""
        self.errors += 1
        what = "its filter" if delta is None else f"{type(delta).__name__} of {delta.key}"
        if self.on_error is not None:
            try:
                self.on_error(error, delta)
            except Exception:  # noqa: BLE001 - as above
                _log.exception("on_error of handler %r of store %r failed on %s", self.name, self.store, what)
        else:
            _log.error("handler %r of store %r failed on %s", self.name, self.store, what, exc_info=error)


class Registration(Generic[T]):
    """Event handlers of a store, which run until they are removed. ``StoreView.add_event_handler()`` makes one.

    The functions are called one at a time, in a thread that belongs to this registration, without any lock: they may
    read and write the store, add handlers and indexers, remove this registration. What they raise is counted, and
    logged with the names of registration and store, or given to ``on_error``. The thread ends with the registration,
    with the store, and never keeps the process alive. A forked child has no such thread: register there anew.

    >>> from kindex import Store
    >>> pods, seen = Store(name="pods"), []
    >>> registration = pods.add_event_handler(on_add=lambda delta: seen.append(delta.key.name), name="seen")
    >>> _ = pods.put({"metadata": {"name": "a", "namespace": "x"}})
    >>> registration.remove()
    >>> registration.name, registration.active
    ('seen', False)
    """

    def __init__(
        self, core: Core[T], wanted: Filter[T], handlers: Handlers[T], *, replay: bool, overflow: Overflow
    ) -> None:
        self._handlers = handlers
        self._follower = Follower(core, wanted, replay=replay, overflow=overflow, threaded=True)
        # The thread refers to the follower and the functions, which do not refer to the store: it ends with the store.
        self._thread = threading.Thread(
            target=_run, args=(self._follower, handlers), name=f"kindex-{core.name}-{handlers.name}", daemon=True
        )
        self._thread.start()

    def __repr__(self) -> str:
        state = "active" if self.active else "removed"
        return f"Registration({self.name!r}, {state}, {self.handled} handled, {self.errors} errors)"

    @property
    def name(self) -> str:
        """What the log calls it."""
        return self._handlers.name

    @property
    def active(self) -> bool:
        """Whether deltas still reach the functions."""
        return self._thread.is_alive() and not self._follower.closed

    @property
    def synced(self) -> bool:
        """Whether the functions have been called with all that there was at the beginning."""
        return self._handlers.synced

    @property
    def handled(self) -> int:
        """How many deltas the functions were called with."""
        return self._handlers.handled

    @property
    def errors(self) -> int:
        """How often a function, or the filter, raised."""
        return self._handlers.errors

    @property
    def lag(self) -> int:
        """How many keys have changes that were not taken yet."""
        return self._follower.lag

    def wait_synced(self, timeout_seconds: float | None = None) -> bool:
        """Wait until ``synced``; False if that took longer, or will never be: it was removed, or is what asks."""
        if threading.current_thread() is not self._thread:
            self._handlers.settled.wait(Deadline(timeout_seconds).left)
        return self.synced

    @property
    def calling(self) -> bool:
        """Whether it is one of the functions that asks: this is the registration's own thread."""
        return threading.current_thread() is self._thread

    def resync(self) -> None:
        """Call ``on_update`` with each object that there is, after what waits; old and new are the same. No I/O."""
        self._follower.resync()

    def remove(self) -> None:
        """Call the functions no more. A call that is under way goes on; see ``join``. May be done again."""
        self._follower.close()

    def join(self, timeout_seconds: float | None = None) -> None:
        """Wait until a removed registration's last call is over; at once, when it is that call that asks."""
        if threading.current_thread() is not self._thread:
            self._thread.join(Deadline(timeout_seconds).left)


def checked_handlers(name: str | None, on_error: object, **functions: object) -> None:
    """Refuse what cannot be called.

    Raises:
        QueryError: a handler is no function, or there is none.
    """
    given = [each for each in functions.values() if each is not None]
    if not given:
        raise QueryError(f"no handler was given; say what to call: {', '.join(functions)}")
    for what, function in {**functions, "on_error": on_error}.items():
        if function is not None and not callable(function):
            raise QueryError(f"{what} is a function of a delta, or None, not {function!r}")
    if name is not None and not isinstance(name, str):
        raise QueryError(f"the name of a handler is text, not {name!r}")


def name_of(*functions: object) -> str:
    """Name a registration by its first function."""
    function = next(each for each in functions if each is not None)
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)


def _run(follower: Follower[T], handlers: Handlers[T]) -> None:
    try:
        _serve(follower, handlers)
    finally:  # also when a function raised SystemExit
        follower.close()
        handlers.settled.set()


def _serve(follower: Follower[T], handlers: Handlers[T]) -> None:
    passed = 0
    while True:
        if follower.synced and not handlers.synced:
            handlers.synced = True
            handlers.settled.set()
        try:
            delta = follower.next(None if handlers.synced else 0)
        except FollowerTooSlow as error:
            handlers.report(error, None)
            return
        except Exception as error:  # noqa: BLE001 - its filter is a user's function
            handlers.report(error, None)
            if follower.passed == passed:  # it was not the filter, and would be the same again, for ever
                return
            passed = follower.passed
            continue
        if delta is not None:
            handlers.call(delta)
            delta = None  # an idle thread keeps no object alive
        elif follower.closed:
            return
