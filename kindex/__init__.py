"""kindex: the index that a Kubernetes controller's cache lacks in Python."""

from kindex.budgets import Budget
from kindex.deltas import Added, Deleted, Delta, Updated
from kindex.errors import (
    InCommitError,
    IndexConflictError,
    IndexerError,
    IndexFunctionError,
    IndexValueError,
    InvalidKeyError,
    InvalidObjectError,
    KindexError,
    ObjectNotFound,
    PathSyntaxError,
    QueryError,
    ScanRefusedError,
    ScopeError,
    SelectorError,
    SelectorObjectError,
    SelectorSyntaxError,
    TransactionError,
    UnknownIndexError,
)
from kindex.explain import Plan, PlanStep
from kindex.indexers.base import Indexer, NamespaceIndexer
from kindex.indexers.fields import FieldIndexer
from kindex.indexers.filters import FilterIndexer
from kindex.indexers.labels import AnnotationIndexer, LabelIndexer
from kindex.indexers.owners import OwnerIndexer
from kindex.indexers.sorted import SortedIndexer
from kindex.indexers.terms import Term
from kindex.keys import ObjectKey
from kindex.paths import JsonPath
from kindex.queries import ScanWarning
from kindex.selectors import FieldRequirement, FieldSelector, LabelSelector, Requirement
from kindex.store import Store
from kindex.transactions import Transaction
from kindex.views import StoreView

__all__ = [
    "Added",
    "AnnotationIndexer",
    "Budget",
    "Deleted",
    "Delta",
    "FieldIndexer",
    "FieldRequirement",
    "FieldSelector",
    "FilterIndexer",
    "InCommitError",
    "IndexConflictError",
    "IndexFunctionError",
    "IndexValueError",
    "Indexer",
    "IndexerError",
    "InvalidKeyError",
    "InvalidObjectError",
    "JsonPath",
    "KindexError",
    "LabelIndexer",
    "LabelSelector",
    "NamespaceIndexer",
    "ObjectKey",
    "ObjectNotFound",
    "OwnerIndexer",
    "PathSyntaxError",
    "Plan",
    "PlanStep",
    "QueryError",
    "Requirement",
    "ScanRefusedError",
    "ScanWarning",
    "ScopeError",
    "SelectorError",
    "SelectorObjectError",
    "SelectorSyntaxError",
    "SortedIndexer",
    "Store",
    "StoreView",
    "Term",
    "Transaction",
    "TransactionError",
    "UnknownIndexError",
    "Updated",
]
