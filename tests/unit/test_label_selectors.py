"""Label selectors: text, objects, maps; what each operator means; errors that say where."""

from __future__ import annotations

import copy
import pickle
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from types import FrameType, MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex.errors import SelectorObjectError, SelectorSyntaxError
from kindex.label_syntax import tokens_of
from kindex.selectors import LabelSelector, Operator, Requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

NOTHING = LabelSelector.from_object(None)
EVERYTHING = LabelSelector()


class Tier(StrEnum):
    """Labels as a program may hold them."""

    GOLD = "gold"


# --- what a requirement means


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("a=x", [False, False, True, False]),
        ("a==x", [False, False, True, False]),
        ("a!=x", [True, True, False, True]),
        ("a in (x)", [False, False, True, False]),
        ("a notin (x)", [True, True, False, True]),
        ("a", [False, True, True, True]),
        ("!a", [True, False, False, False]),
        ("a=", [False, True, False, False]),
        ("a!=", [True, False, True, True]),
        ("a in ()", [False, True, False, False]),
        ("a notin ()", [True, False, True, True]),
        ("a>1", [False, False, False, False]),
        ("a<1", [False, False, False, False]),
    ],
)
def test_the_empty_value_is_a_value_and_absence_is_none(text: str, answers: list[bool]) -> None:
    """Each operator, asked about an absent label, an empty one, the value itself and another one."""
    (requirement,) = LabelSelector.parse(text).requirements

    assert [requirement.matches(labels) for labels in ({}, {"a": ""}, {"a": "x"}, {"a": "y"})] == answers
    assert [requirement.matches_value(value) for value in (None, "", "x", "y")] == answers
    assert requirement.matches(None) == answers[0]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        *(("6", 6), ("-1", -1), ("+7", 7), ("007", 7), ("-0", 0), ("0" * 5000 + "9", 9)),
        *(("9223372036854775807", 2**63 - 1), ("-9223372036854775808", -(2**63))),
        *(("9223372036854775808", None), ("-9223372036854775809", None), ("1" * 5000, None)),
        *(("", None), ("+", None), ("1_0", None), (" 5", None), ("5\n", None), ("5.0", None), ("0x5", None)),
        *(("\N{ARABIC-INDIC DIGIT FIVE}", None), ("--5", None), ("1e1", None)),
    ],
)
def test_only_what_go_takes_for_an_int64_is_compared(value: str, number: int | None) -> None:
    """``<`` and ``>`` compare signed decimal digits within 64 bits, and match no other value."""
    above, below = LabelSelector.parse("a>6"), LabelSelector.parse("a<6")

    assert above.matches({"a": value}) == (number is not None and number > 6)
    assert below.matches({"a": value}) == (number is not None and number < 6)


def test_a_value_that_is_no_text_is_no_label() -> None:
    """Null is the empty text; a number, a boolean, bytes or a list is as good as absent; an enum is its text."""
    odd: list[object] = [7, True, b"gold", ["gold"], 1.5]

    for value in odd:
        assert LabelSelector.parse("!tier,tier!=gold").matches({"tier": value})
        assert not LabelSelector.parse("tier").matches({"tier": value})
    for text, labels in (
        ("tier=", {"tier": None}),
        ("tier=gold", {"tier": Tier.GOLD}),
        ("tier in (gold)", {"tier": Tier.GOLD}),
    ):
        assert LabelSelector.parse(text).matches(labels)
        assert LabelSelector.parse(text).matcher()(labels)


def test_labels_may_be_any_mapping_or_none() -> None:
    """A read-only view works like a dict, and None like no labels at all."""
    labels = MappingProxyType({"app": "web"})

    assert LabelSelector.parse("app=web,!tier").matches(labels)
    assert LabelSelector.parse("!app").matches(None)
    assert not LabelSelector.parse("app").matches(None)


# --- requirements and selectors as values


