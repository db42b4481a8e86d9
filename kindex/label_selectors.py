"""LabelSelector: text such as ``app=web,tier in (gold,silver)``, selector objects and plain maps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, cast

import msgspec

from kindex.errors import SelectorObjectError, SelectorSyntaxError
from kindex.label_requirements import EXACT, LabelTest, Operator, Requirement
from kindex.label_syntax import Term, terms_of
from kindex.members import EMPTY_MAP, map_of, member_of
from kindex.objects import label_text

_IN_TEXT: Final[Mapping[str | None, Operator]] = {
    None: "exists",
    "!": "!",
    "=": "=",
    "==": "==",
    "!=": "!=",
    "in": "in",
    "notin": "notin",
    ">": "gt",
    "<": "lt",
}
_IN_OBJECTS: Final[Mapping[str, Operator]] = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_MEMBERS: Final = frozenset({"matchLabels", "matchExpressions"})
_MODEL_MEMBERS: Final = (*_MEMBERS, "match_labels", "match_expressions")

_CACHED_TEXTS: Final = 1024
_LONGEST_CACHED: Final = 1000
_CACHED_EQUALITIES: Final = 4096


class LabelSelector(msgspec.Struct, frozen=True, cache_hash=True):
    """All of some requirements on labels, with exactly apimachinery's meaning.

    ``requirements`` are ordered by key; those of one key keep their order. A value: immutable,
    equal and hashed by what it asks. ``LabelSelector()`` selects everything, and only
    ``LabelSelector.from_object(None)`` and a service without a selector select nothing.

    >>> selector = LabelSelector.parse("tier in (silver, gold), app=web")
    >>> str(selector)
    'app=web,tier in (gold,silver)'
    >>> selector.matches({"app": "web", "tier": "gold"})
    True
    """

    requirements: tuple[Requirement, ...] = ()
    selects_nothing: bool = False

    def __post_init__(self) -> None:
        """Put the requirements in order."""
        if self.selects_nothing and self.requirements:
            raise SelectorObjectError(member="", reason="a selector that selects nothing has no requirements")
        if len(self.requirements) > 1:
            in_order = tuple(sorted(self.requirements, key=_key_of))
            msgspec.structs.force_setattr(self, "requirements", in_order)

    @staticmethod
    def parse(text: str) -> LabelSelector:
        """Read a selector from its text; O(length), and a dict look-up for a text seen lately.

        Blank text selects everything.

        Raises:
            SelectorSyntaxError: the text is not a label selector; it says where.
            SelectorObjectError: *text* is not text.

        >>> LabelSelector.parse("app = web, !canary")
        LabelSelector.parse('app=web,!canary')
        """
        if type(text) is not str:
            if not isinstance(text, str):
                raise SelectorObjectError(
                    member="", reason=f"LabelSelector.parse reads text, not {type(text).__name__}"
                )
            text = str.__str__(text)
        return _parse_cached(text) if len(text) <= _LONGEST_CACHED else _parse(text)

    @classmethod
    def from_object(cls, obj: object) -> LabelSelector:
        """Read a LabelSelector object, as a Deployment or NetworkPolicy carries it.

        A dict, or any client's model (``V1LabelSelector``, lightkube's). As in the API, None
        selects nothing, ``{}`` everything, and members other than ``matchLabels`` and
        ``matchExpressions`` are dropped, also misspelled ones; ``of`` refuses those. O(values).

        Raises:
            SelectorObjectError: the API would refuse it; it names the member.

        >>> LabelSelector.from_object({"matchExpressions": [{"key": "app", "operator": "Exists"}]})
        LabelSelector.parse('app')
        >>> LabelSelector.from_object(None).matches({"app": "web"})
        False
        """
        return cls(tuple(_requirements_of(obj))) if obj is not None else _NOTHING

    @classmethod
    def from_map(cls, labels: Mapping[str, str]) -> LabelSelector:
        """Make the selector that wants each of *labels* to have its value; O(labels).

        Raises:
            SelectorObjectError: a key or value is not text, or cannot be a label's.

        >>> LabelSelector.from_map({"tier": "gold", "app": "web"})
        LabelSelector.parse('app=web,tier=gold')
        """
        for key, value in labels.items():
            if not isinstance(value, str):  # null too: where a program made the map, it is a slip
                raise SelectorObjectError(member=f"labels[{key!r}]", reason=f"{_not_text(value)}{_hint(key)}")
        return cls(tuple(_equalities(labels, "labels")))

    @classmethod
    def of_service(cls, service: object) -> LabelSelector:
        """Read the pod selector of a Service: its ``spec.selector``, from a dict or any client's model.

        Null and empty select nothing, as a cluster shows. O(labels).

        Raises:
            SelectorObjectError: there is no ``spec``, so this is no service; or ``spec.selector``
                is not a map of labels.

        >>> LabelSelector.of_service({"spec": {"selector": {"app": "web"}}})
        LabelSelector.parse('app=web')
        >>> LabelSelector.of_service({"spec": {"selector": {}}}).selects_nothing
        True
        """
        spec = member_of(service, "spec")
        if spec is None:
            raise SelectorObjectError(
                member="spec", reason=f"this {type(service).__name__} has none, so it is no whole Service"
            )
        return selector_of_map(member_of(spec, "selector"), "spec.selector")

    @classmethod
    def of(cls, value: object) -> LabelSelector:
        """Read whatever a query takes as ``label_selector``.

        Text is parsed, a LabelSelector is itself, a model is a selector object. A map whose keys
        are ``matchLabels`` or ``matchExpressions`` is a selector object, any other map is labels;
        ``{}`` is everything in both.

        Raises:
            SelectorSyntaxError: text that is not a label selector.
            SelectorObjectError: anything else that is none.

        >>> LabelSelector.of({"app": "web"}) == LabelSelector.of({"matchLabels": {"app": "web"}})
        True
        >>> LabelSelector.of({"matchlabels": {"app": "web"}})
        Traceback (most recent call last):
        ...
        kindex.errors.SelectorObjectError: selector object, labels['matchlabels']: must be text, not dict; a selector \
