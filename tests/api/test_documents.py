"""The documents: their links lead somewhere, the reference has every public name, the picture shows today's layers."""

from __future__ import annotations

import importlib
import importlib.util
import re
import runpy
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import kindex

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "examples").glob("*.md")),
    *sorted((ROOT / "tests").rglob("*.md")),
    *sorted(DOCS.rglob("*.md")),
]
REFERENCE = "\n".join(path.read_text() for path in sorted((DOCS / "reference").glob("*.md")))
# What users import besides kindex itself.
PUBLIC = ("kindex", "kindex.indexers.networking", "kindex.metrics", "kindex.sources", "kindex.testing")

_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_DOCUMENTED = re.compile(r"^\.\. auto(?:class|function|data):: (\S+)$", re.MULTILINE)


def prose_of(path: Path) -> str:
    """Give a page without its blocks of code."""
    return _FENCED.sub("", path.read_text())


def anchors_of(path: Path) -> set[str]:
    """Give what a forge calls the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", prose_of(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(path: Path) -> list[str]:
    """Give the links of a page, within the repository, that lead nowhere."""
    broken = []
    for target in _LINK.findall(prose_of(path)):
        if "://" in target or target.startswith("mailto:"):
            continue
        name, _, anchor = target.partition("#")
        there = path.parent / name if name else path
        if not there.exists() or (anchor and anchor not in anchors_of(there)):
            broken.append(target)
    return broken


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    """Each link to a file or a heading of this repository finds it."""
    assert broken_links(path) == []


def test_a_broken_link_would_be_found(tmp_path: Path) -> None:
    """The control: a missing file and a missing heading are told, code and addresses elsewhere are not looked at."""
    page = tmp_path / "page.md"
    code = "```python\nrows[0](missing.md)\n```"
    page.write_text(f"# A heading\n[a](#a-heading) [b](#none) [c](none.md) [d](https://example.com/e)\n{code}\n")
    assert broken_links(page) == ["#none", "none.md"]


def test_the_reference_has_every_public_name() -> None:
    """Each name that a public module offers has an entry in the reference."""
    offered = {f"{module}.{name}" for module in PUBLIC for name in importlib.import_module(module).__all__}
    assert sorted(offered - set(_DOCUMENTED.findall(REFERENCE))) == []


def test_what_the_reference_has_is_there_once() -> None:
    """Each entry of the reference is something to import, has a docstring, and stands in one place."""
    entries = _DOCUMENTED.findall(REFERENCE)
    assert [name for name, times in Counter(entries).items() if times > 1] == []
    for entry in entries:
        module, _, name = entry.rpartition(".")
        assert hasattr(importlib.import_module(module), name), entry


def test_every_error_is_in_the_reference() -> None:
    """The page of errors has each that the package offers."""
    page = (DOCS / "reference" / "errors.md").read_text()
    errors = [
        name
        for name in kindex.__all__
        if isinstance(found := getattr(kindex, name), type) and issubclass(found, kindex.KindexError)
    ]
    assert len(errors) > 20
    assert [name for name in errors if f".. autoclass:: kindex.{name}\n" not in page] == []


def test_the_picture_shows_the_layers_of_today() -> None:
    """docs/architecture.svg is what docs/architecture.py draws; run that when layers have changed."""
    drawing = runpy.run_path(str(DOCS / "architecture.py"))
    layers = drawing["layers"]()
    picture = (DOCS / "architecture.svg").read_text()
    assert picture == drawing["picture"](layers)
    assert [name for row in layers for name in row if f">{name}</text>" not in picture] == []


@pytest.fixture
def surface() -> ModuleType:
    """docs/surface.py, imported."""
    spec = importlib.util.spec_from_file_location("surface", DOCS / "surface.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_public_surface_is_what_is_written(surface: ModuleType) -> None:
    """docs/reference/surface.txt has today's names and signatures; run docs/surface.py when they change on purpose."""
    assert surface.differences(surface.WRITTEN.read_text(), surface.surface()) == []


def test_a_changed_signature_would_be_seen(surface: ModuleType) -> None:
    """The control: another argument, a method that went, and another base are differences."""

    class BeforeError(kindex.KindexError, ValueError):
        def one(self, name: str) -> None: ...

        def two(self) -> None: ...

    class AfterError(kindex.KindexError, LookupError):
        def one(self, name: str, *, limit: int = 1) -> None: ...

    shared = {kindex.KindexError}
    before, after = ("\n".join(surface.lines_of("x.X", each, shared)) for each in (BeforeError, AfterError))
    assert [line.split("(")[0] for line in surface.differences(before, after) if ".one" in line] == [
        "- x.X.one",
        "+ x.X.one",
    ]
    assert "- x.X.two(self) -> 'None'" in surface.differences(before, after)
    assert any("ValueError" in line for line in surface.differences(before, after))


@pytest.mark.skipif(shutil.which("git") is None, reason="asks git")
def test_the_surface_is_compared_with_a_tag(
    surface: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a tag one sentence says so; with one, what went and came since, or that nothing did."""
    monkeypatch.setattr(surface, "ROOT", tmp_path)
    monkeypatch.setattr(surface, "WRITTEN", tmp_path / "surface.txt")
    assert surface.since(None) == "There is no tag yet, so there is no release to compare with."

    def git(*words: str) -> None:
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)  # noqa: S603, S607

    git("init")
    surface.WRITTEN.write_text("one()\ntwo()\n")
    git("add", "surface.txt")
    git("commit", "-m", "a release")
    git("tag", "v1")
    monkeypatch.setattr(surface, "surface", lambda: "one()\nthree()\n")
    assert surface.since(None).splitlines() == ["- two()", "+ three()"]
    monkeypatch.setattr(surface, "surface", lambda: "one()\ntwo()\n")
    assert surface.since("v1") == "Nothing of the public surface has changed since v1."
    assert surface.since("v0") == "v0 has no surface.txt to compare with."


def test_decisions_say_what_would_reverse_them() -> None:
    """Each decision has its question, what was chosen and what would reverse it, and stands in the list."""
    listed = (DOCS / "decisions" / "index.md").read_text()
    pages = sorted((DOCS / "decisions").glob("0*.md"))
    assert len(pages) >= 10
    for page in pages:
        text = page.read_text()
        assert [part for part in ("Question", "Chosen", "Would reverse it") if f"**{part}.**" not in text] == [], page
        assert f"]({page.name})" in listed
