"""Every exception that kindex raises.

::

    KindexError
    ├── InvalidObjectError(ValueError)       an object that cannot be stored: no name, None, ...
    ├── DecodeError(ValueError)              text that is not the JSON of an object, a list or a watch event
    ├── PartialObjectError(LookupError)      what a transform has dropped from a LazyObject
    ├── ReadOnlyError(TypeError)             a LazyObject cannot be edited
    ├── InvalidKeyError(ValueError)          text that is not a key
    ├── PathSyntaxError(ValueError)          text that is not a JSON path
    ├── SelectorError(ValueError)
    │   ├── SelectorSyntaxError              selector text; knows the position
    │   └── SelectorObjectError              a LabelSelector object; knows the member
    ├── IndexerError(ValueError)             an indexer that is declared wrongly
    ├── IndexFunctionError(ValueError)       an index function failed on an object
    │   └── IndexValueError(TypeError)       ... or gave something that cannot be an index value
    ├── UnknownIndexError(LookupError)       a term, but the store has no such index
    ├── IndexConflictError(ValueError)       two different indexers under one name
    ├── QueryError(ValueError)               arguments that make no query
    ├── ScopeError(ValueError)               a namespace too many or too few
    ├── ObjectNotFound(LookupError)          ``require`` found nothing
    ├── BudgetExceededError(RuntimeError)    an index would break its budget, and ``on_budget="raise"``
    ├── ScanRefusedError(RuntimeError)       a scan where the store says ``scan="error"``
    ├── InCommitError(RuntimeError)          a finalizer or signal handler came in the middle of a commit
    ├── TransactionError(RuntimeError)       a transaction used in a way it cannot be
    ├── SnapshotClosedError(RuntimeError)    a snapshot that was closed
    ├── FollowerTooSlow(RuntimeError)        a follower that asked for every delta, and fell behind
    ├── NotReachedError(TimeoutError)        a wait that ended without what was waited for
    ├── NotSyncedError(RuntimeError)         a read of what an informer has not listed yet
    │   └── SyncTimeoutError(TimeoutError)   ... and will not have, within the time given
    ├── InformerError(RuntimeError)          an informer used in a way it cannot be
    ├── InformerConflictError(ValueError)    one resource, wanted from a group in two ways
    ├── ObjectBudgetError(RuntimeError)      the objects of an informer take more than they may
    ├── SettingError(ValueError)             ``informer.settings``: an argument of an informer that cannot be
    ├── SourceError(OSError)                 ``sources``: a list or a watch failed; its ``kind`` says what can be done
    ├── ResourceError(ValueError)            ``sources.resources``: something that cannot be listed
    ├── KubeconfigError(ValueError)          ``sources.kubeconfigs``: a kubeconfig that cannot be used
    ├── MetricsError(ValueError)             ``metrics.subjects``: what cannot be measured, or not twice on a registry
    ├── ClockError(TimeoutError)             ``testing.clocks``: a ManualClock that waited in vain for other threads
    ├── ApiError(RuntimeError)               ``testing``: a request that ApiServer refuses
    ├── PatchError(ValueError)               ``testing.api_server.patches``: a JSON patch that does not fit
    ├── ClusterError(OSError)                ``cli.cluster``: a cluster that cannot be asked, or refuses
    └── InputError(ValueError)               ``cli.documents``: a file that holds no Kubernetes objects

Each class is also the builtin that a caller would catch, and carries the facts
of its sentence as attributes. Those that name a module of ``kindex`` stand
there, beside what raises them; the others are here, and in ``kindex`` itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class KindexError(Exception):
    """The root: whatever kindex raises on purpose is one of these.

    >>> from kindex import LabelSelector
    >>> try:
    ...     LabelSelector.parse("app in web")
    ... except KindexError as error:
    ...     type(error).__name__
    'SelectorSyntaxError'
    """


class InvalidObjectError(KindexError, ValueError):
    """An object that cannot be stored: it is None, or it has no name.

    >>> from kindex import Store
    >>> Store(name="pods").put({"metadata": {"namespace": "prod"}})
    Traceback (most recent call last):
    ...
    kindex.errors.InvalidObjectError: an object of type dict has no metadata.name, and so no key (store 'pods')
    """


class DecodeError(KindexError, ValueError):
    """JSON text that is not what it should be; ``what`` says what was read, ``reason`` what is wrong with it.

    Attributes:
        what: an object, a list, an item of one, a watch event.
        reason: what is wrong.
        position: of an item of a list, how many stand before it; else None.

    >>> from kindex import LazyObject
    >>> LazyObject.from_json(b"[]")
    Traceback (most recent call last):
    ...
    kindex.errors.DecodeError: an object: Expected `object`, got `array`
    """

    def __init__(self, what: str, reason: str, position: int | None = None) -> None:
        """Say *what* was to be read, and why it cannot be."""
        self.what = what
        self.reason = reason
        self.position = position
        super().__init__(f"{what}: {reason}")


class PartialObjectError(KindexError, LookupError):
    """A transform dropped what is asked for, so its absence says nothing about the object on the server.

    >>> from kindex import LazyObject
    >>> from kindex.transforms import keep_paths
    >>> pod = LazyObject.from_dict({"metadata": {"name": "a"}, "spec": {"nodeName": "n1", "hostname": "a"}})
    >>> slim = keep_paths("spec.nodeName")(pod)
    >>> slim.path("spec.hostname")
    Traceback (most recent call last):
    ...
    kindex.errors.PartialObjectError: spec.hostname: a transform dropped all but spec.nodeName; let it keep this, ...
    """

    def __init__(self, what: str, dropped: str, advice: str) -> None:
        """Say *what* was asked for, what a transform has *dropped*, and what to do."""
        self.what = what
        self.dropped = dropped
        super().__init__(f"{what}: a transform dropped {dropped}; {advice}")


class ReadOnlyError(KindexError, TypeError):
    """An edit of a LazyObject or a part of one: it is shared by all who read the store.

    >>> from kindex import LazyObject
    >>> pod = LazyObject.from_dict({"metadata": {"name": "a"}, "spec": {}})
    >>> pod["spec"] = {"nodeName": "n1"}
    Traceback (most recent call last):
    ...
    kindex.errors.ReadOnlyError: 'spec' of a LazyObject is read-only; edit a copy: obj.to_dict() gives a fresh dict
    """

    def __init__(self, what: str) -> None:
        """Say *what* cannot be edited."""
        self.what = what
        super().__init__(f"{what} of a LazyObject is read-only; edit a copy: obj.to_dict() gives a fresh dict")


class InvalidKeyError(KindexError, ValueError):
    """Text or parts that make no ``ObjectKey``.

    >>> from kindex import ObjectKey
    >>> ObjectKey.parse("a/b/c")
    Traceback (most recent call last):
    ...
    kindex.errors.InvalidKeyError: 'a/b/c' is not a key: more than one slash; a key is 'namespace/name' or 'name'
    """

    def __init__(self, text: str, reason: str) -> None:
        """Say why *text* is not a key."""
        self.text = text
        self.reason = reason
        super().__init__(f"{text!r} is not a key: {reason}; a key is 'namespace/name' or 'name'")


class _PositionedError(KindexError, ValueError):
    """A text that breaks its grammar at one place."""

    what = "text"

    def __init__(self, text: str, position: int, reason: str) -> None:
        """Say what is wrong with *text* at *position* (in characters, from 0)."""
        self.text = text
        self.position = position
        self.reason = reason
        super().__init__(f"{self.what} {_shortened(text)!r}: {reason} at position {position}")

    def caret(self) -> str:
        """Show the text with a caret under the place; two lines, cut to 78 columns around it."""
        start = max(0, self.position - 60)
        shown = self.text[start : start + 78]
        # One column for each character, so that the caret stands where it should.
        shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in shown)
        return f"{shown}\n{' ' * (self.position - start)}^"


class PathSyntaxError(_PositionedError):
    """Text that is not a JSON path; ``text``, ``position`` and ``reason`` say where and why.

    >>> from kindex import JsonPath
    >>> try:
    ...     JsonPath.parse("spec.containers[0].image")
    ... except PathSyntaxError as error:
    ...     print(error.caret())
    spec.containers[0].image
                    ^
    """

    what = "path"


class SelectorError(KindexError, ValueError):
    """A selector that cannot be understood; the two kinds below say where.

    >>> from kindex import LabelSelector
    >>> def readable(selector):
    ...     try:
    ...         LabelSelector.of(selector)
    ...     except SelectorError:
    ...         return False
    ...     return True
    >>> readable("app in (web,api)"), readable("app in web"), readable({"matchLabels": {"app": 5}})
    (True, False, False)
    """


class SelectorSyntaxError(_PositionedError, SelectorError):
    """Selector text that apimachinery would refuse; ``text``, ``position`` and ``reason`` say where and why.

    >>> from kindex import LabelSelector
    >>> try:
    ...     LabelSelector.parse("app in web")
    ... except SelectorSyntaxError as error:
    ...     print(error.caret())
    app in web
           ^
    """

    what = "selector"


class SelectorObjectError(SelectorError):
    """A LabelSelector object that the API would refuse; ``member`` names the part, such as ``matchExpressions[0]``.

    >>> from kindex import LabelSelector
    >>> LabelSelector.of({"matchExpressions": [{"key": "app", "operator": "In", "values": []}]})
    Traceback (most recent call last):
    ...
    kindex.errors.SelectorObjectError: selector object, matchExpressions[0].values: 'in' needs at least one
    """

    def __init__(self, member: str, reason: str) -> None:
        """Say what is wrong with *member* of a selector object."""
        self.member = member
        self.reason = reason
        super().__init__(f"selector object, {member}: {reason}" if member else f"selector object: {reason}")


class IndexerError(KindexError, ValueError):
    """An indexer that is declared wrongly: no keys, an empty name, a budget that is missing.

    >>> from kindex import LabelIndexer
    >>> LabelIndexer()
    Traceback (most recent call last):
    ...
    kindex.errors.IndexerError: LabelIndexer needs a key, such as LabelIndexer('app'); for all keys, ...
    """


def _unchanged(store: str) -> str:
    return "nothing was changed" + (f" in store {store!r}" if store else "")


class IndexFunctionError(KindexError, ValueError):
    """An index function raised; the write that called it changed nothing.

    >>> from kindex import Indexer, Store
    >>> pods = Store(name="pods", indexers=[Indexer("node", lambda pod: pod["spec"]["nodeName"])])
    >>> pods.put({"metadata": {"name": "a", "namespace": "x"}})
    Traceback (most recent call last):
    ...
    kindex.errors.IndexFunctionError: index 'node' failed on x/a: KeyError: 'spec'; nothing was changed in store ...
    """

    def __init__(self, index: str, key: object, reason: str, store: str = "") -> None:
        """Name the *index*, the *key* of the object, the cause, and the *store*, where there is one."""
        self.index = index
        self.key = key
        self.reason = reason
        self.store = store
        super().__init__(
            f"index {index!r} failed on {key}: {reason}; {_unchanged(store)}"
            ' (on_error="skip" files such objects under no value)'
        )

    def of_store(self, store: str) -> IndexFunctionError:
        """Give the same error with the name of the *store*, which an indexer does not know."""
        return type(self)(self.index, self.key, self.reason, store).with_traceback(self.__traceback__)


class IndexValueError(IndexFunctionError, TypeError):
    """An index function gave a value that cannot be one: not a str, int, bool or tuple of them.

    >>> from kindex import Indexer, Store
    >>> pods = Store(name="pods", indexers=[Indexer("load", lambda pod: 0.7)])
    >>> pods.put({"metadata": {"name": "a", "namespace": "x"}})
    Traceback (most recent call last):
    ...
    kindex.errors.IndexValueError: index 'load' failed on x/a: an index function gives values, not float 0.7; ...
    """


class UnknownIndexError(KindexError, LookupError):
    """A query names an index that the store does not have.

    >>> from kindex import FieldIndexer, LabelIndexer, Store
    >>> pods = Store(name="pods", indexers=[LabelIndexer("app")])
    >>> pods.select(FieldIndexer("spec.nodeName").at("n1"))
    Traceback (most recent call last):
    ...
    kindex.errors.UnknownIndexError: no index 'spec.nodeName' in store 'pods' (it has: app, namespace); declare it ...
    """

    def __init__(self, index: str, names: Iterable[str], store: str, among: str = "") -> None:
        """Say which *index* was asked for, of which *store*, and which *names* there are.

        *among* says what they are, where they are not all of its indexes.
        """
        self.index = index
        self.names = tuple(sorted(names))
        self.store = store
        there = ", ".join(self.names) or "none"
        if among:
            super().__init__(f"no index {index!r} among the {among} of store {store!r} (there are: {there})")
        else:
            super().__init__(
                f"no index {index!r} in store {store!r} (it has: {there}); declare it with indexers=[...], or"
                " add_indexers()"
            )


class IndexConflictError(KindexError, ValueError):
    """Two different indexers claim one name; nothing was added.

    >>> from kindex import FieldIndexer, Store
    >>> node, host = FieldIndexer("spec.nodeName", name="node"), FieldIndexer("spec.host", name="node")
    >>> Store(name="pods", indexers=[node, host])
    Traceback (most recent call last):
    ...
    kindex.errors.IndexConflictError: two different indexers are called 'node' in store 'pods': ...
    """

    def __init__(self, name: str, present: object, added: object, store: str) -> None:
        """Name both: the indexer that is *present* and the one that was to be *added* to the *store*."""
        self.name = name
        self.store = store
        self.present = present
        self.added = added
        super().__init__(
            f"two different indexers are called {name!r} in store {store!r}: {present!r} is there,"
            f" {added!r} was to be added; give one of them another name"
        )


class QueryError(KindexError, ValueError):
    """Arguments that make no query: an empty namespace, a negative limit, a term that is not one.

    >>> from kindex import Store
    >>> Store(name="pods").select(namespace="")
    Traceback (most recent call last):
    ...
    kindex.errors.QueryError: namespace "" names no namespace; for all namespaces use None
    """


class ScopeError(KindexError, ValueError):
    """A namespace too many or too few for what the store keeps.

    >>> from kindex import Store
    >>> pods = Store(name="pods", scope="namespaced")
    >>> pods.get("web-1")
    Traceback (most recent call last):
    ...
    kindex.errors.ScopeError: the objects of store 'pods' have namespaces; say which 'web-1': get(name, namespace=...)
    """


class ObjectNotFound(KindexError, LookupError):  # noqa: N818 - says what it is; the design names it
    """``require`` was asked for an object that is not there.

    >>> from kindex import Store
    >>> Store(name="pods").require("web-1", namespace="prod")
    Traceback (most recent call last):
    ...
    kindex.errors.ObjectNotFound: no object prod/web-1 in store 'pods'
    """

    def __init__(self, key: object, store: str) -> None:
        """Name the *key* and the *store*."""
        self.key = key
        self.store = store
        super().__init__(f"no object {key} in store {store!r}")


class ScanRefusedError(KindexError, RuntimeError):
    """A query scanned, and the store or the call said ``scan="error"``.

    >>> from kindex import Store
    >>> pods = Store(name="pods", scan="error")
    >>> for number in range(100):
    ...     _ = pods.put({"metadata": {"name": f"web-{number}", "namespace": "prod"}})
    >>> pods.select(label_selector="app=web")
    Traceback (most recent call last):
    ...
    kindex.errors.ScanRefusedError: store 'pods' looked at 100 objects to find 0, since no index answers app=web; ...
    """

    def __init__(self, store: str, selectors: str, scanned: int, returned: int) -> None:
        """Say which *selectors* no index answered, and what answering without one took."""
        self.store = store
        self.selectors = selectors
        self.scanned = scanned
        self.returned = returned
        super().__init__(
            f"store {store!r} looked at {scanned} objects to find {returned}, since no index answers"
            f" {selectors}; add an indexer for it, or allow the scan with scan='allow'"
        )


class BudgetExceededError(KindexError, RuntimeError):
    """An index would break its budget, where the store says ``on_budget="raise"``; nothing was changed.

    >>> from kindex import Budget, LabelIndexer, Store
    >>> by_app = LabelIndexer("app", budget=Budget(max_values=1))
    >>> pods = Store(name="pods", indexers=[by_app], on_budget="raise")
    >>> for app in ("web", "db"):
    ...     _ = pods.put({"metadata": {"name": app, "namespace": "x", "labels": {"app": app}}})
    Traceback (most recent call last):
    ...
    kindex.errors.BudgetExceededError: index 'app' would break the budget of indexer 'app': 2 values, max_values=1; ...
    """

    def __init__(self, index: str, scope: str, reason: str, store: str) -> None:
        """Name the *index*, whose budget it is, the limit, and the *store*."""
        self.index = index
        self.scope = scope
        self.reason = reason
        self.store = store
        super().__init__(f"index {index!r} would break the budget of {scope}: {reason}; {_unchanged(store)}")


class InCommitError(KindexError, RuntimeError):
    """Code that Python ran inside a store's lock (a finalizer, a signal handler) asked for what cannot be had there."""


