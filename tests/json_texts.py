"""Random JSON text: any spacing and escapes, names that occur twice, numbers of any size. ``json.loads`` reads it.

``random`` is any ``random.Random``, as for ``tests.strategies``.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

# Few names, so that paths meet something; the last ones are hard to write.
NAMES: Final = [
    "metadata",
    "spec",
    "status",
    "a",
    "b",
    "name",
    "labels",
    "kind",
    "",
    "é",
    'q"',
    "back\\slash",
    "new\nline",
]
UNFIT: Final = {'q"', "back\\slash", "new\nline"}
METADATA: Final = [
    "name", "namespace", "uid", "resourceVersion", "labels", "annotations", "ownerReferences", "generation",
    "finalizers", "managedFields", "creationTimestamp", "other",
]  # fmt: skip
WORDS: Final = [
    "web",
    "prod",
    "x",
    "",
    "é",
    "\u2028",
    "😀",
    'say "x"',
    "\\",
    "\n",
    "\x00",
    "managedFields",
    ',"spec":{',
]
NUMBERS: Final = [
    "0", "-0", "7", "-1", "1e3", "1E-3", "0.10", "-1.5e+2", "1.7976931348623157e308", "9223372036854775807",
    "9223372036854775808", "18446744073709551616", "-9223372036854775809", "1" * 40,
]  # fmt: skip


def object_text(random: Random) -> str:
    """Write an object that may have metadata, kind and apiVersion, of any shape, and each more than once."""
    members = [(name, value_text(random, 3)) for name in random.choices(NAMES, k=random.choice([0, 1, 2, 4]))]
    members += [("metadata", metadata_text(random)) for _ in range(random.choice([0, 1, 1, 1, 2]))]
    members += [(name, value_text(random, 1)) for name in ("kind", "apiVersion") if random.random() < 0.5]
    random.shuffle(members)
    return _space(random) + _object(random, members) + _space(random)


def metadata_text(random: Random) -> str:
    """Write metadata, mostly an object of its usual members."""
    if random.random() < 0.1:
        return value_text(random, 2)
    return _object(random, [(name, value_text(random, 2)) for name in random.choices(METADATA, k=random.randrange(6))])


def value_text(random: Random, depth: int) -> str:
    """Write any value."""
    kind = random.random()
    if depth and kind < 0.35:
        names = random.choices(NAMES, k=random.choice([0, 1, 2, 4]))
        return _object(random, [(name, value_text(random, depth - 1)) for name in names])
    if depth and kind < 0.55:
        items = [value_text(random, depth - 1) for _ in range(random.choice([0, 1, 2, 3]))]
        return "[" + ",".join(_space(random) + item + _space(random) for item in items) + "]"
    if kind < 0.75:
        return _string(random, random.choice(WORDS))
    return random.choice([*NUMBERS, "null", "null", "null", "true", "false", "{}", "[]"])


def _object(random: Random, members: Sequence[tuple[str, str]]) -> str:
    space = _space(random) if random.random() < 0.5 else ""
    return "{" + ",".join(f"{space}{_string(random, name)}{space}:{value}{space}" for name, value in members) + "}"


def _string(random: Random, value: str) -> str:
    written = json.dumps(value, ensure_ascii=random.random() < 0.5)
    if value[:1].isascii() and value[:1].isalnum() and random.random() < 0.05:
        return f'"\\u{ord(value[0]):04x}{written[2:]}'
    return written


def _space(random: Random) -> str:
    return random.choice(["", "", "", " ", "\t \r\n"])


def path_of(random: Random, *, unfit: bool = True) -> tuple[str | None, ...]:
    """Make the steps of a path; *unfit*: with names that no Struct can have."""
    names = [name for name in NAMES if unfit or name not in UNFIT]
    first = random.choice([*names, "metadata", "metadata", "apiVersion"])
    inner = METADATA if first == "metadata" else names
    return (first, *(random.choice([*inner, *names, None, None, None]) for _ in range(random.randrange(4))))
