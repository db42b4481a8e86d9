r"""FieldSelector: text such as ``spec.nodeName=n1,status.phase!=Running``.

Unlike label selectors, nothing is trimmed, nothing is validated, there are only ``=``
(also written ``==``) and ``!=``, and an absent field equals an empty one. In values,
``\``, ``,`` and ``=`` are written with a ``\`` before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, Literal, TypeAlias

import msgspec

from kindex.errors import SelectorObjectError, SelectorSyntaxError

FieldOperator: TypeAlias = Literal["=", "!="]

_CACHED_TEXTS: Final = 1024
_LONGEST_CACHED: Final = 1000

_OPERATOR = re.compile(r"!=|==|=")
_COMMA = re.compile(r"\\.|,", re.DOTALL)
_SPECIAL = re.compile(r"\\.?|[,=]", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_TO_ESCAPE = re.compile(r"[\\,=]")


class FieldRequirement(msgspec.Struct, frozen=True, cache_hash=True):
    r"""One condition on one field; the text of an absent field is ``""``.

    >>> str(FieldRequirement("spec.host", "!=", "a=b"))
    'spec.host!=a\\=b'
    """

    field: str
    operator: FieldOperator
    value: str

    def matches_text(self, text: str) -> bool:
        """Tell whether a field whose text is *text* fulfils this.

        >>> FieldRequirement("spec.nodeName", "!=", "n1").matches_text("")
        True
        """
        return (text == self.value) is (self.operator == "=")

    def __str__(self) -> str:
        """Print as selector text."""
        return f"{self.field}{self.operator}{escape(self.value)}"


class FieldSelector(msgspec.Struct, frozen=True, cache_hash=True):
    """All of some field requirements; ``requirements`` are in the order in which Go keeps them.

    A value: immutable, equal and hashed by its requirements. ``FieldSelector()`` selects everything.

    >>> selector = FieldSelector.parse("status.phase!=Running,spec.nodeName=n1")
    >>> str(selector)
    'spec.nodeName=n1,status.phase!=Running'
    >>> selector.matches({"spec.nodeName": "n1"})
    True
    """

    requirements: tuple[FieldRequirement, ...] = ()

    @staticmethod
    def parse(text: str) -> FieldSelector:
        """Read a selector from its text; O(length), and a dict look-up for a text seen lately.

        Raises:
            SelectorSyntaxError: the text is not a field selector.
            SelectorObjectError: *text* is not text.

        >>> FieldSelector.parse("spec.nodeName=n1,status.phase")
        Traceback (most recent call last):
        ...
        kindex.errors.SelectorSyntaxError: selector 'spec.nodeName=n1,status.phase': expected '=', '==' or '!=' \
