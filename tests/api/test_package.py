"""The package as a user gets it: version, public names, contents, and what an import costs."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import inspect
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path, PurePosixPath

import pytest

import kindex

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CLIENTS = ("kubernetes", "kubernetes_asyncio", "kopf", "kr8s", "lightkube")
UNWANTED = (*CLIENTS, "typer", "click", "rich", "yaml", "prometheus_client", "pydantic", "hypothesis")

of_the_wheel = pytest.mark.skipif("KINDEX_TEST_WHEEL" not in os.environ, reason="runs in `make test`, on the wheel")


def test_the_changelog_knows_this_version() -> None:
    """The newest release in the changelog is the version in pyproject.toml."""
    released = re.findall(r"^## \[(\d[^]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert released[0] == PROJECT["version"]


def test_the_installed_version_is_this_one() -> None:
    """What is installed says the version of pyproject.toml."""
    assert importlib.metadata.version(PROJECT["name"]) == PROJECT["version"]


@of_the_wheel
def test_the_wheel_is_what_is_tested() -> None:
    """In `make test` kindex is imported from the built wheel, not from the checkout."""
    package = Path(inspect.getfile(kindex)).parent
    assert package != ROOT / "kindex"
    assert package.parent.name == "site-packages"


@of_the_wheel
def test_the_wheel_holds_the_package_and_nothing_else() -> None:
    """The wheel installs kindex with its type marker and licence: no tests, no benchmarks."""
    files = importlib.metadata.files(PROJECT["name"]) or []
    names = [PurePosixPath(name) for name in files if "bin" not in name.parts]
    assert {name.parts[0] for name in names} == {"kindex", f"kube_kindex-{PROJECT['version']}.dist-info"}
    assert PurePosixPath("kindex/py.typed") in names
    assert any(name.name == "LICENSE" for name in names)
    assert not [name for name in names if name.parts[0] == "kindex" and "tests" in name.parts]


@of_the_wheel
def test_the_sdist_holds_what_a_packager_builds_and_tests() -> None:
    """The sdist has the package, its tests, documents and licence; no results, no caches, no tools."""
    archives = list((ROOT / "dist").glob("*.tar.gz"))
    if not archives:
        pytest.skip("only a wheel was built")
    (archive,) = archives
    with tarfile.open(archive) as opened:
        names = [PurePosixPath(name) for name in opened.getnames()]
    top = f"kube_kindex-{PROJECT['version']}"
    assert {name.parts[0] for name in names} == {top}
    inside = {str(name.relative_to(top)) for name in names}
    expected = {"LICENSE", "Makefile", "PKG-INFO", "README.md", "docs/index.md", "kindex/py.typed", "pyproject.toml"}
    assert expected - inside == set()
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py")} - inside == set()
    unwanted = (".ci", ".git", ".github", ".nox", ".venv", "build", "dist")
    assert [name for name in inside if name.split("/")[0] in unwanted or "__pycache__" in name] == []
    assert [name for name in inside if name.startswith("benchmarks/results")] == []


def test_the_table_of_support_names_the_versions_of_the_project() -> None:
    """docs/support.md names each Python of the classifiers, and the floors of the clients."""
    text = (ROOT / "docs" / "support.md").read_text()
    pythons = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.fullmatch(r".*:: 3\.\d+", each)]
    assert f"| CPython | {', '.join(pythons)} |" in text
    (client,) = [each for each in PROJECT["dependencies"] if each.startswith("kubernetes>")]
    assert client == "kubernetes>=28,!=36.0.0"
    assert "| `kubernetes` | 28 and later, not 36.0.0 |" in text
    extras = PROJECT["optional-dependencies"]
    needed = [*PROJECT["dependencies"], *extras["asyncio"], *extras["cli"], *extras["metrics"]]
    floors = [each.partition(">=") for each in needed if each != client]
    rows = [row.split("|")[1:3] for row in text.splitlines() if row.startswith("| ")]
    missing = [name for name, _, floor in floors if not any(name in row[0] and floor in row[1] for row in rows)]
    assert missing == []


def test_public_names_are_sorted_and_there() -> None:
    """`__all__` is sorted, has no name twice, and each is there."""
    assert list(kindex.__all__) == sorted(set(kindex.__all__))
    assert [name for name in kindex.__all__ if not hasattr(kindex, name)] == []


def test_names_are_loaded_from_where_type_checkers_find_them() -> None:
    """The imports that type checkers read and the table of what is loaded when it is used say the same."""
    tree = ast.parse(inspect.getsource(kindex))
    (imports,) = [node for node in tree.body if isinstance(node, ast.If)]
    read = {
        alias.name: node.module.removeprefix("kindex.")
        for node in imports.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    assert read == kindex._HOME_OF
    assert sorted(read) == list(kindex.__all__)
    assert set(kindex.__all__) <= set(dir(kindex))
    with pytest.raises(AttributeError, match="module 'kindex' has no attribute 'Nothing'"):
        kindex.Nothing  # noqa: B018 - asking is the test


def test_an_import_loads_nothing_that_is_not_asked_for() -> None:
    """Neither the package alone nor its store loads what lists and watches, or a client."""
    script = """
