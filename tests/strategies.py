"""Random pods, and random questions about them, each with its meaning in plain Python.

``random`` is any ``random.Random``: a seeded one where thousands of questions are asked, or one that Hypothesis drives
(``randoms``), which it can shrink. The answers here are the reference for kindex's plans, so nothing of kindex decides
them: labels, fields and index values are read from plain JSON, and operators are spelled out once more.

The answer to a part of a question is a whole number used as a set: bit i is set when row i is in it.
"""

from __future__ import annotations

import re
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from hypothesis import strategies as st

from kindex import (
    AnnotationIndexer,
    Budget,
    FieldIndexer,
    FieldSelector,
    FilterIndexer,
    Indexer,
    JsonPath,
    LabelIndexer,
    LabelSelector,
    OwnerIndexer,
    SelectorIndexer,
    SortedIndexer,
    Term,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Plain: TypeAlias = dict[str, Any]
"""An object as plain JSON."""

randoms: Final = st.randoms(use_true_random=False)
"""Random choices that Hypothesis makes, and shrinks."""

LABELS = "metadata.labels"
NODE_SELECTOR = "spec.nodeSelector"
PLENTY = Budget(max_bytes="1GiB")

# Values by key; the last two keys are on few pods and on none.
LABEL_VALUES: Final[dict[str, list[str]]] = {
    "app": ["web", "web", "web", "db", "api", "cache", ""],
    "tier": ["gold", "silver", ""],
    "env": ["prod", "dev"],
    "a.b/c": ["1", "2"],
    "weight": ["1", "2", "7", "007", "40", "-1", "+5", "heavy", "9223372036854775807", "9223372036854775808", "٣"],
    "few": ["yes"],
    "never": ["x", "y"],
}
NAMESPACES: Final = ["default", "kube-system", "prod", ""]
NODES: Final = ["n0", "n1", "n2", "n3", "n4", "n5"]
PHASES: Final = ["Running", "Pending", "Failed"]
IMAGES: Final = ["nginx:1", "nginx:2", "redis", ""]
OWNERS: Final[list[dict[str, Any]]] = [
    {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"{kind}-{name}", "controller": name == "a"}
    for kind in ("ReplicaSet", "Job")
    for name in ("a", "b")
]


KEYS: Final = {
    LABELS: [*LABEL_VALUES, "id"],
    NODE_SELECTOR: ["disk", "zone", "no-such"],
    "metadata.annotations": ["team", "no-such"],
}
"""The keys of each map of labels that questions ask for."""

_VALID = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
ASKABLE: Final[dict[str, list[str]]] = {
    **{
        key: [v for v in dict.fromkeys(values) if _VALID.fullmatch(v)] + ["other"]
        for key, values in LABEL_VALUES.items()
    },
    "disk": ["ssd", "hdd", ""],
    "zone": ["a", "b", "x"],
    "team": ["red", "blue", ""],
    "no-such": ["x", "y"],
}
"""The values of each key that a selector may name, and one that no object has."""


def seeded(seed: object) -> Random:
    """Give random choices that are the same for the same seed, in every run."""
    return Random(str(seed))  # noqa: S311 - nothing is secret here


def pod(random: Random, namespace: str, name: str, *, odd: bool = True) -> Plain:
    """Make a pod; *odd* ones may have labels that the API would refuse."""
    obj: Plain = {"apiVersion": "v1", "kind": "Pod", "metadata": _metadata(random, namespace, name, odd=odd)}
    obj["spec"] = _spec(random)
    if random.random() < 0.8:
        obj["status"] = {"phase": random.choice(PHASES)}
    return obj


def _metadata(random: Random, namespace: str, name: str, *, odd: bool) -> Plain:
    metadata: Plain = {"name": name, "uid": f"uid {namespace} {name}", "resourceVersion": str(random.randrange(1000))}
    if namespace:
        metadata["namespace"] = namespace
    if random.random() < 0.9:
        metadata["labels"] = _labels(random, odd=odd) | {"id": name}
    elif odd:
        metadata["labels"] = random.choice([None, {}, [], "app=web"])
    if random.random() < 0.4:
        metadata["annotations"] = {"team": random.choice(["red", "blue", ""]), "note": random.choice(["a,b", "c=d\\"])}
    if random.random() < 0.8:
        metadata["creationTimestamp"] = f"2026-01-{random.randrange(1, 20):02}T00:00:00Z"
    if random.random() < 0.6:
        metadata["ownerReferences"] = random.sample(OWNERS, random.choice([1, 1, 2]))
    return metadata


def _labels(random: Random, *, odd: bool) -> Plain:
    rare = {"few": 0.05, "never": 0}
    labels: Plain = {
        key: random.choice(values) for key, values in LABEL_VALUES.items() if random.random() < rare.get(key, 0.6)
    }
    if odd and random.random() < 0.15:
        labels[random.choice(["app", "tier", "weight", "few"])] = random.choice([None, 7, True, ["web"], {"web": 1}])
    return labels


def _spec(random: Random) -> Plain:
    spec: Plain = {"containers": [{"name": "c", "image": random.choice(IMAGES)} for _ in range(random.randrange(1, 3))]}
    if random.random() < 0.7:
        spec["nodeName"] = random.choice([*NODES, "", None])
    if random.random() < 0.5:
        spec["hostNetwork"] = random.random() < 0.5
    if random.random() < 0.6:
        spec["priority"] = random.randrange(-2, 12)
    if random.random() < 0.5:
        spec["nodeSelector"] = {"disk": random.choice(["ssd", "hdd"]), "zone": random.choice(["a", "b", "c"])}
    return spec


# Reading plain JSON


def at_path(obj: Any, path: str) -> Any:
    for name in path.split("."):
        obj = obj.get(name) if isinstance(obj, dict) else None
    return obj


def labels_at(obj: Plain, path: str = LABELS) -> dict[str, str]:
    """Give what counts as a label: null is "", anything else but text is none."""
    found = at_path(obj, path)
    texts = {key: "" if value is None else value for key, value in found.items()} if isinstance(found, dict) else {}
    return {key: value for key, value in texts.items() if isinstance(value, str)}


def text_at(obj: Plain, path: str) -> str:
    """Give the text of a field as a field selector compares it."""
    value = at_path(obj, path)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int)) else ""


