"""What the arguments of a command mean: files to read, or kinds of a cluster to ask for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from kindex.cli.kinds import is_word
from kindex.errors import QueryError

if TYPE_CHECKING:
    from collections.abc import Sequence

STDIN: Final = "-"


@attrs.frozen
class Inputs:
    """Where objects come from, and of which kinds.

    Attributes:
        kind: as it was typed; empty for all that the files have.
        paths: to be read; none where a cluster is asked.
        guessed: whether nothing but what was left out says so: that a cluster is asked, or standard input is read.
    """

    kind: str
    paths: tuple[str, ...]
    guessed: bool = False

    @property
    def of_cluster(self) -> bool:
        """Whether a cluster is asked."""
        return not self.paths


def inputs_of(arguments: Sequence[str], *, cluster: bool, terminal: bool) -> Inputs:
    """Tell what *arguments* mean.

    With *cluster*, which options say, the only argument is a kind, whatever files there are. Else the first is a kind
    if it looks like one and no file is called so, and what follows are files. A kind alone is asked of the cluster at a
    *terminal*; elsewhere standard input is read, as in a pipe.

    Raises:
        QueryError: they mean nothing; it says what would.

    >>> inputs_of(["pods", "dump.json"], cluster=False, terminal=True)
    Inputs(kind='pods', paths=('dump.json',), guessed=False)
    >>> inputs_of(["po,svc"], cluster=True, terminal=False).of_cluster
    True
    """
    first, rest = (arguments[0], tuple(arguments[1:])) if arguments else ("", ())
    if cluster:
        if not first:
            raise QueryError("name a kind to ask the cluster for, such as pods")
        if not is_word(first):
            raise QueryError(f"{first!r} is no kind, and with --kubeconfig, --context or -w no files are read")
        if rest:
            raise QueryError(f"{rest[0]!r} is one too many: a cluster is asked for one kind, or several as po,svc")
        return Inputs(first, ())
    if not first:
        if terminal:
            raise QueryError("name a file or a folder, or - for standard input, or a kind of a cluster, such as pods")
        return Inputs("", (STDIN,), guessed=True)
    if not is_word(first) or Path(first).exists():
        return Inputs("", (first, *rest))
    if rest:
        return Inputs(first, rest)
    return Inputs(first, () if terminal else (STDIN,), guessed=True)