class TransactionError(KindexError, RuntimeError):
    """A transaction used outside its block, a second time, or for what it cannot do.

    >>> from kindex import Store
    >>> txn = Store(name="pods").transaction()
    >>> txn.put({"metadata": {"name": "a", "namespace": "x"}})
    Traceback (most recent call last):
    ...
    kindex.errors.TransactionError: this transaction of store 'pods' is not open; use it inside its with block
    """


class SnapshotClosedError(KindexError, RuntimeError):
    """A snapshot was asked after it had been closed.

    >>> from kindex import Store
    >>> with Store(name="pods").snapshot() as before:
    ...     pass
    >>> before.count()
    Traceback (most recent call last):
    ...
    kindex.errors.SnapshotClosedError: this snapshot of store 'pods' is closed; take another with snapshot()
    """

    def __init__(self, store: str) -> None:
        """Name the *store*."""
        self.store = store
        super().__init__(f"this snapshot of store {store!r} is closed; take another with snapshot()")


class FollowerTooSlow(KindexError, RuntimeError):  # noqa: N818 - says what it is, as the docs of the feed do
    """A follower with ``overflow="close"`` did not take its deltas in time; it is closed.

    >>> from kindex import Store
    >>> pods = Store(name="pods")
    >>> follower = pods.follow(replay=False, overflow="close")
    >>> for number in range(2_000):
    ...     _ = pods.put({"metadata": {"name": f"web-{number}", "namespace": "prod"}})
    >>> next(follower)
    Traceback (most recent call last):
    ...
    kindex.errors.FollowerTooSlow: a follower of store 'pods' fell 1024 commits behind and was closed; follow again ...
    """

    def __init__(self, store: str, waiting: int) -> None:
        """Name the *store*, and say how many commits were *waiting*."""
        self.store = store
        self.waiting = waiting
        super().__init__(
            f"a follower of store {store!r} fell {waiting} commits behind and was closed; follow again to start from"
            ' the present state, or let deltas be merged: overflow="merge"'
        )