object has no members but matchLabels and matchExpressions, spelled so
        """
        if isinstance(value, str):
            return cls.parse(value)
        if isinstance(value, LabelSelector):
            return value
        labels = map_of(value)
        if labels.keys() - _MEMBERS:
            return cls.from_map(cast("Mapping[str, str]", labels))  # which checks them
        if value is None:
            reason = "None is no selector: LabelSelector.from_object(None) selects nothing, LabelSelector() everything"
            raise SelectorObjectError(member="", reason=reason)
        return cls.from_object(value)

    def matches(self, labels: Mapping[str, object] | None) -> bool:
        """Tell whether an object with these *labels* fulfils every requirement; O(requirements).

        A null value is the empty text; a value that is not text is no label.

        >>> LabelSelector.parse("app,tier!=gold").matches({"app": "web"})
        True
        """
        for requirement in self.requirements:
            if not requirement.matches(labels):
                return False
        return not self.selects_nothing

    def matcher(self) -> LabelTest:
        """Give ``matches`` as a function for scans: it is faster, and takes a map, never None.

        >>> of_web = LabelSelector.parse("app=web").matcher()
        >>> [of_web(labels) for labels in ({"app": "web"}, {"app": "db"}, {})]
        [True, False, False]
        """
        if not self.requirements:
            answer = not self.selects_nothing
            return lambda _labels: answer
        tests = tuple(requirement.matcher() for requirement in self.requirements)
        if len(tests) == 1:
            return tests[0]

        def all_match(labels: Mapping[str, object]) -> bool:
            for test in tests:  # noqa: SIM110 - a generator would double the cost of a scan
                if not test(labels):
                    return False
            return True

        return all_match

    @property
    def empty(self) -> bool:
        """Whether this asks nothing, and so selects everything."""
        return not (self.requirements or self.selects_nothing)

    def exact_value(self, key: str) -> str | None:
        """Give the one value that the first requirement on *key* admits, or None if it admits others.

        As Go's RequiresExactMatch: later requirements on *key* are not looked at.

        >>> LabelSelector.parse("app in (web)").exact_value("app")
        'web'
        """
        for requirement in self.requirements:
            if requirement.key == key:
                exact = requirement.operator in (*EXACT, "in") and len(requirement.values) == 1
                return requirement.values[0] if exact else None
        return None

    def __str__(self) -> str:
        """Print as the API's canonical text; selectors of nothing and of everything are both blank."""
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        """Show as the expression that makes it."""
        if self.selects_nothing:
            return "LabelSelector.from_object(None)"
        return f"LabelSelector.parse({str(self)!r})"


_NOTHING: Final = LabelSelector(selects_nothing=True)


