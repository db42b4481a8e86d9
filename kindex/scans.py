"""Scans: telling which of many objects match. One pass for each step costs half of what a call for each object does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from kindex.label_requirements import Requirement
from kindex.objects import labels_of

if TYPE_CHECKING:
    from kindex.selectors import LabelSelector

T = TypeVar("T")

Test: TypeAlias = "Callable[[Any], bool]"  # Any: an object of the store, whatever it keeps
ReadLabels: TypeAlias = "Callable[[Any], Mapping[str, object]]"  # Any: as above


class LabelCheck:
    """A test of what an object's labels are, or another map; of one object, or of many at once.

    Args:
        selector: which labels.
        read: gives the map.

    >>> from kindex.selectors import LabelSelector
    >>> of_web = LabelCheck(LabelSelector.parse("app=web"), labels_of)
    >>> pods = [{"metadata": {"name": app, "labels": {"app": app}}} for app in ("web", "db")]
    >>> of_web(pods[0]), [pod["metadata"]["name"] for pod in of_web.among(pods)]
    (True, ['web'])
    """

    __slots__ = ("_exact", "_read", "_test")

    def __init__(self, selector: LabelSelector, read: ReadLabels) -> None:
        self._read = read
        self._test = selector.matcher()
        # What nearly every scan asks. An empty value matches null as well, which takes a closer look.
        match selector.requirements:
            case [Requirement(operator="=" | "==", key=key, values=(value,))] if value:
                self._exact: tuple[str, str] | None = key, value
            case _:
                self._exact = None

    def __call__(self, obj: Any) -> bool:  # noqa: ANN401 - as said above
        """Tell whether one object matches."""
        return self._test(self._read(obj))

    def among(self, objects: list[T]) -> list[T]:
        """Give those of *objects* that match, in their order."""
        if self._read is labels_of and set(map(type, objects)) == {dict}:
            try:
                return self._among_dicts(objects)
            except Exception:  # noqa: BLE001, S110 - an object without labels, or odd: each gets a closer look
                pass
        test, read = self._test, self._read
        return [obj for obj in objects if test(read(obj))]

    def _among_dicts(self, dicts: list[Any]) -> list[Any]:
        """Do the same for plain dicts with labels, without a call for each.

        Raises:
            Exception: they are not all like that.
        """
        if self._exact is None:
            test = self._test
            return [obj for obj in dicts if test(obj["metadata"]["labels"])]
        key, value = self._exact
        return [obj for obj in dicts if obj["metadata"]["labels"].get(key) == value]


def matching(objects: list[T], tests: Iterable[Test]) -> list[T]:
    """Give those of *objects* that pass all *tests*, in their order; a later test is only asked of what is left.

    >>> matching([1, 2, 3, 4], [lambda number: number > 1, lambda number: number % 2 == 0])
    [2, 4]
    """
    for test in tests:
        objects = test.among(objects) if isinstance(test, LabelCheck) else [obj for obj in objects if test(obj)]
    return objects
