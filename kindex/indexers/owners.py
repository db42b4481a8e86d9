"""OwnerIndexer: by the objects that own an object."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import attrs

from kindex.budgets import Budget
from kindex.errors import IndexerError
from kindex.indexers.base import Indexer
from kindex.indexers.terms import Absent, AllOf, At, Term
from kindex.members import member_of
from kindex.objects import api_version_of, key_of, kind_of, owner_references_of, text_of, uid_of

if TYPE_CHECKING:
    pass

OwnerValue: TypeAlias = str | tuple[str, str, str, str]
"""A UID, or namespace of the child, API group, kind and name."""

_NAMED = ("namespace", "group", "kind", "name")


@attrs.frozen
class OwnersOf:
    """The index function of an OwnerIndexer."""

    controller_only: bool

    def __call__(self, obj: object) -> list[OwnerValue] | None:
        """Give the values of all owners of *obj*."""
        references = owner_references_of(obj)
        if not references:
            return None
        namespace: str | None = None
        values: list[OwnerValue] = []
        for reference in references:
            if self.controller_only and member_of(reference, "controller") is not True:
                continue
            uid, kind, name = _text(reference, "uid"), _text(reference, "kind"), _text(reference, "name")
            if uid:
                values.append(uid)
            if kind and name:
                if namespace is None:
                    namespace = key_of(obj).namespace
                values.append((namespace, group_of(_text(reference, "apiVersion")), kind, name))
        return values


def _text(reference: object, name: str) -> str:
    value = member_of(reference, name)
    return value if type(value) is str else text_of(value)


@attrs.frozen(init=False, repr=False)
class OwnerIndexer(Indexer[object, OwnerValue]):
    """An index by owner references: who owns this object?

    Files each object by its owners' UIDs, and by its own namespace and the owners' API group, kind and name. A look-up
    by an owner that gives both needs both to agree, so the children of a deleted namesake are not found.

    Args:
        controller_only: count only the owner that is marked as controller.
        name: says what it is in plans, errors and reports.
        budget: as for Indexer.

    >>> from kindex import Store
    >>> by_owner = OwnerIndexer()
    >>> metadata = {"name": "web", "namespace": "x", "uid": "u1"}
    >>> web = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata}
    >>> reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u1", "controller": True}
    >>> pods = Store(indexers=[by_owner])
    >>> _ = pods.put({"metadata": {"name": "a", "namespace": "x", "ownerReferences": [reference]}})
    >>> _ = pods.put({"metadata": {"name": "b", "namespace": "x"}})
    >>> pods.count(by_owner.at(web)), pods.count(by_owner.orphans()), pods.count(by_owner.at(web) | by_owner.orphans())
    (1, 1, 2)
    """

    def __init__(self, *, controller_only: bool = False, name: str | None = None, budget: Budget | None = None) -> None:
        default = "controller" if controller_only else "owner"
        super().__init__(name if name is not None else default, OwnersOf(controller_only), budget=budget)

    def __repr__(self) -> str:
        function = self.function
        assert isinstance(function, OwnersOf)
        return f"OwnerIndexer(controller_only={function.controller_only})"

    def at(self, value: object) -> Term[object]:
        """Select what an owner owns: a stored object, an owner reference, or a UID as text.

        An object says kind and name, which must agree with its UID, when it is namespaced; the items of a typed list
        lack their kind, and then the UID decides alone, as it does for cluster-scoped owners.

        Raises:
            IndexerError: the owner has neither a UID nor kind and name.
        """
        if isinstance(value, str) and value:
            return super().at(value)
        if isinstance(value, tuple) and len(value) == len(_NAMED) and all(isinstance(part, str) for part in value):
            return super().at(value)  # as index_values gives it
        if isinstance(value, (str, tuple)):  # a missing UID, or a key: nobody is owned by it, which nobody means
            raise IndexerError(
                f"{value!r} is no owner; give an object, an owner reference or a UID, or use named(kind, name, ...)"
            )
        try:
            namespace, name = key_of(value)
            uid = uid_of(value)
        except ValueError:  # an owner reference has no metadata
            namespace, name, uid = "", _text(value, "name"), _text(value, "uid")
        kind = kind_of(value)
        terms: list[Term[object]] = [At(self, (uid,))] if uid else []
        if kind and name and namespace:
            terms.append(self.named(kind, name, namespace=namespace, group=group_of(api_version_of(value))))
        if not terms:
            raise IndexerError(
                f"cannot look up an owner without uid ({type(value).__name__} {name!r}); give an object that has one,"
                " or use named(kind, name, namespace=...)"
            )
        return terms[0] if len(terms) == 1 else AllOf(tuple(terms))

    def named(self, kind: str, name: str, *, namespace: str = "", group: str = "") -> Term[object]:
        """Select what the owner of this kind and name owns in *namespace*; *group* is ``"apps"``, ``""`` for core.

        For a cluster-scoped owner, *namespace* is the children's.
        """
        return At(self, ((namespace, group, kind, name),))

    def orphans(self) -> Term[object]:
        """Select the objects that no one owns (with *controller_only*: that have no controller)."""
        return Absent(self)


def group_of(api_version: str) -> str:
    """Give the API group of ``apps/v1``; the core group is ``""``.

    >>> group_of("apps/v1"), group_of("v1")
    ('apps', '')
    """
    return api_version.partition("/")[0] if "/" in api_version else ""