def number_in(text: str | None) -> int | None:
    number = int(text) if text is not None and re.fullmatch(r"[+-]?[0-9]+", text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def satisfied(operator: str, wanted: Sequence[str], value: str | None) -> bool:
    """Tell whether a label with this *value*, None for an absent one, is what a requirement asks for."""
    match operator:
        case "=" | "==" | "in":
            return value is not None and value in wanted
        case "!=" | "notin":
            return value is None or value not in wanted
        case "exists":
            return value is not None
        case "!":
            return value is None
    number, bound = number_in(value), int(wanted[0])
    return number is not None and (number > bound if operator == "gt" else number < bound)


# The indexers that questions ask, and what their values are in plain JSON


def mixed_values(name: str) -> Any:
    """Give values of every type, some equal in Python but not in an index."""
    return [None, True, 1, ["1", 1], [("a", 1), ("a", True)], ["", "a"], 0, False][sum(map(ord, name)) % 8]


def typed(value: Any) -> Any:
    """Give a value that equals another one only if the types are equal, too."""
    return (type(value).__name__, tuple(map(typed, value)) if isinstance(value, tuple) else value)


def name_of(obj: Any) -> str:
    return str(obj["metadata"]["name"] if isinstance(obj, dict) else obj.metadata.name)


def may_pass(obj: Any) -> bool:
    """Be a predicate, for ``where`` and FilterIndexer."""
    return sum(map(ord, name_of(obj))) % 3 != 0


def group_of(obj: Plain) -> str | None:
    """Be an index function that may fail: on a pod with ``spec.bad``."""
    if obj["spec"].get("bad"):
        raise ValueError("this pod is bad")
    return text_at(obj, "status.phase") or None


_PRIORITY = JsonPath.parse("spec.priority")

by_app = LabelIndexer("app", "tier")
by_weight = LabelIndexer("weight", "a.b/c", "few", "never", "id")
by_all = LabelIndexer.all(budget=PLENTY, deny=["env"])
by_disk = LabelIndexer("disk", path=NODE_SELECTOR)
by_selector = LabelIndexer.all(budget=PLENTY, path=NODE_SELECTOR)
by_team = AnnotationIndexer("team")
by_node = FieldIndexer("spec.nodeName")
by_phase = FieldIndexer("status.phase", name="phase")
by_host = FieldIndexer("spec.hostNetwork")
by_number = FieldIndexer("spec.priority")
by_image = FieldIndexer("spec.containers[*].image")
by_two = FieldIndexer("status.phase", "spec.priority")
by_owner = OwnerIndexer()
by_controller = OwnerIndexer(controller_only=True)
by_mixed: Indexer[Any, Any] = Indexer("mixed", lambda obj: mixed_values(name_of(obj)))
created = SortedIndexer("created", "metadata.creationTimestamp")
priority: SortedIndexer[Any, int] = SortedIndexer("priority", cast("Callable[[Any], int | None]", _PRIORITY.first))
letters: SortedIndexer[Any, str] = SortedIndexer("letters", lambda obj: list(name_of(obj)))
watched: FilterIndexer[Any] = FilterIndexer(
    "watched", label_selector="app in (web,db),tier!=gold", annotation_filter="team notin (blue)"
)
carrying = SelectorIndexer(NODE_SELECTOR, name="carrying")
passing: FilterIndexer[Any] = FilterIndexer("passing", predicate=may_pass)
strict: Indexer[Any, str] = Indexer("strict", group_of)
lenient: Indexer[Any, str] = Indexer("lenient", group_of, on_error="skip")

LABEL_INDEXERS: Final = [by_app, by_weight, by_all, by_disk, by_selector, by_team]
FUNCTION_INDEXERS: Final[list[Indexer[Any, Any]]] = [
    by_node, by_phase, by_host, by_number, by_image, by_two, by_owner, by_controller, by_mixed,
    created, priority, letters, watched, passing, carrying,
]  # fmt: skip
INDEXERS: Final[list[Any]] = [*LABEL_INDEXERS, *FUNCTION_INDEXERS]


_THREE = Budget(max_values=3)

TIGHT_INDEXERS: Final[list[Any]] = [
    LabelIndexer("app", "tier", "weight", "id", key_budget=_THREE),
    LabelIndexer.all(budget=Budget(max_values=20), path=NODE_SELECTOR),
    LabelIndexer.all(budget=Budget(max_values=40), name="most labels"),
    FieldIndexer("spec.nodeName", budget=_THREE),
    FieldIndexer("status.phase", name="phase", budget=_THREE),
    OwnerIndexer(budget=_THREE),
    SortedIndexer("created", "metadata.creationTimestamp", budget=_THREE),
    SortedIndexer("letters", lambda obj: list(name_of(obj)), budget=_THREE),
    Indexer("mixed", lambda obj: mixed_values(name_of(obj)), budget=Budget(max_values=5)),
]
"""Indexers of which most break their budget once there are more than a few objects."""


def owner_values(obj: Plain, *, controller_only: bool) -> list[Any]:
    metadata = obj["metadata"]
    owners = [
        owner for owner in metadata.get("ownerReferences", []) if owner.get("controller") is True or not controller_only
    ]
    keys = [(metadata.get("namespace", ""), o["apiVersion"].partition("/")[0], o["kind"], o["name"]) for o in owners]
    return [*(owner["uid"] for owner in owners), *keys]


def field_values(*paths: str) -> Callable[[Plain], list[Any]]:
    return lambda obj: [text_at(obj, path) for path in paths if at_path(obj, path) is not None]


def is_watched(obj: Plain) -> list[Any]:
    labels, annotations = labels_at(obj), labels_at(obj, "metadata.annotations")
    wanted = labels.get("app") in ("web", "db") and labels.get("tier") != "gold" and annotations.get("team") != "blue"
    return [True] if wanted else []


def selectors_at(obj: Plain, path: str) -> list[Any]:
    pairs = [f"{key}={value}" for key, value in sorted(labels_at(obj, path).items())]
    return [",".join(pairs)] if pairs else []


def pairs_in(text: str) -> list[Any]:
    return [tuple(pair.split("=")) for pair in text.split(",")]


def as_list(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [] if values is None else [values]


VALUES: Final[dict[str, Callable[[Plain], list[Any]]]] = {
    by_node.name: field_values("spec.nodeName"),
    by_phase.name: field_values("status.phase"),
    by_host.name: field_values("spec.hostNetwork"),
    by_number.name: field_values("spec.priority"),
    by_image.name: lambda obj: [container["image"] for container in obj["spec"]["containers"]],
    by_two.name: field_values("status.phase", "spec.priority"),
    by_owner.name: lambda obj: owner_values(obj, controller_only=False),
    by_controller.name: lambda obj: owner_values(obj, controller_only=True),
    by_mixed.name: lambda obj: as_list(mixed_values(obj["metadata"]["name"])),
    created.name: field_values("metadata.creationTimestamp"),
    priority.name: lambda obj: as_list(at_path(obj, "spec.priority")),
    letters.name: lambda obj: list(obj["metadata"]["name"]),
    watched.name: is_watched,
    passing.name: lambda obj: [True] if may_pass(obj) else [],
    carrying.name: lambda obj: selectors_at(obj, NODE_SELECTOR),
    strict.name: lambda obj: as_list(None if obj["spec"].get("bad") else group_of(obj)),
    lenient.name: lambda obj: as_list(None if obj["spec"].get("bad") else group_of(obj)),
}
"""Index values by the name of the indexer, read from plain JSON."""

ASKED: Final[dict[str, list[Any]]] = {
    by_node.name: [*NODES, "", "nowhere"],
    by_phase.name: [*PHASES, "", "Gone"],
    by_host.name: [True, False, "true", ""],
    by_number.name: [0, 3, "7", "-1", "x"],
    by_image.name: [*IMAGES, "none"],
    by_two.name: ["Running", "3", 7, "x"],
    by_owner.name: [*(owner["uid"] for owner in OWNERS), "no such uid"],
    by_controller.name: [owner["uid"] for owner in OWNERS],
    by_mixed.name: [True, False, 1, 0, "1", "", "a", ("a", 1), ("a", True), ("a", "1")],
    created.name: [f"2026-01-{day:02}T00:00:00Z" for day in (1, 5, 12, 31)],
    priority.name: [-2, 0, 3, 11, 99],
    letters.name: ["1", "5", "p", "z"],
    watched.name: [True],
    passing.name: [True, False],
    carrying.name: ["disk=ssd,zone=a", "zone in (b),disk=hdd", "disk=ssd"],
    strict.name: PHASES,
    lenient.name: PHASES,
}
"""What questions ask of each index, absent values among them."""

FIELDS: Final[dict[str, list[str]]] = {
    "spec.nodeName": [*NODES, "", "nowhere"],
    "status.phase": [*PHASES, ""],
    "spec.hostNetwork": ["true", "false", "True", ""],
    "spec.priority": ["3", "-1", "007", ""],
    "metadata.name": ["p1", "p2", "p30", "nobody", ""],
    "metadata.namespace": [*NAMESPACES, "elsewhere"],
    "metadata.labels.env": ["prod", "dev", ""],
    "metadata.annotations.note": ["a,b", "c=d\\", ""],
    "metadata.creationTimestamp": ["2026-01-05T00:00:00Z", ""],
    "spec.containers": ["", "x"],
    "spec.nothing": ["", "x"],
}


class Part(NamedTuple):
    """One conjunct of a question: the rows that it selects, and whether an index answers it."""

    rows: int
    indexed: bool


class Clause(NamedTuple):
    """A term, the conjuncts that it stands for, and the clause that it negates, if it does.

    ``edge`` says that it asks for the smallest or largest value, which depends on all the rows.
    """

    term: Term[Any]
    parts: list[Part]
    negates: Clause | None = None
    edge: bool = False

    @property
    def indexed(self) -> bool:
        return all(part.indexed for part in self.parts)


class Question(NamedTuple):
    """A query of a store, and its answer.

    Attributes:
        terms: its terms.
        query: its other arguments, but for how the answer is cut and ordered.
        rows: which rows answer it.
        candidates: which rows its indexes leave.
        checked: whether there is then anything to check on objects.
        edge: whether a term asks for the smallest or largest value.
    """

    terms: tuple[Term[Any], ...]
    query: dict[str, Any]
    rows: int
    candidates: int
    checked: bool
    edge: bool

    def __str__(self) -> str:
        return f"terms {list(map(str, self.terms))}, {self.query}"


Seen: TypeAlias = "Callable[[str, str], tuple[Sequence[Plain], bool]]"
Requirement: TypeAlias = tuple[str, str, tuple[str, ...]]
"""Key, operator by Go's name, values."""

OPERATORS: Final = ["=", "=", "=", "==", "!=", "!=", "in", "in", "notin", "notin", "exists", "!", "gt", "lt"]
OBJECT_OPERATORS: Final = {"in": "In", "notin": "NotIn", "exists": "Exists", "!": "DoesNotExist"}


class Asker:
    """Asks random questions about rows.

    Args:
        random: chooses.
        keys: namespace and name of each row.
        indexers: those that the store has.
        seen: gives what answers about a key of the map of labels at a path, ``(path, key)``, about a field,
            ``("field", path)``, or of an indexer, ``("index", name)``: the objects, and whether an index holds them so.
    """

    def __init__(self, random: Random, keys: Sequence[tuple[str, str]], indexers: Iterable[Any], seen: Seen) -> None:
        self.random = random
        self.keys = keys
        self.everything = (1 << len(keys)) - 1
        self.seen = seen
        present = list(indexers)
        self.label_indexers = [indexer for indexer in present if isinstance(indexer, LabelIndexer)]
        self.functions = [indexer for indexer in present if isinstance(indexer, Indexer)]
        self._known: dict[Any, Part] = {}
        self._read: dict[tuple[str, int], Any] = {}

    def question(self, *, exact: bool = False) -> Question:
        """Ask for terms, labels, fields and namespaces; *exact*: terms that indexes answer as a whole only."""
        random, query, parts = self.random, {}, list[Part]()
        if random.random() < 0.4 and (not self.keys or any(namespace for namespace, _ in self.keys)):
            query["namespace"], part = self.namespaces()
            parts.append(part)
        if random.random() < 0.55:
            query["label_selector"], found = self.selector(LABELS, KEYS[LABELS])
            parts += found
        if random.random() < 0.3:
            query["field_selector"], found = self.fields()
            parts += found
        clauses = []
        if self.functions or self.label_indexers:
            clauses = [self.clause(2, exact=exact) for _ in range(random.choice([0, 1, 1, 2]))]
            parts += [part for clause in clauses for part in clause.parts]
        candidates = self.all_of(part.rows for part in parts if part.indexed)
        return Question(
            terms=tuple(clause.term for clause in clauses),
            query=query,
            rows=self.all_of(part.rows for part in parts),
            candidates=candidates,
            checked=not all(part.indexed for part in parts),
            edge=any(clause.edge for clause in clauses),
        )

    def all_of(self, sets: Iterable[int]) -> int:
        rows = self.everything
        for each in sets:
            rows &= each
        return rows

    def part(self, where: str, what: str, question: object, holds: Callable[[Plain], bool]) -> Part:
        """Answer one thing about every row; the same thing only once."""
        found = self._known.get((where, what, question))
        if found is None:
            objects, indexed = self.seen(where, what)
            found = self._known[where, what, question] = Part(rows_in(map(holds, objects)), indexed)
        return found

    # Namespaces, labels, fields

    def namespaces(self) -> tuple[Any, Part]:
        random = self.random
        names = [
            random.choice(["default", "kube-system", "prod", "elsewhere"]) for _ in range(random.choice([0, 1, 2, 3]))
        ]
        rows = rows_in(namespace in names for namespace, _ in self.keys)
        form = random.choice([list, tuple, frozenset])
        return (names[0] if len(names) == 1 and random.random() < 0.8 else form(names)), Part(rows, indexed=True)

    def requirement(self, path: str, key: str, operators: Sequence[str]) -> tuple[Requirement, Part]:
        """Make a requirement on one of the labels at *path*."""
        random, operator = self.random, self.random.choice(operators)
        askable = ASKABLE.get(key, ["p1", "p2", "p30", "nobody"])
        values: tuple[str, ...] = ()
        if operator in ("gt", "lt"):
            values = (random.choice(["0", "1", "7", "007", "39", "9223372036854775807"]),)
        elif operator in ("in", "notin"):
            values = tuple({random.choice(askable): None for _ in range(random.choice([1, 2, 3, 5]))})
        elif operator not in ("exists", "!"):
            values = (random.choice(askable),)
        asked = (key, operator, values)

        def holds(obj: Plain) -> bool:
            return satisfied(operator, values, self.read(path, obj, lambda obj: labels_at(obj, path)).get(key))

        return asked, self.part(path, key, asked, holds)

    def selector(self, path: str, keys: Sequence[str]) -> tuple[Any, list[Part]]:
        """Make a label selector on the labels at *path*, in one of its forms."""
        random, form = self.random, self.random.randrange(12)
        if form == 0:
            return LabelSelector.from_object(None), [Part(0, indexed=True)]
        if form == 1:
            return random.choice(["", LabelSelector(), {}]), []
        chosen = [random.choice(keys) for _ in range(random.choice([1, 1, 1, 2, 2, 3, 5]))]
        if form in (2, 3):
            made = [self.requirement(path, key, ["="]) for key in dict.fromkeys(chosen)]
            labels = {key: values[0] for (key, _, values), _ in made}
            return (labels if form == 2 else {"matchLabels": labels}), [part for _, part in made]
        if form in (4, 5):
            made = [self.requirement(path, key, list(OBJECT_OPERATORS)) for key in chosen]
            expressions = [{"key": k, "operator": OBJECT_OPERATORS[o], "values": list(v)} for (k, o, v), _ in made]
            return {"matchExpressions": expressions}, [part for _, part in made]
        made = [self.requirement(path, key, OPERATORS) for key in chosen]
        text = random.choice([",", " , "]).join(requirement_text(*asked) for asked, _ in made)
        return (LabelSelector.parse(text) if form == 6 else text), [part for _, part in made]

    def fields(self) -> tuple[Any, list[Part]]:
        """Make a field selector."""
        random = self.random
        asked: dict[str, tuple[str, str]] = {}
        for _ in range(random.choice([1, 1, 1, 2, 3])):
            field = random.choice(list(FIELDS))
            asked[field] = (random.choice(["=", "==", "!=", "!="]), random.choice(FIELDS[field]))
        parts = [self.field(field, operator, value) for field, (operator, value) in asked.items()]
        if random.random() < 0.1:
            return {field: value for field, (_, value) in asked.items()}, [
                self.field(field, "=", value) for field, (_, value) in asked.items()
            ]
        text = ",".join(
            field + operator + re.sub(r"[\\,=]", r"\\\g<0>", value) for field, (operator, value) in asked.items()
        )
        return (FieldSelector.parse(text) if random.random() < 0.2 else text), parts

    def field(self, field: str, operator: str, value: str) -> Part:
        if field in ("metadata.name", "metadata.namespace"):
            position = 1 if field == "metadata.name" else 0
            return Part(rows_in((key[position] == value) is (operator != "!=") for key in self.keys), indexed=True)
        negative = operator == "!="
        return self.part("field", field, (negative, value), lambda obj: (text_at(obj, field) == value) is not negative)

    # Terms

    def clause(self, depth: int, *, exact: bool = False) -> Clause:
        """Make a term; *exact*: nothing in ``|`` and ``~`` has to be checked on objects."""
        random, choice = self.random, self.random.random()
        if depth == 0 or choice < 0.35:
            return self.leaf()
        clauses = [self.clause(depth - 1, exact=exact) for _ in range(1 if choice < 0.55 else random.choice([2, 2, 3]))]
        if exact and not all(clause.indexed for clause in clauses):
            return clauses[0]
        if choice < 0.55:
            return self.negated(clauses[0])
        return self.conjunction(clauses) if choice < 0.75 else self.disjunction(clauses)

    def negated(self, clause: Clause) -> Clause:
        if clause.negates is not None:
            return Clause(~clause.term, clause.negates.parts, clause.negates.negates, clause.edge)
        rows = self.everything & ~self.all_of(part.rows for part in clause.parts)
        return Clause(~clause.term, [Part(rows, clause.indexed)], clause, clause.edge)

    @staticmethod
    def conjunction(clauses: Sequence[Clause]) -> Clause:
        term = clauses[0].term
        for clause in clauses[1:]:
            term = term & clause.term
        parts = [part for clause in clauses for part in clause.parts]
        return Clause(term, parts, edge=any(clause.edge for clause in clauses))

    def disjunction(self, clauses: Sequence[Clause]) -> Clause:
        term, rows = clauses[0].term, 0
        for clause in clauses[1:]:
            term = term | clause.term
        for clause in clauses:
            rows |= self.all_of(part.rows for part in clause.parts)
        part = Part(rows, all(clause.indexed for clause in clauses))
        return Clause(term, [part], edge=any(clause.edge for clause in clauses))

    def leaf(self) -> Clause:
        if self.label_indexers and (not self.functions or self.random.random() < 0.35):
            return self.label_leaf(self.random.choice(self.label_indexers))
        return self.function_leaf(self.random.choice(self.functions))

    def label_leaf(self, indexer: LabelIndexer) -> Clause:
        random, path = self.random, indexer.path
        keys = [key for key in KEYS[path] if key in indexer.keys or (not indexer.keys and key not in indexer.deny)]
        if random.random() < 0.4:
            selector, parts = self.selector(path, KEYS[path])
            return Clause(indexer.satisfying(selector), parts)
        key = random.choice(keys)
        label = indexer.key(key)
        match random.choice(["=", "in", "exists", "!"]):
            case "=":
                (_, _, values), part = self.requirement(path, key, ["="])
                return Clause(label.at(values[0]), [part])
            case "in":
                (_, _, values), part = self.requirement(path, key, ["in"])
                return Clause(label.among(values), [part])
            case "exists":
                absent = Clause(label.absent(), [self.requirement(path, key, ["!"])[1]])
                return Clause(label.exists(), [self.requirement(path, key, ["exists"])[1]], absent)
            case _:
                return Clause(label.absent(), [self.requirement(path, key, ["!"])[1]])

    def function_leaf(self, indexer: Indexer[Any, Any]) -> Clause:
        random, name = self.random, indexer.name
        kinds = ["at", "at", "among"]
        if isinstance(indexer, SortedIndexer):
            kinds += ["between", "between", "edge", "starting_with"]
        if isinstance(indexer, OwnerIndexer):
            kinds += ["orphans", "owner", "named"]
        if isinstance(indexer, SelectorIndexer):
            kinds = ["matching", "matching", "matching_either", "matching_differs"]
        match random.choice(kinds):
            case str() as kind if isinstance(indexer, SelectorIndexer):
                return self.selector_leaf(indexer, kind)
            case "at" if isinstance(indexer, FilterIndexer):
                return Clause(indexer.passing(), [self.filed(indexer, {typed(value=True)})])
            case "at":
                value = random.choice(ASKED[name])
                return Clause(indexer.at(value), [self.filed(indexer, {self.value(indexer, value)})])
            case "among":
                values = random.choices(ASKED[name], k=random.choice([0, 1, 2, 4]))
                return Clause(indexer.among(values), [self.filed(indexer, {self.value(indexer, v) for v in values})])
            case "orphans":
                assert isinstance(indexer, OwnerIndexer)
                return Clause(indexer.orphans(), [self.passing(indexer, "none", lambda values: not values)])
            case "owner" | "named" as kind:
                return self.owner_leaf(indexer, by_name=kind == "named")
            case "edge":
                return self.edge_leaf(indexer, largest=random.random() < 0.5)
            case "starting_with" if isinstance(indexer, SortedIndexer) and indexer.name != priority.name:
                prefix = random.choice(["2026", "2026-01-0", "2026-01-05T00:00:00Z", "", "x", "2026-01-2", "3"])
                found = self.passing(
                    indexer, ("prefix", prefix), lambda values: any(v.startswith(prefix) for v in values)
                )
                return Clause(indexer.starting_with(prefix), [found])
            case _:
                assert isinstance(indexer, SortedIndexer)
                low, high = (random.choice([None, *ASKED[name]]) for _ in range(2))
                part = self.passing(
                    indexer,
                    ("between", low, high),
                    lambda values: any((low is None or low <= v) and (high is None or v <= high) for v in values),
                )
                return Clause(indexer.between(low, high), [part])

    def selector_leaf(self, indexer: SelectorIndexer, kind: str) -> Clause:
        """Ask with labels what selectors match them, and with those before and after a change."""
        random = self.random

        def some_labels() -> dict[str, str]:
            given = {"disk": random.choice(["ssd", "hdd"]), "zone": random.choice("abc"), "app": "web"}
            return {key: value for key, value in given.items() if random.random() < 0.8}

        sides = [some_labels() for _ in range(1 if kind == "matching" else 2)]

        def matched(values: list[Any]) -> bool:
            answers = [any(all(pair in given for pair in pairs_in(text)) for text in values) for given in pairs]
            return answers[0] is not answers[1] if kind == "matching_differs" else any(answers)

        pairs = [set(labels.items()) for labels in sides]
        return Clause(getattr(indexer, kind)(*sides), [self.passing(indexer, (kind, str(sides)), matched)])

    def owner_leaf(self, indexer: Indexer[Any, Any], *, by_name: bool) -> Clause:
        assert isinstance(indexer, OwnerIndexer)
        owner = self.random.choice(OWNERS)
        namespace = self.random.choice(["prod", "default", ""])
        uid, kind, name = owner["uid"], owner["kind"], owner["name"]
        group = owner["apiVersion"].partition("/")[0]
        values = [(namespace, group, kind, name)] if by_name or namespace else []
        if by_name:
            term = indexer.named(kind, name, namespace=namespace, group=group)
        else:
            metadata = {"name": name, "uid": uid} | ({"namespace": namespace} if namespace else {})
            term, values = indexer.at({**owner, "metadata": metadata}), [uid, *values]
        return Clause(term, [self.filed(indexer, {typed(value)}) for value in values])

    def edge_leaf(self, indexer: Indexer[Any, Any], *, largest: bool) -> Clause:
        assert isinstance(indexer, SortedIndexer)
        objects, indexed = self.seen("index", indexer.name)
        values = [value for obj in objects for value in VALUES[indexer.name](obj)]
        edge = (max if largest else min)(values) if values else None
        rows = rows_in(edge in VALUES[indexer.name](obj) and edge is not None for obj in objects)
        return Clause(indexer.largest() if largest else indexer.smallest(), [Part(rows, indexed)], edge=True)

    @staticmethod
    def value(indexer: Indexer[Any, Any], value: Any) -> Any:
        """Give the value that is asked for; of a field it is always text."""
        if isinstance(indexer, FieldIndexer) and not isinstance(value, str):
            value = {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)
        return typed(value)

    def filed(self, indexer: Indexer[Any, Any], wanted: set[Any]) -> Part:
        return self.passing(indexer, frozenset(wanted), lambda values: any(typed(value) in wanted for value in values))

    def passing(self, indexer: Indexer[Any, Any], question: object, holds: Callable[[list[Any]], bool]) -> Part:
        name, values_of = indexer.name, VALUES[indexer.name]
        return self.part("index", name, question, lambda obj: holds(self.read(name, obj, values_of)))

    def read(self, what: str, obj: Plain, read: Callable[[Plain], Any]) -> Any:
        """Read something in an object, once: rows are not changed while they are asked about."""
        found = self._read.get((what, id(obj)))
        if found is None:
            found = self._read[what, id(obj)] = read(obj)
        return found


def rows_in(answers: Iterable[bool]) -> int:
    """Make a set of the rows for which the answer is true."""
    return sum(1 << row for row, answer in enumerate(answers) if answer)


def requirement_text(key: str, operator: str, values: Sequence[str]) -> str:
    """Write a requirement as in a label selector."""
    match operator:
        case "exists":
            return key
        case "!":
            return f"!{key}"
        case "in" | "notin":
            return f"{key} {operator} ({','.join(values)})"
    sign = {"gt": ">", "lt": "<"}.get(operator, operator)
    return f"{key}{sign}{values[0]}"