after the field 'status.phase' at position 29
        """
        if type(text) is not str:
            if not isinstance(text, str):
                raise SelectorObjectError(
                    member="", reason=f"FieldSelector.parse reads text, not {type(text).__name__}"
                )
            text = str.__str__(text)
        return _parse_cached(text) if len(text) <= _LONGEST_CACHED else _parse(text)

    @classmethod
    def from_map(cls, fields: Mapping[str, str]) -> FieldSelector:
        """Make the selector that wants each of *fields* to have its value.

        Raises:
            SelectorObjectError: a field is not text or empty, or a value is not text.

        >>> FieldSelector.from_map({"status.phase": "Running"})
        FieldSelector.parse('status.phase=Running')
        """
        requirements = []
        for field, value in fields.items():
            if not isinstance(field, str) or not field:
                raise SelectorObjectError(repr(field), "a field is a path, as text")
            if not isinstance(value, str):
                raise SelectorObjectError(repr(field), f"a field's value is text, not {type(value).__name__}")
            requirements.append(FieldRequirement(str.__str__(field), "=", str.__str__(value)))
        return cls(tuple(sorted(requirements, key=str)))

    @classmethod
    def of(cls, value: str | FieldSelector | Mapping[str, str]) -> FieldSelector:
        """Read whatever a query takes as ``field_selector``: text, a selector, or a map of fields to values.

        Raises:
            SelectorSyntaxError: the text is not a field selector.
            SelectorObjectError: *value* is none of these.

        >>> FieldSelector.of({"spec.nodeName": "n1"}) == FieldSelector.of("spec.nodeName=n1")
        True
        """
        if isinstance(value, str):
            return cls.parse(value)
        if isinstance(value, FieldSelector):
            return value
        if isinstance(value, Mapping):
            return cls.from_map(value)
        raise SelectorObjectError(
            member="", reason=f"must be text, a FieldSelector or a map, not {type(value).__name__}"
        )

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Tell whether *fields*, the texts of an object's fields, fulfil every requirement.

        >>> FieldSelector.parse("spec.nodeName=").matches({})
        True
        """
        for requirement in self.requirements:  # noqa: SIM110 - a generator would double the cost of a scan
            if not requirement.matches_text(fields.get(requirement.field, "")):
                return False
        return True

    @property
    def empty(self) -> bool:
        """Whether this asks nothing, and so selects everything."""
        return not self.requirements

    def exact_value(self, field: str) -> str | None:
        """Give the one value that *field* must have, or None where no requirement says one.

        >>> FieldSelector.parse("metadata.name=web-1").exact_value("metadata.name")
        'web-1'
        """
        for requirement in self.requirements:
            if requirement.field == field and requirement.operator == "=":
                return requirement.value
        return None

    def __str__(self) -> str:
        """Print as the API's canonical text."""
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        """Show as the expression that makes it."""
        return f"FieldSelector.parse({str(self)!r})"


def escape(value: str) -> str:
    r"""Write *value* as it stands in selector text: a ``\`` before each ``\``, ``,`` and ``=``.

    >>> FieldSelector.parse("spec.host=" + escape("a,b")).exact_value("spec.host")
    'a,b'
    """
    return _TO_ESCAPE.sub(r"\\\g<0>", value)


def unescape(text: str) -> str:
    r"""Read back what ``escape`` wrote.

    Raises:
        SelectorSyntaxError: a ``\`` stands before anything else, or a ``,`` or ``=`` without one.

    >>> unescape(escape("a,b"))
    'a,b'
    """
    return _unescaped(text, 0, len(text))


def _parse(text: str) -> FieldSelector:
    terms = []
    for start, end in _terms(text):
        operator = _OPERATOR.search(text, start, end)
        if operator is None:
            reason = f"expected '=', '==' or '!=' after the field {_shortened(text[start:end])!r}"
            raise SelectorSyntaxError(text, end, reason)
        field, value = text[start : operator.start()], _unescaped(text, operator.end(), end)
        if field or value:  # an operator alone is skipped
            requirement = FieldRequirement(field, "!=" if operator[0] == "!=" else "=", value)
            terms.append((text[start:end], requirement))
    # Go sorts the terms as they were written, before it reads them: a==c comes before a=b.
    terms.sort(key=lambda term: term[0])
    return FieldSelector(tuple(requirement for _, requirement in terms))


_parse_cached = lru_cache(maxsize=_CACHED_TEXTS)(_parse)


def _terms(text: str) -> Iterator[tuple[int, int]]:
    """Cut at each comma without a backslash; empty terms are skipped."""
    start = 0
    for found in _COMMA.finditer(text):
        if found[0] == ",":
            if found.start() > start:
                yield start, found.start()
            start = found.end()
    if len(text) > start:
        yield start, len(text)


def _unescaped(text: str, start: int, end: int) -> str:
    for found in _SPECIAL.finditer(text, start, end):
        if found[0] in (",", "="):
            reason = f"a {found[0]!r} in a value is written '\\{found[0]}'"
            raise SelectorSyntaxError(text, found.start(), reason)
        if found[0] not in ("\\\\", "\\,", "\\="):
            reason = "a '\\' in a value stands before '\\', ',' or '=' only"
            raise SelectorSyntaxError(text, found.start(), reason)
    return _ESCAPED.sub(r"\1", text[start:end])


def _shortened(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[:limit] + "..."