@pytest.mark.parametrize(
    ("key", "operator", "values", "member"),
    [
        ("a b", "exists", (), "key"),
        ("", "exists", (), "key"),
        ("a/b/c", "=", ("x",), "key"),
        (5, "exists", (), "key"),
        ("a", "In", ("x",), "operator"),
        ("a", ["in"], ("x",), "operator"),
        ("a", "in", (), "values"),
        ("a", "notin", (), "values"),
        ("a", "=", (), "values"),
        ("a", "!=", ("x", "y"), "values"),
        ("a", "exists", ("x",), "values"),
        ("a", "!", ("x",), "values"),
        ("a", "gt", (), "values"),
        ("a", "gt", ("x",), "values[0]"),
        ("a", "lt", ("9223372036854775808",), "values[0]"),
        ("a", "gt", ("-1",), "values[0]"),
        ("a", "in", ("x", "y z"), "values[1]"),
        ("a", "in", ("x", 5), "values[1]"),
        ("a", "in", "xy", "values"),
        ("a", "=", ("x" * 64,), "values[0]"),
    ],
)
def test_a_requirement_that_the_api_would_refuse_cannot_be_made(
    key: Any,
    operator: Any,
    values: Any,
    member: str,  # wrong types are among them
) -> None:
    """The error names the part that is wrong."""
    with pytest.raises(SelectorObjectError) as caught:
        Requirement(key, operator, values)

    assert caught.value.member == member


def test_requirements_and_selectors_are_values() -> None:
    """Equal when they ask the same, hashed alike, copied and pickled whole, and not to be changed."""
    selector = LabelSelector.parse("tier in (gold,silver),app=web,weight>5")
    again = LabelSelector.parse(" weight>5, app = web,tier in (silver, gold)")

    assert selector == again
    assert hash(selector) == hash(again)
    assert {selector: "one"}[again] == "one"
    assert repr(selector.requirements[1]) == "Requirement('tier', 'in', ('gold', 'silver'))"
    assert selector != LabelSelector.parse("tier in (gold,silver),app==web,weight>5")
    for copied in (copy.deepcopy(selector), pickle.loads(pickle.dumps(selector))):  # noqa: S301 - our own bytes
        assert copied == selector
        assert copied.matches({"tier": "gold", "app": "web", "weight": "6"})
    with pytest.raises(AttributeError):
        selector.requirements = ()  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(AttributeError):
        selector.requirements[0].key = "x"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def test_nothing_and_everything_print_alike_but_are_not_equal() -> None:
    """A selector of nothing is not empty, matches nothing and says so; one of everything is and does."""
    assert str(NOTHING) == str(EVERYTHING) == ""
    assert NOTHING != EVERYTHING
    assert (NOTHING.selects_nothing, NOTHING.empty, NOTHING.matches({}), NOTHING.matcher()({})) == (
        *(True, False, False, False),
    )
    assert (EVERYTHING.selects_nothing, EVERYTHING.empty, EVERYTHING.matches({}), EVERYTHING.matcher()({})) == (
        *(False, True, True, True),
    )
    assert (repr(NOTHING), repr(EVERYTHING)) == ("LabelSelector.from_object(None)", "LabelSelector.parse('')")
    with pytest.raises(SelectorObjectError):
        LabelSelector((Requirement("a", "exists"),), selects_nothing=True)


def test_a_selector_can_be_made_of_requirements_in_any_order() -> None:
    """They are ordered by key, and those of one key keep their order."""
    requirements = (Requirement("b", "exists"), Requirement("a", "!=", ("x",)), Requirement("a", "=", ("y",)))

    assert str(LabelSelector(requirements)) == "a!=x,a=y,b"


def test_text_of_an_enum_becomes_plain() -> None:
    """What a program's own str classes print as never gets into selector text."""
    assert str(Requirement("tier", "=", (Tier.GOLD,))) == "tier=gold"
    assert str(LabelSelector.from_map({"tier": Tier.GOLD})) == "tier=gold"
    assert type(LabelSelector.from_map({"tier": Tier.GOLD}).exact_value("tier")) is str
    assert LabelSelector.parse(Tier.GOLD) == LabelSelector.parse("gold")


