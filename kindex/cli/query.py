"""Asking files what one asks a cluster: a store for each kind, filled from documents, and its answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from kindex.cli.collector import without_collector
from kindex.cli.documents import read_documents
from kindex.cli.kinds import Kind, is_known
from kindex.cli.progress import Reading
from kindex.cli.sorting import SortPath, bare_path
from kindex.errors import QueryError
from kindex.explain import Plan
from kindex.indexers.fields import FieldIndexer
from kindex.indexers.labels import LabelIndexer
from kindex.objects import key_of, labels_of
from kindex.paths import field_path
from kindex.selectors import FieldSelector, LabelSelector, validate_label_key
from kindex.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from kindex.explain import Plan
    from kindex.keys import ObjectKey

RawObject: TypeAlias = dict[str, Any]  # Any: JSON
RawStore: TypeAlias = "Store[RawObject]"
Kinds: TypeAlias = dict[Kind, list[RawObject]]


@attrs.frozen
class Question:
    """What is asked of every kind; parsed, so that a slip is told before anything is read.

    No namespaces means all of them.
    """

    words: tuple[str, ...]
    namespaces: tuple[str, ...]
    labels: LabelSelector | None
    fields: FieldSelector | None
    sort_by: SortPath | None
    limit: int | None
    indexers: tuple[LabelIndexer | FieldIndexer, ...]

    @classmethod
    def parse(
        cls,
        *,
        kind: str = "",
        namespaces: Sequence[str] = (),
        label_selector: str | None = None,
        field_selector: str | None = None,
        sort_by: str | None = None,
        limit: int | None = None,
        indexes: Sequence[str] = (),
    ) -> Question:
        """Read what the command line says; namespaces and *kind* may be several, joined by commas.

        Raises:
            SelectorSyntaxError: a selector cannot be read.
            PathSyntaxError: ``sort_by``, or a path in a selector or among the indexes, cannot be read.
            QueryError: a namespace that is empty, an index that is no label key, a limit below zero.
        """
        if limit is not None and limit < 0:
            raise QueryError(f"--limit {limit} is below zero")
        names = [name for several in namespaces for name in several.split(",")]
        if "" in names:
            raise QueryError("a namespace is empty; to ask for all of them leave -n out, or say -A")
        return cls(
            words=tuple(filter(None, kind.split(","))),
            namespaces=tuple(dict.fromkeys(names)),
            labels=LabelSelector.parse(label_selector) if label_selector else None,
            fields=_fields_of(field_selector) if field_selector else None,
            sort_by=SortPath.parse(sort_by) if sort_by else None,
            limit=limit,
            indexers=tuple(indexers_of(indexes)),
        )


@attrs.frozen
class Answer:
    """What one kind has to say."""

    kind: Kind
    objects: list[RawObject]
    plan: Plan
    has_namespaces: bool


def _fields_of(text: str) -> FieldSelector:
    selector = FieldSelector.parse(text)
    for requirement in selector.requirements:
        field_path(requirement.field)  # now, and not when all is read
    return selector


def indexers_of(texts: Iterable[str]) -> list[LabelIndexer | FieldIndexer]:
    """Make the indexers that ``--index`` names: a label key, or a JSON path.

    A path is what begins with a dot, a brace, ``metadata.``, ``spec.`` or ``status.``, or has a ``[`` in it.

    Raises:
        QueryError: neither a path nor a label key.
        PathSyntaxError: a path that cannot be read.

    >>> indexers_of(["app", "spec.nodeName", "app.kubernetes.io/name", "{.status.phase}", "app"])
    [LabelIndexer(...), FieldIndexer('spec.nodeName'), FieldIndexer('status.phase')]
    """
    keys: dict[str, None] = {}
    paths: dict[FieldIndexer, None] = {}
    for text in texts:
        if text.startswith((".", "{", "$", "metadata.", "spec.", "status.")) or "[" in text:
            paths[FieldIndexer(bare_path(text))] = None
        elif problems := validate_label_key(text):
            raise QueryError(f"--index {text!r} is no path, and no label key: {'; '.join(problems)}")
        else:
            keys[text] = None
    labels = [LabelIndexer(*keys)] if keys else []
    return [*labels, *paths]


def load(
    paths: Sequence[str | Path],
    stdin: BinaryIO,
    *,
    say: Callable[[str], None],
    progress: Reading | None = None,
) -> Kinds:
    """Read all objects of *paths*, by kind; of an object that is there twice the last one counts, and that is said.

    Raises:
        InputError: something in the files is no Kubernetes object.
    """
    found: dict[Kind, dict[ObjectKey, RawObject]] = {}
    repeated = 0
    progress = progress or Reading()
    with without_collector():
        for document in read_documents(paths, stdin, on_progress=progress.bytes):
            progress.object()
            objects = found.setdefault(Kind.of(document.object), {})
            key = key_of(document.object)
            repeated += key in objects
            objects[key] = document.object
    if repeated:
        say(f"{_several(repeated, 'object')} there more than once; the last one counts")
    return {kind: list(objects.values()) for kind, objects in found.items()}


def asked_kinds(question: Question, kinds: Kinds, *, say: Callable[[str], None]) -> Kinds:
    """Choose the kinds that the question names, or all; say so when there are several without being named.

    Raises:
        QueryError: a name that is no known kind, and none of what is there.
    """
    if not question.words:
        if len(kinds) > 1:
            parts = ", ".join(f"{len(objects)} {kind.resource}" for kind, objects in kinds.items())
            say(f"several kinds, each asked on its own: {parts}")
        return kinds
    chosen: Kinds = {}
    for word in question.words:
        called = {kind: objects for kind, objects in kinds.items() if kind.is_called(word)}
        if not called and not is_known(word):
            there = ", ".join(sorted(kind.plural for kind in kinds)) or "nothing"
            raise QueryError(f"no kind is called {word!r} (the input has: {there})")
        chosen |= called
    return chosen


def of_namespaces(kinds: Kinds, namespaces: Sequence[str]) -> Kinds:
    """Keep what is in *namespaces*, or has none because its kind has none; everything, if there are none named."""
    if not namespaces:
        return kinds
    wanted = frozenset(namespaces)
    return {
        kind: objects
        if not kind.is_namespaced and not any(key_of(obj).namespace for obj in objects)
        else [obj for obj in objects if key_of(obj).namespace in wanted]
        for kind, objects in kinds.items()
    }


def answers(question: Question, kinds: Kinds, *, say: Callable[[str], None]) -> Iterator[Answer]:
    """Ask each kind on its own.

    Says what may surprise: labels that are no text, and indexes of what no object has.
    """
    odd: dict[str, int] = {}
    for objects in kinds.values():
        for value in (value for obj in objects for value in labels_of(obj).values()):
            if not isinstance(value, str) and value is not None:
                odd[_json(value)] = odd.get(_json(value), 0) + 1
    if odd:
        values = ", ".join(sorted(odd)[:3])
        say(f"{_several(sum(odd.values()), 'label value')} no text ({values}) and not matched; quote them in the file")
    for kind, objects in kinds.items():
        yield _answer(question, kind, objects, say)


def _answer(question: Question, kind: Kind, objects: list[RawObject], say: Callable[[str], None]) -> Answer:
    named = any(key_of(obj).namespace for obj in objects)
    has_namespaces = named or kind.is_namespaced
    namespaces = question.namespaces if has_namespaces and question.namespaces else None
    if namespaces and not named:
        objects = []  # manifests without a namespace are in none that could be asked for
    store: RawStore = Store(name=kind.plural, indexers=question.indexers, scan="allow")
    store.replace(objects)
    for indexer in question.indexers if objects else ():
        for index in [indexer] if isinstance(indexer, FieldIndexer) else map(indexer.key, indexer.keys):
            if not store.tally(index):
                say(f"--index {index.name}: none of the {kind.plural} has it")
    limit = question.limit if question.sort_by is None else None
    labels, fields = question.labels, question.fields
    chosen = store.select(
        namespace=namespaces, label_selector=labels, field_selector=fields, order_by="key", limit=limit
    )
    if question.sort_by is not None:
        if chosen and all(question.sort_by.value_of(obj) is None for obj in chosen):
            say(f"--sort-by {question.sort_by.text}: none of the {kind.plural} has it")
        chosen = question.sort_by.sorted(chosen)[: question.limit]
    plan = store.explain(
        namespace=namespaces, label_selector=labels, field_selector=fields, order_by="key", limit=question.limit
    )
    return Answer(kind, chosen, plan, has_namespaces)


def _several(count: int, what: str) -> str:
    return f"1 {what} is" if count == 1 else f"{count:,} {what}s are"


def _json(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)[:40]
