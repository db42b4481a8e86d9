"""The table of all metrics: names, types, labels and what they say; docs/metrics.md shows it."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

Labels: TypeAlias = tuple[str, ...]

STORE: Final[Labels] = ("store",)
INDEX: Final[Labels] = ("store", "index")
SCOPE: Final[Labels] = ("store", "scope")
BY: Final[Labels] = ("store", "by")


class Described(NamedTuple):
    """One metric, as it is exposed.

    Attributes:
        name: as a scrape shows it.
        type: whether it only grows.
        labels: their names.
        says: what its value is.
    """

    name: str
    type: Literal["gauge", "counter"]
    labels: Labels
    says: str


METRICS: Final = (
    Described("kindex_store_objects", "gauge", STORE, "Objects in the store."),
    Described("kindex_store_revision", "gauge", STORE, "Commits so far."),
    Described("kindex_store_bytes", "gauge", STORE, "Bytes that the store takes, without the objects."),
    Described("kindex_store_lock_takes_total", "counter", BY, "Times that queries or writes took the lock."),
    Described("kindex_store_lock_wait_seconds_total", "counter", BY, "How long they waited for it, summed."),
    Described("kindex_store_lock_hold_seconds_total", "counter", BY, "How long they held it, summed."),
    Described("kindex_store_followers", "gauge", STORE, "Followers and handlers."),
    Described("kindex_store_queued_items", "gauge", STORE, "Changes that followers have not taken, of all together."),
    Described("kindex_store_queued_items_max", "gauge", STORE, "Changes that the slowest follower has not taken."),
    Described(
        "kindex_store_ignored_events_total", "counter", ("store", "reason"), "Events that came late or were repeated."
    ),
    Described("kindex_index_values", "gauge", INDEX, "Distinct values of the index."),
    Described("kindex_index_postings", "gauge", INDEX, "Objects under each value of the index, summed."),
    Described("kindex_index_bytes", "gauge", INDEX, "Bytes that the index takes."),
    Described("kindex_index_dropped", "gauge", INDEX, "1 for an index that broke its budget; its queries scan."),
    Described("kindex_index_drops_total", "counter", STORE, "Indexes that broke a budget and were dropped."),
    Described("kindex_budget_bytes", "gauge", SCOPE, "Bytes that the indexes of the scope may take."),
    Described("kindex_budget_values", "gauge", SCOPE, "Values that the indexes of the scope may have."),
    Described("kindex_queries_total", "counter", INDEX, "Queries, by the index that narrowed them most."),
    Described("kindex_query_fetched_objects_total", "counter", INDEX, "Objects that these queries looked at."),
    Described("kindex_query_returned_objects_total", "counter", INDEX, "Objects that these queries returned."),
    Described("kindex_index_uses_total", "counter", INDEX, "Queries that used the index, be it beside others."),
    Described("kindex_scans_total", "counter", STORE, "Queries that scanned."),
    Described("kindex_reflector_lists_total", "counter", STORE, "Lists that were begun."),
    Described("kindex_reflector_relists_total", "counter", STORE, "Lists that were begun after the first was applied."),
    Described("kindex_reflector_pages_total", "counter", STORE, "Pages of lists that came."),
    Described("kindex_reflector_watches_total", "counter", STORE, "Watches that were asked for."),
    Described(
        "kindex_reflector_short_watches_total", "counter", STORE, "Watches that ended within a second, with nothing."
    ),
    Described("kindex_reflector_events_total", "counter", STORE, "Events of objects that came."),
    Described("kindex_reflector_bookmarks_total", "counter", STORE, "Bookmarks that came."),
    Described("kindex_reflector_expired_total", "counter", STORE, "Versions and tokens that the server did not know."),
    Described("kindex_reflector_errors_total", "counter", ("store", "kind"), "Errors of lists and watches."),
    Described("kindex_informer_synced", "gauge", STORE, "Whether the first list was applied."),
    Described("kindex_informer_live", "gauge", STORE, "Whether it follows its source now."),
    Described("kindex_informer_age_seconds", "gauge", STORE, "How long ago its source said something; +Inf if never."),
    Described("kindex_informer_refused_namespaces", "gauge", STORE, "Namespaces that it has no rights to."),
    Described(
        "kindex_informer_store_resource_version", "gauge", STORE, "Up to which resource version the store has all."
    ),
    Described("kindex_informer_object_bytes", "gauge", STORE, "Bytes of the objects, where they have a budget."),
    Described("kindex_informer_skipped_objects_total", "counter", STORE, "Objects left out, as not to be decoded."),
    Described("kindex_informer_misfit_objects_total", "counter", STORE, "Objects of another shape, decoded slowly."),
)