# --- text


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("app in web", 7, "expected '(' after 'in', but found 'web'"),
        ("a,", 2, "expected a key after ',', but the text ends"),
        ("a, ,b", 3, "expected a key after ',', but found ','"),
        (" =b", 1, "expected a key, but found '='"),
        ("a=b c=d", 4, "expected ',' or the end, but found 'c'"),
        ("!a=b", 2, "expected ',' or the end, but found '='"),
        ("!", 1, "expected a key after '!', but the text ends"),
        ("a b", 2, "expected ',' or an operator (=, ==, !=, in, notin, <, >), but found 'b'"),
        ("a NotIn (b)", 2, "found 'NotIn' (operators are in lower case)"),
        ("a>=1", 2, "expected a value after '>', but found '='"),
        ("a in (b", 7, "expected ',' or ')', but the text ends"),
        ("a in (b c)", 8, "expected ',' or ')', but found 'c'"),
        ("ok, a b/c=d", 6, "found 'b/c'"),
        ("ok,Bad_/x=d", 3, "'Bad_/x' is no label key: its prefix must be"),
        ("a in (b, -c)", 9, "'-c' is no label value"),
        ("a in (-c,x,-c)", 6, "'-c' is no label value"),
        ("a in (x,x,-c,-d)", 10, "'-c' is no label value"),
        ("a>b", 2, "'b' is no whole number of 64 bits"),
        ("a>", 2, "'' is no whole number of 64 bits"),
        ("a=b\0,c=d", 3, "a NUL character"),
        ("\0", 0, "a NUL character"),
        ("a=\N{NO-BREAK SPACE}b", 2, "is no label value"),
        ("a=" + "b" * 64, 2, "it is longer than 63 bytes"),
    ],
)
def test_a_syntax_error_says_where_and_why(text: str, position: int, reason: str) -> None:
    """The position is that of the token at fault, in characters from 0."""
    with pytest.raises(SelectorSyntaxError) as caught:
        LabelSelector.parse(text)

    assert (caught.value.text, caught.value.position) == (text, position)
    assert reason in caught.value.reason


def test_an_error_about_a_huge_word_stays_short() -> None:
    """Neither a key nor a stray word of 50,000 characters ends up in the message."""
    for text in ("x" * 50_000, "a " + "x" * 50_000):
        with pytest.raises(SelectorSyntaxError) as caught:
            LabelSelector.parse(text)

        assert len(str(caught.value)) < 500


