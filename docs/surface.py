"""Write the public surface of kindex as text: ``python docs/surface.py``, or compare it with a release's: ``--since``.

What is public is what has an entry in ``docs/reference``. Each entry is a line, and so is each of its public members,
with its signature; so a change of the surface is a difference of docs/reference/surface.txt.
"""

from __future__ import annotations

import argparse
import difflib
import enum
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WRITTEN = ROOT / "docs" / "reference" / "surface.txt"
ENTRY = re.compile(r"^\.\. auto(?:class|function|data):: (\S+)$", re.MULTILINE)


def entries() -> list[str]:
    """Give the dotted names that the reference has."""
    pages = sorted((ROOT / "docs" / "reference").glob("*.md"))
    return sorted({name for page in pages for name in ENTRY.findall(page.read_text())})


def found_at(entry: str) -> Any:  # noqa: ANN401 - whatever is public
    """Import an entry."""
    module, _, name = entry.rpartition(".")
    return getattr(importlib.import_module(module), name)


def signature_of(found: Any) -> str:  # noqa: ANN401 - as above
    """Give the arguments that *found* takes; nothing if Python does not know them."""
    try:
        text = str(inspect.signature(found))
    except (TypeError, ValueError):
        return "(...)"
    # Defaults that are objects of their own show where they lie.
    return re.sub(r"<[^<>]* at 0x[0-9a-f]+>", "...", text)


def lines_of(entry: str, public: Any, shared: set[Any]) -> list[str]:  # noqa: ANN401 - as above
    """Give the lines of one entry; what a class has from another one of *shared* stands there."""
    if not inspect.isclass(public):
        return [f"{entry}{signature_of(public) if callable(public) else ''}"]
    bases = [base for base in public.__mro__[1:] if base not in (object, Exception, BaseException)]
    named = [base.__name__ for base in bases if base in shared or base.__module__ == "builtins"]
    takes = "" if issubclass(public, enum.Enum) else signature_of(public)  # which Pythons tell differently
    lines = [f"{entry}{takes}{''.join(f' is {name}' for name in named)}"]
    inside = [public, *(base for base in bases if base.__module__.startswith("kindex") and base not in shared)]
    names = {name for base in inside for name in (*vars(base), *vars(base).get("__annotations__", ()))}
    for name in sorted(names):
        if not name.startswith("_"):
            method = inspect.isroutine(found := getattr(public, name, None))
            lines.append(f"{entry}.{name}{signature_of(found) if method else ''}")
    return lines


def surface() -> str:
    """Give all of it."""
    found = {entry: found_at(entry) for entry in entries()}
    shared = {each for each in found.values() if inspect.isclass(each)}
    return "\n".join(line for entry, public in found.items() for line in lines_of(entry, public, shared)) + "\n"


def differences(old: str, new: str) -> list[str]:
    """Give the lines that went, with a minus, and those that came, with a plus."""
    compared = difflib.ndiff(old.splitlines(), new.splitlines())
    return [line for line in compared if line.startswith(("- ", "+ "))]


def since(tag: str | None) -> str:
    """Say what changed since *tag*, or since the newest one."""

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        git = ("git", "-C", str(ROOT), *words)
        return subprocess.run(git, capture_output=True, text=True, check=False)  # noqa: S603 - of this repository

    if tag is None:
        newest = run("describe", "--tags", "--abbrev=0")
        if newest.returncode:
            return "There is no tag yet, so there is no release to compare with."
        tag = newest.stdout.strip()
    path = WRITTEN.relative_to(ROOT)
    shown = run("show", f"{tag}:{path}")
    if shown.returncode:
        return f"{tag} has no {path} to compare with."
    changed = differences(shown.stdout, surface())
    return "\n".join(changed) or f"Nothing of the public surface has changed since {tag}."


def main() -> None:
    """Write the file, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--since", nargs="?", const="", metavar="TAG", help="compare with that tag, or the newest")
    said = parser.parse_args().since
    if said is None:
        WRITTEN.write_text(surface())
    else:
        print(since(said or None))  # noqa: T201 - a command prints


if __name__ == "__main__":
    sys.exit(main())
