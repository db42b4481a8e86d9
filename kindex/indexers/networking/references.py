"""Indexes by reference: to an object of the same namespace by its name, to one anywhere by namespace and name."""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from kindex.errors import IndexerError
from kindex.indexers.base import NamespaceIndexer
from kindex.indexers.derived import DerivedIndexer, texts
from kindex.indexers.terms import Term
from kindex.keys import ObjectKey
from kindex.objects import key_of, kind_of

Reference: TypeAlias = tuple[str, str]
"""Namespace and name of the object that is meant; an ObjectKey asks for it."""


class LocalReferenceIndexer(DerivedIndexer[str]):
    """What the indexes have in common that file objects by a name in their own namespace."""

    _kind: ClassVar[str]

    def of(self, referent: object) -> Term[object]:
        """Select the objects that name *referent*, a stored object or an ObjectKey, from its own namespace.

        ``at(name)`` selects those that name any object so called, in all namespaces.

        Raises:
            IndexerError: *referent* is of another kind, or has no namespace.
        """
        namespace, name = key_named(referent, self._kind)
        return NamespaceIndexer().at(namespace) & self.at(name)


class ReferenceIndexer(DerivedIndexer[Reference]):
    """What the indexes have in common that file objects by namespace and name of what they mean."""

    _kind: ClassVar[str]

    def of(self, referent: object) -> Term[object]:
        """Select the objects, in any namespace, that mean *referent*, a stored object or an ObjectKey.

        Raises:
            IndexerError: *referent* is of another kind, or has no namespace.
        """
        return self.at(key_named(referent, self._kind))


def names(_namespace: str, *found: tuple[object, ...]) -> list[str]:
    """Give all names at some paths, as index values of a LocalReferenceIndexer."""
    return [name for values in found for name in texts(values)]


def key_named(referent: object, kind: str) -> ObjectKey:
    """Give the key of what a term asks about.

    Raises:
        IndexerError: it is of another kind, or has no namespace, so that nothing could be found, which nobody means.

    >>> key_named({"kind": "Service", "metadata": {"name": "web", "namespace": "prod"}}, "Service")
    ObjectKey(namespace='prod', name='web')
    >>> key_named("prod/web", "Service")
    Traceback (most recent call last):
    ...
    kindex.errors.IndexerError: 'prod/web' is no Service; give the object, or ObjectKey(namespace, name)
    """
    if isinstance(referent, (str, tuple)) and not isinstance(referent, ObjectKey):
        raise IndexerError(f"{referent!r} is no {kind}; give the object, or ObjectKey(namespace, name)")
    key = referent if isinstance(referent, ObjectKey) else key_of(referent)
    own = "" if isinstance(referent, ObjectKey) else kind_of(referent)  # items of typed lists lack it
    if own not in ("", kind):
        raise IndexerError(f"{own} {str(key)!r} is no {kind}")
    if not key.namespace:
        raise IndexerError(f"{kind} {str(key)!r} has no namespace, and a reference to one always means one")
    return key


def reference_in(text: object, namespace: str) -> Reference | None:
    """Read ``namespace/name``, or ``name`` for an object in *namespace*; None if it is neither.

    >>> reference_in("edge/main", "prod"), reference_in("main", "prod"), reference_in("a/b/c", "prod")
    (('edge', 'main'), ('prod', 'main'), None)
    """
    if not isinstance(text, str):
        return None
    before, slash, after = text.partition("/")
    reference = (before, after) if slash else (namespace, before)
    return reference if all(reference) and "/" not in after else None
