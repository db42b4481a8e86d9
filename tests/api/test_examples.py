"""The examples: those in docstrings, and every Python block of the documents."""

from __future__ import annotations

import doctest
import importlib.util
import pkgutil
import re
from pathlib import Path
from typing import Any

import pytest

import kindex

ROOT = Path(__file__).parents[2]
MODULES = ["kindex", *sorted(module.name for module in pkgutil.walk_packages(kindex.__path__, "kindex."))]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples_fail(source: str, names: dict[str, Any], where: str, line: int) -> bool:
    """Run the prompts of *source* in *names*; report what differs on standard output."""
    test = doctest.DocTestParser().get_doctest(source, names, where, where, line)
    return doctest.DocTestRunner(optionflags=FLAGS).run(test, clear_globs=False).failed > 0


@pytest.mark.parametrize("name", [name for name in MODULES if not name.endswith("__main__")])  # that one runs
def test_examples_in_docstrings_run(name: str) -> None:
    """Every example of a module shows what really happens."""
    if name.endswith(".async_client") and importlib.util.find_spec("kubernetes.aio") is None:
        pytest.skip("its examples are of a client that has kubernetes.aio")
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=FLAGS).failed == 0


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_blocks_in_documents_run(path: Path) -> None:
    """Every Python block of a document runs, in order, in one namespace; prompts show what they say."""
    text = path.read_text()
    names: dict[str, Any] = {"__name__": path.stem}
    for block in _BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        if ">>> " in block[1]:
            assert not examples_fail(block[1], names, path.name, line)
        else:
            # Padded, so that a traceback shows the document's line; without what this module takes from the future.
            code = compile("\n" * line + block[1], path.name, "exec", dont_inherit=True)
            exec(code, names)  # noqa: S102
