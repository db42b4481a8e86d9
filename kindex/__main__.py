"""``python -m kindex`` is the command ``kindex``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        from kindex.cli.app import main as run  # noqa: PLC0415 - the library itself needs none of this
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich", "yaml"):
            raise
        print("the kindex command needs more than the library: pip install 'kube-kindex[cli]'", file=sys.stderr)  # noqa: T201
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
