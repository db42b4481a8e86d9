"""What Sphinx is told: ``make docs`` builds these pages to build/docs, and takes each warning for an error."""

import re
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]

project = "kindex"
author = "The kindex authors"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"kindex {release}"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["kindex.css"]

# Pages are read on a forge as well: their links are those of files and headings there.
myst_heading_anchors = 4

# Signatures as they are written, without the homes of their names.
autodoc_default_options = {
    "members": True,
    "inherited-members": "Enum, Exception, Generic, Mapping, Protocol, Struct, Warning, object, str, tuple",
}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"
napoleon_numpy_docstring = False
napoleon_use_ivar = True


def inside(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Lead links to the examples' page, which lies beside the documents, to the page that includes it."""
    source[0] = re.sub(r"\]\(((?:\.\./)*)\.\./examples/README\.md", r"](\1examples.md", source[0])


def setup(app: Sphinx) -> None:
    """Have pages looked at before they are read."""
    app.connect("source-read", inside)
