"""kindex: the index that a Kubernetes controller's cache lacks in Python."""

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