def selector_of_map(value: object, where: str) -> LabelSelector:
    """Read a plain map that an object carries at the path *where*: null and empty select nothing.

    Raises:
        SelectorObjectError: it is no map of labels.
    """
    labels = _map(value, where)
    return LabelSelector(tuple(_equalities(labels, where))) if labels else _NOTHING


def _parse(text: str) -> LabelSelector:
    return LabelSelector(tuple(_requirement_of(term, text) for term in terms_of(text)))


_parse_cached = lru_cache(maxsize=_CACHED_TEXTS)(_parse)


def _requirement_of(term: Term, text: str) -> Requirement:
    # In text, unlike in an object, a value given twice is there once.
    starts: dict[str, int] = {}
    for value in term.values:
        starts.setdefault(value.text, value.start)
    try:
        return Requirement(term.key.text, _IN_TEXT[term.operator], tuple(starts))
    except SelectorObjectError as error:
        places = {f"values[{index}]": start for index, start in enumerate(starts.values())}
        raise SelectorSyntaxError(text, places.get(error.member, term.key.start), error.reason) from None


def _requirements_of(obj: object) -> Iterator[Requirement]:
    """Read a selector object, labels first."""
    if not isinstance(obj, Mapping) and not any(hasattr(obj, name) for name in _MODEL_MEMBERS):
        reason = f"must be a map or a model with matchLabels or matchExpressions, not {type(obj).__name__}"
        raise SelectorObjectError(member="", reason=reason)
    yield from _equalities(_map(member_of(obj, "matchLabels"), "matchLabels"), "matchLabels")
    for index, expression in enumerate(_list(member_of(obj, "matchExpressions"), "matchExpressions")):
        yield _requirement_of_expression(expression, f"matchExpressions[{index}]")


def _equalities(labels: Mapping[str, object], member: str) -> Iterator[Requirement]:
    """Want each of *labels*, which are *member* of a selector, to have its value."""
    for key, value in labels.items():
        where = f"{member}[{key!r}]"
        try:
            requirement = _equality(_text(key, where), _text(value, where))
        except SelectorObjectError as error:
            raise SelectorObjectError(where, error.reason) from None
        yield requirement


# Controllers ask for the pods of the same services again and again.
@lru_cache(maxsize=_CACHED_EQUALITIES)
def _equality(key: str, value: str) -> Requirement:
    return Requirement(key, "=", (value,))


def _requirement_of_expression(expression: object, where: str) -> Requirement:
    operator = _text(member_of(expression, "operator"), f"{where}.operator")
    if operator not in _IN_OBJECTS:
        reason = f"must be In, NotIn, Exists or DoesNotExist, spelled so, not {operator!r}"
        raise SelectorObjectError(member=f"{where}.operator", reason=reason)
    key = _text(member_of(expression, "key"), f"{where}.key")
    values = enumerate(_list(member_of(expression, "values"), f"{where}.values"))
    texts = tuple(_text(value, f"{where}.values[{index}]") for index, value in values)
    try:
        return Requirement(key, _IN_OBJECTS[operator], texts)
    except SelectorObjectError as error:
        raise SelectorObjectError(member=f"{where}.{error.member}", reason=error.reason) from None


def _map(value: object, where: str) -> Mapping[str, object]:
    labels = map_of(value)
    if labels is EMPTY_MAP and value is not None and value is not EMPTY_MAP:
        raise SelectorObjectError(where, f"must be a map, not {type(value).__name__}")
    return labels


def _list(value: object, where: str) -> list[object] | tuple[object, ...]:
    if value is None:
        return ()
    if isinstance(value, (list, tuple)):
        return value
    raise SelectorObjectError(where, f"must be a list, not {type(value).__name__}")


def _text(value: object, where: str) -> str:
    """Give text as plain ``str``; null is the empty text, as the API server decodes it."""
    text = label_text(value)
    if text is None:
        raise SelectorObjectError(where, _not_text(value))
    return text


def _not_text(value: object) -> str:
    return f"must be text, not {'null' if value is None else type(value).__name__}"


def _hint(key: object) -> str:
    """Say what is meant by a map of labels with the key of a selector object in it."""
    if isinstance(key, str) and key.replace("_", "").lower() in ("matchlabels", "matchexpressions"):
        return "; a selector object has no members but matchLabels and matchExpressions, spelled so"
    return ""


def _key_of(requirement: Requirement) -> str:
    return requirement.key
