"""No client is imported before it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest

CLIENTS = ("kubernetes", "kubernetes_asyncio", "aiohttp", "urllib3")


@pytest.mark.parametrize(
    ("modules", "allowed"),
    [
        ("kindex, kindex.sources, kindex.sources.resources, kindex.sources.list_functions", ()),
        ("kindex.sources.client", ("urllib3",)),
        ("kindex.sources.async_client", ("aiohttp", "urllib3")),
    ],
)
def test_importing_sources_imports_no_client(modules: str, allowed: tuple[str, ...]) -> None:
    """A source is given its client, and imports only the library that carries it."""
    if "aiohttp" in allowed:
        pytest.importorskip("aiohttp")
    program = f"import sys, {modules}; print(*sorted({set(CLIENTS)!r} & set(sys.modules)))"
    found = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert set(found.stdout.split()) <= set(allowed)
