"""Requirement: what one condition on one label asks.

``Requirement.matches_value`` alone knows what each operator means, and what it makes of a
label that is absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias, assert_never, get_args

import msgspec

from kindex.errors import SelectorObjectError
from kindex.label_syntax import validate_label_key, validate_label_value
from kindex.objects import label_text

Operator: TypeAlias = Literal["=", "==", "!=", "in", "notin", "exists", "!", "gt", "lt"]
LabelTest: TypeAlias = Callable[[Mapping[str, object]], bool]

EXACT: Final = ("=", "==")
_ORDERED: Final = ("gt", "lt")
_OPERATORS: Final = get_args(Operator)

_ABSENT: Final = object()
_INTEGER = re.compile(r"([+-]?)0*([0-9]{1,19})")


class Requirement(msgspec.Struct, frozen=True, cache_hash=True):
    """One condition on one label: a key, an operator by Go's name, and the operator's values.

    ``values`` are sorted; a value that a selector object names twice is there twice, as Go
    prints it. A value: immutable, equal and hashed by the three.

    Raises:
        SelectorObjectError: apimachinery would refuse it: an unknown operator, a key or value
            that cannot be a label's, too few or too many values, a bound that is no int64.

    >>> Requirement("tier", "in", ("silver", "gold"))
    Requirement('tier', 'in', ('gold', 'silver'))
    >>> Requirement("tier", "in")
    Traceback (most recent call last):
    ...
    kindex.errors.SelectorObjectError: selector object, values: 'in' needs at least one
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()
    # Made from the three above, whatever is given for them.
    _accepted: frozenset[str] = frozenset()
    _bound: int = 0

    def __post_init__(self) -> None:
        """Check the parts; make what matching needs."""
        _check(self.key, self.operator, self.values)
        values = tuple(sorted(map(str.__str__, self.values)))
        finish = msgspec.structs.force_setattr
        finish(self, "key", str.__str__(self.key))
        finish(self, "values", values)
        finish(self, "_accepted", frozenset(values))
        finish(self, "_bound", _int64(values[0]) if self.operator in _ORDERED else 0)

    def matches(self, labels: Mapping[str, object] | None) -> bool:
        """Tell whether an object with these *labels* fulfils this; O(1).

        A null value is the empty text; a value that is not text is no label.

        >>> Requirement("tier", "!=", ("gold",)).matches({"app": "web"})
        True
        """
        value = _ABSENT if labels is None else labels.get(self.key, _ABSENT)
        return self.matches_value(None if value is _ABSENT else label_text(value))

    def matches_value(self, value: str | None) -> bool:
        """Tell whether a label with this *value* fulfils this; None is an absent label. O(1).

        ``!=`` and ``notin`` are fulfilled by an absent label, everything else but ``!`` is not.

        >>> Requirement("tier", "notin", ("gold",)).matches_value(None)
        True
        >>> Requirement("weight", "gt", ("7",)).matches_value("+10")
        True
        """
        match self.operator:
            case "=" | "==" | "in":
                return value in self._accepted
            case "!=" | "notin":
                return value not in self._accepted
            case "exists":
                return value is not None
            case "!":
                return value is None
            case "gt":
                number = _int64(value)
                return number is not None and number > self._bound
            case "lt":
                number = _int64(value)
                return number is not None and number < self._bound
        assert_never(self.operator)

    def matcher(self) -> LabelTest:
        """Give ``matches`` as a function for scans: it is faster, and takes a map, never None.

        >>> gold = Requirement("tier", "=", ("gold",)).matcher()
        >>> gold({"tier": "gold"}), gold({})
        (True, False)
        """
        key, matches_value, if_absent = self.key, self.matches_value, self.matches_value(None)

        def matches(labels: Mapping[str, object]) -> bool:
            value = labels.get(key, _ABSENT)
            if type(value) is str:
                return matches_value(value)
            return if_absent if value is _ABSENT else matches_value(label_text(value))

        if self.operator not in EXACT:
            return matches
        (wanted,) = self.values

        # What nearly every scan asks: no call for the usual label.
        def equals(labels: Mapping[str, object]) -> bool:
            value = labels.get(key, _ABSENT)
            if type(value) is str:
                return value == wanted
            return if_absent if value is _ABSENT else matches_value(label_text(value))

        return equals

    def __str__(self) -> str:
        """Print as selector text."""
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(self.values)})"
            case "gt":
                return f"{self.key}>{self.values[0]}"
            case "lt":
                return f"{self.key}<{self.values[0]}"
            case "=" | "==" | "!=":
                return f"{self.key}{self.operator}{self.values[0]}"
        assert_never(self.operator)

    def __repr__(self) -> str:
        """Show as the expression that makes it."""
        values = f", {self.values!r}" if self.values else ""
        return f"Requirement({self.key!r}, {self.operator!r}{values})"


def _check(key: str, operator: Operator, values: tuple[str, ...]) -> None:
    """Refuse what apimachinery's NewRequirement refuses; types are checked for callers without a type checker."""
    if not isinstance(key, str):
        raise SelectorObjectError(member="key", reason=f"must be text, not {type(key).__name__}")
    for problem in validate_label_key(key):
        raise SelectorObjectError(member="key", reason=f"{_shown(key)} is no label key: {problem}")
    if operator not in _OPERATORS:
        raise SelectorObjectError(member="operator", reason=f"{operator!r} is none of {', '.join(_OPERATORS)}")
    if not isinstance(values, (tuple, list)):
        raise SelectorObjectError(member="values", reason=f"must be a tuple, not {type(values).__name__}")
    _check_count(operator, len(values))
    for index, value in enumerate(values):
        if not isinstance(value, str):
            raise SelectorObjectError(member=f"values[{index}]", reason=f"must be text, not {type(value).__name__}")
        for problem in validate_label_value(value):
            raise SelectorObjectError(member=f"values[{index}]", reason=f"{_shown(value)} is no label value: {problem}")
        if operator in _ORDERED and _int64(value) is None:
            raise SelectorObjectError(
                member=f"values[{index}]", reason=f"{_shown(value)} is no whole number of 64 bits"
            )


def _check_count(operator: Operator, count: int) -> None:
    if operator in ("in", "notin"):
        if not count:
            raise SelectorObjectError(member="values", reason=f"'{operator}' needs at least one")
    elif operator in ("exists", "!"):
        if count:
            raise SelectorObjectError(member="values", reason=f"'{operator}' takes none")
    elif count != 1:
        raise SelectorObjectError(member="values", reason=f"'{operator}' takes exactly one")


def _int64(value: str | None) -> int | None:
    """Read a label's value as Go's ParseInt does: a sign and digits, nothing else, within 64 bits."""
    found = _INTEGER.fullmatch(value or "")
    number = int(found[1] + found[2]) if found else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _shown(text: str, limit: int = 60) -> str:
    return repr(text if len(text) <= limit else text[:limit] + "...")