def test_what_is_no_text_is_not_parsed() -> None:
    """Handing over None or an object to ``parse`` is one clear error."""
    for value in (None, 5, {"app": "web"}, b"app=web"):
        with pytest.raises(SelectorObjectError, match="reads text, not"):
            LabelSelector.parse(value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_a_text_seen_lately_is_parsed_once_unless_it_is_long() -> None:
    """Texts of up to 1,000 characters are remembered with their selector; longer ones are read anew, the same."""
    short = "app in (" + ",".join(f"v{number}" for number in range(10)) + ")"
    long = "app in (" + ",".join(f"v{number}" for number in range(1000)) + ")"

    assert LabelSelector.parse(short) is LabelSelector.parse("".join(list(short)))
    assert LabelSelector.parse(long) is not LabelSelector.parse(long)
    assert LabelSelector.parse(long) == LabelSelector.parse(long)


# --- large texts


def _values(count: int) -> str:
    return f"app in ({','.join(f'v{number}' for number in range(count))})"


def _requirements(count: int) -> str:
    return ",".join(f"k{number}=v" for number in range(count))


def _blanks(count: int) -> str:
    return "a" + " " * count + "=b"


def _empty_values(count: int) -> str:
    return f"a in ({',' * count})"


@pytest.mark.parametrize("make", [_values, _requirements, _blanks, _empty_values])
def test_the_work_of_parsing_grows_with_the_text(make: Callable[[int], str]) -> None:
    """Ten times the text takes about ten times the calls, and not one frame more of the stack."""
    few, many = make(1_000), make(10_000)

    with _limited_stack():
        calls_for_few, calls_for_many = _calls(few), _calls(many)

    assert calls_for_many <= 11 * calls_for_few
    assert len(tokens_of(many)) <= len(many) + 1


@pytest.mark.parametrize("text", ["a" * 50_000 + "!", "a." * 25_000 + "/b", "a-" * 25_000, "a=" + "-." * 25_000])
def test_a_huge_bad_word_is_refused(text: str) -> None:
    """No pattern goes back and forth over it: with one that did, this test would not come to an end."""
    with pytest.raises(SelectorSyntaxError):
        LabelSelector.parse(text)


def _calls(text: str) -> int:
    """Count the calls that parsing *text* makes, of Python and of C functions."""
    calls = 0

    # Any: whatever the interpreter hands to a profile function.
    def count(_frame: FrameType, event: str, _arg: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        LabelSelector.parse(text)
    finally:
        sys.setprofile(before)
    return calls


@contextmanager
def _limited_stack() -> Iterator[None]:
    limit = sys.getrecursionlimit()
    depth = 0
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(depth + 40)
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


# --- selector objects


@dataclass
class _PlainRequirement:
    """As the official client's models were before they became pydantic: plain classes with snake-case attributes."""

    key: str
    operator: str
    values: list[str] | None = None


class _PlainSelector:
    """See above."""

    attribute_map = {"match_expressions": "matchExpressions", "match_labels": "matchLabels"}  # noqa: RUF012 - as there

    def __init__(self, match_labels: dict[str, str], match_expressions: list[_PlainRequirement]) -> None:
        self._match_labels = match_labels
        self._match_expressions = match_expressions

    @property
    def match_labels(self) -> dict[str, str]:
        return self._match_labels

    @property
    def match_expressions(self) -> list[_PlainRequirement]:
        return self._match_expressions


AS_DICT: dict[str, Any] = {
    "matchLabels": {"app": "web"},
    "matchExpressions": [
        {"key": "tier", "operator": "In", "values": ["silver", "gold"]},
        {"key": "canary", "operator": "DoesNotExist", "values": None},
    ],
}


def _official() -> object:
    from kubernetes.client import V1LabelSelector, V1LabelSelectorRequirement

    expressions = [V1LabelSelectorRequirement(**item) for item in AS_DICT["matchExpressions"]]
    return V1LabelSelector(match_labels={"app": "web"}, match_expressions=expressions)


def _official_before_37() -> object:
    return _PlainSelector({"app": "web"}, [_PlainRequirement(**item) for item in AS_DICT["matchExpressions"]])


def _lightkube() -> object:
    from lightkube.models.meta_v1 import LabelSelector as Model
    from lightkube.models.meta_v1 import LabelSelectorRequirement

    expressions = [LabelSelectorRequirement(**item) for item in AS_DICT["matchExpressions"]]
    return Model(matchLabels={"app": "web"}, matchExpressions=expressions)


def _dynamic() -> object:
    from kubernetes.dynamic.resource import ResourceInstance

    return ResourceInstance(None, {"kind": "Deployment", "spec": {"selector": AS_DICT}}).spec.selector  # type: ignore[no-untyped-call]


def _attributes() -> object:
    expressions = tuple(SimpleNamespace(**item) for item in AS_DICT["matchExpressions"])
    return SimpleNamespace(match_labels={"app": "web"}, match_expressions=expressions)


@pytest.mark.parametrize(
    "make",
    [
        lambda: AS_DICT,
        lambda: MappingProxyType(AS_DICT),
        *(_official, _official_before_37, _lightkube, _dynamic, _attributes),
    ],
)
def test_a_selector_object_of_any_client_is_read(make: Callable[[], object]) -> None:
    """All of them say the same, both to ``from_object`` and to ``of``."""
    obj = make()

    assert str(LabelSelector.from_object(obj)) == "app=web,!canary,tier in (gold,silver)"
    assert LabelSelector.of(obj) == LabelSelector.from_object(obj)


@pytest.mark.parametrize(
    "obj",
    [{}, {"matchLabels": None}, {"matchExpressions": []}, SimpleNamespace(match_labels=None), _PlainSelector({}, [])],
)
def test_an_empty_selector_object_selects_everything(obj: object) -> None:
    """Only null selects nothing."""
    assert LabelSelector.from_object(obj) == EVERYTHING
    assert LabelSelector.from_object(None).selects_nothing


def test_an_empty_model_selects_everything() -> None:
    """A model declares its members also when it has none."""
    from kubernetes.client import V1LabelSelector
    from lightkube.models.meta_v1 import LabelSelector as Model

    assert [LabelSelector.of(model) for model in (V1LabelSelector(), Model())] == [EVERYTHING, EVERYTHING]


@pytest.mark.parametrize(
    ("obj", "member"),
    [
        ("app=web", ""),
        (5, ""),
        ([], ""),
        (SimpleNamespace(labels={}), ""),
        (SimpleNamespace(metadata=None, spec=SimpleNamespace(match_labels={})), ""),
        ({"matchLabels": "app=web"}, "matchLabels"),
        ({"matchLabels": [("app", "web")]}, "matchLabels"),
        ({"matchLabels": {"app": 1}}, "matchLabels['app']"),
        ({"matchLabels": {"app": "-"}}, "matchLabels['app']"),
        ({"matchLabels": {1: "web"}}, "matchLabels[1]"),
        ({"matchExpressions": {}}, "matchExpressions"),
        ({"matchExpressions": "app"}, "matchExpressions"),
        ({"matchExpressions": ["app"]}, "matchExpressions[0].operator"),
        ({"matchExpressions": [{"key": "app", "operator": "in", "values": ["web"]}]}, "matchExpressions[0].operator"),
        ({"matchExpressions": [{"key": "app", "operator": 5}]}, "matchExpressions[0].operator"),
        ({"matchExpressions": [{"operator": "Exists"}]}, "matchExpressions[0].key"),
        ({"matchExpressions": [{"key": ["app"], "operator": "Exists"}]}, "matchExpressions[0].key"),
        ({"matchExpressions": [{"key": "app", "operator": "In"}]}, "matchExpressions[0].values"),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": "web"}]}, "matchExpressions[0].values"),
        (
            {
                "matchExpressions": [
                    {"key": "a", "operator": "Exists"},
                    {"key": "b", "operator": "In", "values": ["c", 1]},
                ]
            },
            "matchExpressions[1].values[1]",
        ),
    ],
)
def test_what_the_api_would_refuse_is_refused_by_its_member(obj: object, member: str) -> None:
    """The error names the member that is wrong."""
    with pytest.raises(SelectorObjectError) as caught:
        LabelSelector.from_object(obj)

    assert caught.value.member == member


def test_a_value_that_an_object_names_twice_stays_twice() -> None:
    """As in Go: it prints twice and is no exact match any more; in text it is there once."""
    obj = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["x", "x"]}]}
    selector = LabelSelector.from_object(obj)

    assert (str(selector), selector.exact_value("a")) == ("a in (x,x)", None)
    assert selector.matches({"a": "x"})
    assert LabelSelector.parse("a in (x,x)").exact_value("a") == "x"


