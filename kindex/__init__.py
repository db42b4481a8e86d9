"""kindex: the index that a Kubernetes controller's cache lacks in Python.

Names are loaded when they are used: a program that only parses selectors loads no store, and one that brings its own
watch no informer.
"""

from importlib import import_module

TYPE_CHECKING = False  # as typing has it, without loading that
if TYPE_CHECKING:
    from kindex.advice import Advice
    from kindex.advisor import Advisor
    from kindex.budgets import Budget, Drop
    from kindex.deltas import Added, Deleted, Delta, Updated
    from kindex.errors import (
        BudgetExceededError,
        DecodeError,
        FollowerTooSlow,
        InCommitError,
        IndexConflictError,
        IndexerError,
        IndexFunctionError,
        IndexValueError,
        InformerConflictError,
        InformerError,
        InvalidKeyError,
        InvalidObjectError,
        KindexError,
        NotReachedError,
        NotSyncedError,
        ObjectBudgetError,
        ObjectNotFound,
        PartialObjectError,
        PathSyntaxError,
        QueryError,
        ReadOnlyError,
        ScanRefusedError,
        ScopeError,
        SelectorError,
        SelectorObjectError,
        SelectorSyntaxError,
        SnapshotClosedError,
        SyncTimeoutError,
        TransactionError,
        UnknownIndexError,
    )
    from kindex.explain import Plan, PlanStep
    from kindex.following import Follower
    from kindex.forecasts import Forecast, IndexForecast, forecast
    from kindex.handlers import Registration
    from kindex.indexers.base import Indexer, NamespaceIndexer
    from kindex.indexers.fields import FieldIndexer
    from kindex.indexers.filters import FilterIndexer
    from kindex.indexers.labels import AnnotationIndexer, LabelIndexer
    from kindex.indexers.owners import OwnerIndexer
    from kindex.indexers.selecting import SelectorIndexer, SkippedWarning
    from kindex.indexers.sorted import SortedIndexer
    from kindex.indexers.terms import Term
    from kindex.informer.aio import AsyncInformer
    from kindex.informer.aio_groups import AsyncInformerGroup
    from kindex.informer.groups import InformerGroup
    from kindex.informer.informer import Informer
    from kindex.informer.readiness import Readiness
    from kindex.informer.stats import InformerStats
    from kindex.informer.views import InformerView
    from kindex.keys import ObjectKey
    from kindex.lazy import LazyObject
    from kindex.memory import IndexMemory, IndexSize, MemoryReport
    from kindex.near_unique import NEAR_UNIQUE
    from kindex.observing import Ignored
    from kindex.paths import JsonPath
    from kindex.queries import ScanWarning
    from kindex.selectors import FieldRequirement, FieldSelector, LabelSelector, Requirement
    from kindex.snapshots import Snapshot
    from kindex.store import Store
    from kindex.store_views import StoreView
    from kindex.transactions import Transaction
    from kindex.views import View

__all__ = [  # noqa: RUF022 - sorted as Python sorts, which tests/api asserts
    "Added",
    "Advice",
    "Advisor",
    "AnnotationIndexer",
    "AsyncInformer",
    "AsyncInformerGroup",
    "Budget",
    "BudgetExceededError",
    "DecodeError",
    "Deleted",
    "Delta",
    "Drop",
    "FieldIndexer",
    "FieldRequirement",
    "FieldSelector",
    "FilterIndexer",
    "Follower",
    "FollowerTooSlow",
    "Forecast",
    "Ignored",
    "InCommitError",
    "IndexConflictError",
    "IndexForecast",
    "IndexFunctionError",
    "IndexMemory",
    "IndexSize",
    "IndexValueError",
    "Indexer",
    "IndexerError",
    "Informer",
    "InformerConflictError",
    "InformerError",
    "InformerGroup",
    "InformerStats",
    "InformerView",
    "InvalidKeyError",
    "InvalidObjectError",
    "JsonPath",
    "KindexError",
    "LabelIndexer",
    "LabelSelector",
    "LazyObject",
    "MemoryReport",
    "NEAR_UNIQUE",
    "NamespaceIndexer",
    "NotReachedError",
    "NotSyncedError",
    "ObjectBudgetError",
    "ObjectKey",
    "ObjectNotFound",
    "OwnerIndexer",
    "PartialObjectError",
    "PathSyntaxError",
    "Plan",
    "PlanStep",
    "QueryError",
    "ReadOnlyError",
    "Readiness",
    "Registration",
    "Requirement",
    "ScanRefusedError",
    "ScanWarning",
    "ScopeError",
    "SelectorError",
    "SelectorIndexer",
    "SelectorObjectError",
    "SelectorSyntaxError",
    "SkippedWarning",
    "Snapshot",
    "SnapshotClosedError",
    "SortedIndexer",
    "Store",
    "StoreView",
    "SyncTimeoutError",
    "Term",
    "Transaction",
    "TransactionError",
    "UnknownIndexError",
    "Updated",
    "View",
    "forecast",
]

_HOMES = {
    "advice": "Advice",
    "advisor": "Advisor",
    "budgets": "Budget Drop",
    "deltas": "Added Deleted Delta Updated",
    "errors": """
        BudgetExceededError DecodeError FollowerTooSlow InCommitError IndexConflictError IndexerError
        IndexFunctionError IndexValueError InformerConflictError InformerError InvalidKeyError InvalidObjectError
        KindexError NotReachedError NotSyncedError ObjectBudgetError ObjectNotFound PartialObjectError
        PathSyntaxError QueryError ReadOnlyError ScanRefusedError ScopeError SelectorError SelectorObjectError
        SelectorSyntaxError SnapshotClosedError SyncTimeoutError TransactionError UnknownIndexError
    """,
    "explain": "Plan PlanStep",
    "following": "Follower",
    "forecasts": "Forecast IndexForecast forecast",
    "handlers": "Registration",
    "indexers.base": "Indexer NamespaceIndexer",
    "indexers.fields": "FieldIndexer",
    "indexers.filters": "FilterIndexer",
    "indexers.labels": "AnnotationIndexer LabelIndexer",
    "indexers.owners": "OwnerIndexer",
    "indexers.selecting": "SelectorIndexer SkippedWarning",
    "indexers.sorted": "SortedIndexer",
    "indexers.terms": "Term",
    "informer.aio": "AsyncInformer",
    "informer.aio_groups": "AsyncInformerGroup",
    "informer.groups": "InformerGroup",
    "informer.informer": "Informer",
    "informer.readiness": "Readiness",
    "informer.stats": "InformerStats",
    "informer.views": "InformerView",
    "keys": "ObjectKey",
    "lazy": "LazyObject",
    "memory": "IndexMemory IndexSize MemoryReport",
    "near_unique": "NEAR_UNIQUE",
    "observing": "Ignored",
    "paths": "JsonPath",
    "queries": "ScanWarning",
    "selectors": "FieldRequirement FieldSelector LabelSelector Requirement",
    "snapshots": "Snapshot",
    "store": "Store",
    "store_views": "StoreView",
    "transactions": "Transaction",
    "views": "View",
}
"""In which module each name is; the imports above say the same to type checkers."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Load a name, and keep it: this is called once for each."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'kindex' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"kindex.{home}"), name)
    return found


def __dir__() -> list[str]:
    """List the names that there are, loaded or not."""
    return sorted({*globals(), *__all__})
