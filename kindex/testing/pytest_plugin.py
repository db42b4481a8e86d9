"""A pytest fixture for whoever tests a controller: ``api_server``.

It is not there by itself; say so in the topmost ``conftest.py``::

    pytest_plugins = ["kindex.testing.pytest_plugin"]
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kindex.testing import ApiServer


@pytest.fixture
def api_server() -> Iterator[ApiServer]:
    """Run an empty ApiServer for one test."""
    with ApiServer() as server:
        yield server