# --- what a query takes


def test_a_query_takes_text_selectors_objects_and_maps() -> None:
    """A map whose keys are a selector object's members is one; any other map is labels; an empty one is everything."""
    selector = LabelSelector.parse("app=web")

    assert LabelSelector.of("app=web") is selector
    assert LabelSelector.of(selector) is selector
    assert LabelSelector.of({"app": "web"}) == selector
    assert LabelSelector.of({"matchLabels": {"app": "web"}}) == selector
    assert LabelSelector.of({}) == EVERYTHING


@pytest.mark.parametrize(
    "value",
    [
        {"matchlabels": {"app": "web"}},
        {"match_labels": {"app": "web"}},
        {"MatchLabels": {"app": "web"}},
        {"matchLabels": {"app": "web"}, "matchFields": []},
    ],
)
def test_a_misspelled_selector_object_is_not_everything(value: object) -> None:
    """The API would drop such members and select everything; a query refuses them and says how they are spelled."""
    with pytest.raises(SelectorObjectError, match="matchLabels and matchExpressions, spelled so"):
        LabelSelector.of(value)


@pytest.mark.parametrize(
    "value", [{"app": None}, {"app": 5}, {"app": ["web"]}, {"app": "-"}, {5: "web"}, {"a b": "web"}]
)
def test_a_map_of_labels_holds_text_that_can_be_labels(value: dict[str, str]) -> None:
    """A slip in a map is an error that names the key."""
    for read in (LabelSelector.of, LabelSelector.from_map):
        with pytest.raises(SelectorObjectError) as caught:
            read(value)

        assert caught.value.member == f"labels[{next(iter(value))!r}]"


