"""Errors: the tree that the docstring draws is the one that there is."""

from __future__ import annotations

import builtins
import importlib
import pkgutil
import re
from collections.abc import Iterator

import kindex
from kindex import errors
from kindex.errors import KindexError

_DRAWN = re.compile(r"^ {4}((?:│   |    )*)[├└]── (\w+)(?:\((\w+)\))?(?: +(?:``([\w.]+)``: )?\S.*)?$", re.MULTILINE)


def subclasses(parent: type[KindexError]) -> Iterator[type[KindexError]]:
    for child in parent.__subclasses__():
        yield child
        yield from subclasses(child)


def there_are() -> dict[str, type[KindexError]]:
    """Give every public error of the package, by its name."""
    for module in pkgutil.walk_packages(kindex.__path__, "kindex."):
        if not module.name.endswith("__main__"):  # that one runs
            importlib.import_module(module.name)
    found = [each for each in subclasses(KindexError) if each.__module__.startswith("kindex.")]
    return {each.__name__: each for each in found if not each.__name__.startswith("_")}


def drawn() -> Iterator[tuple[str, str, str, str]]:
    """Give name, parent, builtin and module of each line of the drawing."""
    parents = ["KindexError"]
    for line in _DRAWN.finditer(errors.__doc__ or ""):
        depth = 1 + len(line[1]) // 4
        parents[depth:] = [line[2]]
        yield line[2], parents[depth - 1], line[3] or "", line[4] or "errors"


def test_the_drawing_names_every_error() -> None:
    """Each public subclass of KindexError, in whatever module, stands in the drawing, once, and nothing else."""
    assert sorted(name for name, *_ in drawn()) == sorted(there_are())


def test_the_drawing_says_what_each_error_is() -> None:
    """Each stands under the error that it is, names the builtin that it is, and the module that has it."""
    there = there_are() | {"KindexError": KindexError}
    for name, parent, builtin, module in drawn():
        assert issubclass(there[name], there[parent]), name
        assert not builtin or issubclass(there[name], getattr(builtins, builtin)), name
        assert getattr(importlib.import_module(f"kindex.{module}"), name) is there[name]


def test_each_error_is_a_builtin_that_callers_catch() -> None:
    """No error is a KindexError alone: it is a ValueError, LookupError or the like, too, and the drawing says which."""
    builtin_of = {name: builtin for name, _, builtin, _ in drawn()}
    parent_of = {name: parent for name, parent, *_ in drawn()}
    silent = [name for name, builtin in builtin_of.items() if not builtin and not builtin_of.get(parent_of[name])]
    assert silent == []
