"""The grammar of JSON paths: text to steps, and steps to the canonical text."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

from kindex.errors import PathSyntaxError

Step: TypeAlias = str | None
"""A member's JSON name, or None for ``[*]``: each item of a list."""

Steps: TypeAlias = tuple[Step, ...]

_NAME = re.compile(r"[\w$-]+")
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@lru_cache(maxsize=1024)
def steps_of(text: str) -> Steps:
    """Read a path; ``JsonPath`` tells the grammar.

    Raises:
        PathSyntaxError: the text is no path; says where and why.

    >>> steps_of("spec.volumes[*].configMap['a.b']")
    ('spec', 'volumes', None, 'configMap', 'a.b')
    """
    steps: list[Step] = []
    position = 0
    while position < len(text):
        step, position = _bracket(text, position) if text[position] == "[" else _dotted(text, position)
        if step is None and not steps:
            raise PathSyntaxError(text, 0, "a path starts with a name")
        steps.append(step)
    if not steps:
        raise PathSyntaxError(text, 0, "the path is empty")
    return tuple(steps)


def text_of_steps(steps: Steps) -> str:
    """Give the canonical text of a path.

    >>> text_of_steps(("a", None, "b.c"))
    "a[*]['b.c']"
    """
    text = ""
    for step in steps:
        if step is None:
            text += "[*]"
        elif _NAME.fullmatch(step) and not step.isdecimal():
            text += f".{step}" if text else step
        else:
            text += "['" + step.replace("\\", "\\\\").replace("'", "\\'") + "']"
    return text


def _dotted(text: str, position: int) -> tuple[str, int]:
    """Read a name, with the dot before it unless it is the first."""
    start = position
    if position > 0:
        if text[position] != ".":
            raise PathSyntaxError(text, position, _why_not_plain(text[position]))
        start = position + 1
    name = _NAME.match(text, start)
    if name is None:
        if text.startswith("..", position):
            raise PathSyntaxError(text, position, "no recursion; a name is missing between two dots")
        if start == len(text) or text[start] in ".[":
            raise PathSyntaxError(text, start, "a name is missing here")
        raise PathSyntaxError(text, start, _why_not_plain(text[start]))
    if name[0].isdecimal():
        raise PathSyntaxError(text, start, f"no indexes; a name of digits is written ['{name[0]}']")
    return name[0], name.end()


def _why_not_plain(char: str) -> str:
    return f"{char!r} cannot stand in a plain name; quote the name, as in labels['a.b/c']"


def _bracket(text: str, position: int) -> tuple[Step, int]:
    """Read ``[*]`` or a quoted name in brackets."""
    if text.startswith("[*]", position):
        return None, position + 3
    inside = position + 1
    quoted = _QUOTED.match(text, inside)
    if quoted is None:
        raise PathSyntaxError(text, inside, _why_no_bracket(text, inside))
    if not text.startswith("]", quoted.end()):
        raise PathSyntaxError(text, quoted.end(), "']' is missing here")
    for escape in _ESCAPE.finditer(text, inside + 1, quoted.end() - 1):
        if escape[1] not in "'\"\\":
            raise PathSyntaxError(text, escape.start(), "a backslash stands only before a quote or a backslash")
    name = quoted[1] if quoted[1] is not None else quoted[2]
    return _ESCAPE.sub(r"\1", name), quoted.end() + 1


def _why_no_bracket(text: str, inside: int) -> str:
    if inside < len(text) and text[inside] in "'\"":
        return "the quote is not closed"
    content = text[inside:].partition("]")[0].strip()
    if content.startswith(("?", "(")):
        return "no filters"
    if re.fullmatch(r"-?\d+", content):
        return "no indexes; [*] is each item"
    if re.fullmatch(r"[-\d:\s]+", content):
        return "no slices; [*] is each item"
    return "[*] or a quoted name in brackets is meant to stand here"