def test_a_map_of_the_dynamic_client_is_a_map() -> None:
    """A service's selector from there is labels, not a selector object without members, which is everything."""
    from kubernetes.dynamic.resource import ResourceInstance

    service = ResourceInstance(None, {"kind": "Service", "spec": {"selector": {"app": "web"}}})  # type: ignore[no-untyped-call]

    assert str(LabelSelector.of(service.spec.selector)) == "app=web"
    assert str(LabelSelector.of_service(service)) == "app=web"


def test_none_is_no_selector_for_a_query() -> None:
    """It could mean everything (an argument that is not given) or nothing (a null selector); the error names both."""
    with pytest.raises(SelectorObjectError, match=r"from_object\(None\) selects nothing"):
        LabelSelector.of(None)


# --- services


@pytest.mark.parametrize(
    ("service", "selector"),
    [
        ({"spec": {"selector": {"app": "web", "tier": None}}}, LabelSelector.parse("app=web,tier=")),
        (SimpleNamespace(spec=SimpleNamespace(selector={"app": "web"})), LabelSelector.parse("app=web")),
        ({"spec": {"selector": None}}, NOTHING),
        ({"spec": {"selector": {}}}, NOTHING),
        ({"spec": {}}, NOTHING),
    ],
)
def test_a_service_selects_by_its_map_and_nothing_without_one(service: object, selector: LabelSelector) -> None:
    """Null, missing and empty selectors select nothing."""
    assert LabelSelector.of_service(service) == selector


def test_a_service_may_be_a_model() -> None:
    """The official client's service is read like a dict."""
    from kubernetes.client import V1Service, V1ServiceSpec

    assert str(LabelSelector.of_service(V1Service(spec=V1ServiceSpec(selector={"app": "web"})))) == "app=web"
    assert LabelSelector.of_service(V1Service(spec=V1ServiceSpec())).selects_nothing


@pytest.mark.parametrize(
    ("service", "member"),
    [
        ({"metadata": {"name": "web"}}, "spec"),
        ("web", "spec"),
        (None, "spec"),
        ({"spec": {"selector": "app=web"}}, "spec.selector"),
        ({"spec": {"selector": {"app": 5}}}, "spec.selector['app']"),
        ({"spec": {"selector": {"matchLabels": {"app": "web"}}}}, "spec.selector['matchLabels']"),
    ],
)
def test_what_is_no_service_has_no_selector_of_one(service: object, member: str) -> None:
    """Metadata alone, or a Deployment, does not pass for a service that selects nothing."""
    with pytest.raises(SelectorObjectError) as caught:
        LabelSelector.of_service(service)

    assert caught.value.member == member


# --- properties

KEYS = ["a", "b", "in", "a.b/c"]
VALUES = ["", "a", "b", "in", "7", "007", "12", "9223372036854775807"]
ODD_VALUES: list[object] = [*VALUES, "-1", "+8", "9223372036854775808", "1_0", "x y", None, 7, True, ["a"], Tier.GOLD]


