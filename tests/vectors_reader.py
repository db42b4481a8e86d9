"""Reading ``tests/vectors``: what the Go libraries answered."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

# Any: decoded JSON, whose shape tests/vectors/README.md describes.
Case: TypeAlias = dict[str, Any]

_FOLDER = Path(__file__).parent / "vectors"


class Vectors(NamedTuple):
    """The header of one file, and its cases."""

    header: Case
    cases: list[Case]

    def tags(self) -> list[str]:
        """List the tags in alphabetical order."""
        return sorted({case["tag"] for case in self.cases})

    def of_tag(self, tag: str) -> list[Case]:
        """List the cases of one tag."""
        return [case for case in self.cases if case["tag"] == tag]


@cache
def read_vectors(name: str) -> Vectors:
    """Read the file ``name.jsonl.gz``; once, since the cases are not to be changed."""
    # Cut at "\n" alone: inputs hold other line ends.
    with gzip.open(_FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8", newline="\n") as lines:
        header, *cases = map(json.loads, lines)
    return Vectors(header, cases)
