"""ObjectKey: the identity of one object among those of its kind."""

from __future__ import annotations

from typing import NamedTuple

from kindex.errors import InvalidKeyError


class ObjectKey(NamedTuple):
    """Namespace and name; the namespace of a cluster-scoped object is ``""``.

    A pair, never a joined text: ``a`` + ``b`` and no namespace + ``a/b`` are two keys. Ordered by
    namespace, then name.

    >>> str(ObjectKey("prod", "web-1")), str(ObjectKey("", "node-1"))
    ('prod/web-1', 'node-1')
    >>> ObjectKey.parse("prod/web-1")
    ObjectKey(namespace='prod', name='web-1')
    """

    namespace: str
    name: str

    def __str__(self) -> str:
        """Give the text that ``parse`` reads back: ``namespace/name``, or the bare name."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @classmethod
    def parse(cls, text: str) -> ObjectKey:
        """Read a key from its text, as work queues keep it.

        Splits at the first slash; ``/x`` is ``x`` without a namespace, as in client-go. O(length).

        Raises:
            InvalidKeyError: the text lacks a name, or has a second slash.
        """
        if not isinstance(text, str):
            raise InvalidKeyError(repr(text), "not text")
        namespace, slash, name = text.partition("/")
        if not slash:
            namespace, name = "", text
        if "/" in name:
            raise InvalidKeyError(text, "more than one slash")
        if not name:
            raise InvalidKeyError(text, "the name is empty")
        return cls(namespace, name)