class NotReachedError(KindexError, TimeoutError):
    """What was waited for did not come in time; the sentence says what there is.

    >>> from kindex import Store
    >>> pods = Store(name="pods")
    >>> pods.wait_version("7", timeout_seconds=0.01)
    Traceback (most recent call last):
    ...
    kindex.errors.NotReachedError: what was waited for in store 'pods' did not come in 0.01 s: resource version ...
    """


class NotSyncedError(KindexError, RuntimeError):
    """A read of what an informer has not listed yet: "not there" would be a guess.

    The cause, if there is one, is what the server or the network said last.

    Attributes:
        informer: its name.
        reason: what is missing.

    >>> from kindex import Informer
    >>> from kindex.testing import FakeSource
    >>> Informer(FakeSource(name="pods")).view.select()
    Traceback (most recent call last):
    ...
    kindex.errors.NotSyncedError: informer 'pods' has not synced: it was not started; use it in a with block, or ...
    """

    def __init__(self, informer: str, reason: str, advice: str = "") -> None:
        """Name the *informer*, say what is missing, and what to do about it."""
        self.informer = informer
        self.reason = reason
        super().__init__(f"informer {informer!r} {reason}" + (f"; {advice}" if advice else ""))


class SyncTimeoutError(NotSyncedError, TimeoutError):
    """An informer did not sync in the time that it was given; the cause is what went wrong last.

    >>> from kindex import Informer
    >>> from kindex.testing import FakeSource
    >>> source = FakeSource(name="pods")
    >>> source.fail("list", 503, times=None)
    >>> with Informer(source, sync_timeout=0.05):
    ...     pass
    Traceback (most recent call last):
    ...
    kindex.errors.SyncTimeoutError: informer 'pods' has not synced in 0.05 s: 503: as the test said
    """