import sys
import kindex
assert not [name for name in sys.modules if name.startswith("kindex.")]
from kindex import LabelIndexer, Store
Store(indexers=[LabelIndexer("app")]).put({"metadata": {"name": "a"}})
late = "advisor asyncio forecasts informer sources urllib3 kubernetes".split()
print(*[name for name in late if name in sys.modules or f"kindex.{name}" in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.split() == []


# A union of types and a mapping have no docstring in Python.
@pytest.mark.parametrize("name", [name for name in kindex.__all__ if name not in ("Delta", "NEAR_UNIQUE")])
def test_public_names_are_documented(name: str) -> None:
    """Every public name, and every public method of it, has a docstring of its own."""
    public = getattr(kindex, name)
    members = vars(public).items() if inspect.isclass(public) else ()
    undocumented = [
        member
        for member, value in members
        if not member.startswith("_") and (inspect.isroutine(value) or isinstance(value, property))
        if not inspect.getdoc(value)
    ]
    assert public.__doc__
    assert undocumented == []


ROOMS = ["kindex", "kindex.indexers.networking", "kindex.metrics", "kindex.sources", "kindex.testing"]
WITHOUT_EXAMPLE = {
    "Delta",  # a union of types has no docstring in Python
    "WatchEvent",  # the same
    "INGRESS_ANNOTATION",  # nor has a constant
    "NEAR_UNIQUE",  # the same
    "InCommitError",  # comes of what Python runs in the middle of a commit, which no example can bring about
}


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_have_an_example(room: str) -> None:
    """The docstring of each name that a room gives shows it at work; tests/api/test_examples.py runs all of them."""
    module = importlib.import_module(room)
    bare = {name for name in module.__all__ if ">>> " not in (inspect.getdoc(getattr(module, name)) or "")}
    assert bare == WITHOUT_EXAMPLE & set(module.__all__)


def test_importing_kindex_imports_no_client() -> None:
    """`import kindex` costs no client and no tool: whoever needs one imports it."""
    code = f"import sys, kindex; print([name for name in {UNWANTED} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


# What is imported, and which of the libraries that an import may load it does load.
LOADS = {
    "from kindex import *": set(),
    "import kindex.testing": set(),
    "import kindex.sources": set(),
    "import kindex.indexers.networking": set(),
    "import kindex.health": set(),
    "import kindex.objects": set(),
    "import kindex.informer.retries": set(),
    "import kindex.decoding": set(),
    "import kindex.transforms": set(),
    "import kindex.metrics": {"prometheus_client"},
}


@pytest.mark.parametrize("statement", LOADS)
def test_what_users_import_loads_no_client(statement: str) -> None:
    """Every public name and module can be imported without loading a client, a server of events or a tool."""
    code = f"import sys\n{statement}\nprint(*[name for name in {UNWANTED} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert set(done.stdout.split()) == LOADS[statement]


def test_every_module_of_the_reference_is_among_them() -> None:
    """The table above has each module of which the reference has a name."""
    pages = (path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md"))
    entries = {
        name for page in pages for name in re.findall(r"^\.\. auto(?:class|function|data):: (\S+)$", page, re.MULTILINE)
    }
    modules = {entry.rpartition(".")[0] for entry in entries} - {"kindex"}
    assert {f"import {module}" for module in modules} - set(LOADS) == set()


def test_every_test_says_what_it_claims() -> None:
    """Each test function has a docstring."""
    silent = [
        f"{path.relative_to(ROOT)}: {node.name}"
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_")
        if ast.get_docstring(node) is None
    ]
    assert silent == []