def _requirement(operator: Operator) -> st.SearchStrategy[Requirement]:
    values = st.sampled_from(VALUES)
    count = {"in": (1, 4), "notin": (1, 4), "exists": (0, 0), "!": (0, 0)}.get(operator, (1, 1))
    if operator in ("gt", "lt"):
        values = st.sampled_from([value for value in VALUES if value.isdigit()])
    chosen = st.lists(values, min_size=count[0], max_size=count[1]).map(tuple)
    return st.builds(Requirement, st.sampled_from(KEYS), st.just(operator), chosen)


OPERATORS: tuple[Operator, ...] = ("=", "==", "!=", "in", "notin", "exists", "!", "gt", "lt")
requirements = st.sampled_from(OPERATORS).flatmap(_requirement)
selectors = st.lists(requirements, max_size=5).map(lambda each: LabelSelector(tuple(each)))
label_maps = st.dictionaries(st.sampled_from(KEYS), st.sampled_from(ODD_VALUES))


@given(selectors)
def test_what_a_parsed_selector_prints_is_parsed_to_itself(selector: LabelSelector) -> None:
    """Printing is canonical: parsed again, it is the same selector and prints the same."""
    parsed = LabelSelector.parse(str(selector))

    assert LabelSelector.parse(str(parsed)) == parsed
    assert str(LabelSelector.parse(str(parsed))) == str(parsed)


@given(selectors, label_maps)
def test_every_way_to_match_gives_one_answer(selector: LabelSelector, labels: dict[str, object]) -> None:
    """The selector, its requirements, its matcher, its printed text and a reference of eight lines agree."""
    answer = all(_holds(requirement, labels) for requirement in selector.requirements)

    assert selector.matches(labels) == answer
    assert selector.matcher()(labels) == answer
    assert all(requirement.matches(labels) for requirement in selector.requirements) == answer
    assert all(requirement.matcher()(labels) for requirement in selector.requirements) == answer
    assert LabelSelector.parse(str(selector)).matches(labels) == answer


@given(selectors, label_maps)
def test_an_exact_value_is_the_only_one_that_matches(selector: LabelSelector, labels: dict[str, object]) -> None:
    """Where a selector admits one value of a key, labels with another value of it, or without it, never match."""
    for key in KEYS:
        exact = selector.exact_value(key)
        if exact is not None and selector.matches(labels):
            assert (labels[key] or "") == exact


@given(st.text(alphabet="ab1-/=!<>(), \t\n\0\N{NO-BREAK SPACE}intoIN."))
def test_any_text_is_a_selector_or_a_syntax_error(text: str) -> None:
    """Nothing else is ever raised, and a selector's text is read back."""
    try:
        selector = LabelSelector.parse(text)
    except SelectorSyntaxError as error:
        position = error.position
    else:
        position = 0
        assert LabelSelector.parse(str(selector)) == selector

    assert 0 <= position <= len(text)


def _holds(requirement: Requirement, labels: Mapping[str, object]) -> bool:
    """Say what Kubernetes documents, in other words than kindex does."""
    texts = {key: str(value or "") for key, value in labels.items() if value is None or isinstance(value, str)}
    there, value = requirement.key in texts, texts.get(requirement.key, "")
    digits = value[1:] if value[:1] in ("+", "-") else value
    is_number = digits != "" and set(digits) <= set("0123456789") and -(2**63) <= int(value) < 2**63
    bound = int(requirement.values[0]) if requirement.operator in ("gt", "lt") else 0
    return {
        "=": there and value in requirement.values,
        "==": there and value in requirement.values,
        "in": there and value in requirement.values,
        "!=": not (there and value in requirement.values),
        "notin": not (there and value in requirement.values),
        "exists": there,
        "!": not there,
        "gt": there and is_number and int(value) > bound,
        "lt": there and is_number and int(value) < bound,
    }[requirement.operator]