class InformerError(KindexError, RuntimeError):
    """An informer used in a way it cannot be: started again, or asked for what its kind does not have.

    >>> from kindex import Informer
    >>> from kindex.testing import FakeSource
    >>> informer = Informer(FakeSource(name="pods"))
    >>> with informer:
    ...     pass
    >>> informer.start()
    Traceback (most recent call last):
    ...
    kindex.errors.InformerError: informer 'pods' was stopped; an informer runs once, so make another one
    """


class InformerConflictError(KindexError, ValueError):
    """Two requests to a group for one resource that no informer can fulfil both.

    >>> from kindex import InformerGroup
    >>> from kindex.testing import FakeSource
    >>> source, group = FakeSource(name="pods"), InformerGroup()
    >>> _ = group.informer(source, page_size=500)
    >>> group.informer(source, page_size=100)
    Traceback (most recent call last):
    ...
    kindex.errors.InformerConflictError: informer 'pods' of this group has page_size=500, and another request wants ...
    """

    def __init__(self, informer: str, setting: str, present: object, wanted: object) -> None:
        """Name the *informer* and the *setting*, and say what is *present* and what was *wanted*."""
        self.informer = informer
        self.setting = setting
        self.present = present
        self.wanted = wanted
        super().__init__(
            f"informer {informer!r} of this group has {setting}={present!r}, and another request wants"
            f" {setting}={wanted!r}; agree on one, or make an Informer of its own"
        )


class ObjectBudgetError(KindexError, RuntimeError):
    """The objects of an informer would take more memory than they may; it was stopped.

    >>> print(ObjectBudgetError("pods", size=3_000_000, budget=2_000_000))
    the objects of informer 'pods' take 3,000,000 bytes, of which some are still being listed; ...
    """

    def __init__(self, informer: str, size: int, budget: int) -> None:
        """Name the *informer*, and say what its objects take and may take, in bytes."""
        self.informer = informer
        self.size = size
        self.budget = budget
        super().__init__(
            f"the objects of informer {informer!r} take {size:,} bytes, of which some are still being listed;"
            f" object_budget={budget:,}; narrow it by namespaces= or a selector, or keep less of each object"
        )


def _shortened(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else text[:limit] + "..."
