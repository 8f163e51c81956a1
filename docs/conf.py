"""The documentation as one site: Sphinx reads the Markdown pages where they stand, ``make docs`` builds them.

The root is the folder of the project, so that a link between pages is the same on the site and in the files. What a
page belongs to in the navigation is said here and not in the pages; a page that is in no part, a link and an anchor
that lead nowhere are errors.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
PARTS: dict[str, tuple[str, ...]] = {
    "Tutorials": (
        "docs/tutorials/analyst",
        "docs/tutorials/bi-tool",
        "docs/tutorials/administrator",
        "docs/tutorials/postgresql",
    ),
    "What is promised": ("docs/privacy", "docs/attacks", "docs/audit", "docs/proofs"),
    "Asking": (
        "docs/sql",
        "docs/releases",
        "docs/refinement",
        "docs/functions",
        "docs/clients",
        "docs/web",
        "docs/notebook",
        "docs/catalogue",
    ),
    "Notebooks": (
        "examples/notebooks/first_questions",
        "examples/notebooks/a_budget_well_spent",
        "examples/notebooks/a_dashboard_from_one_release",
    ),
    "Administering": (
        "docs/epsilon",
        "docs/statements",
        "docs/budgets",
        "docs/views",
        "docs/views-methods",
        "docs/cubes",
    ),
    "Operating": (
        "docs/configuration",
        "docs/sources",
        "docs/commands",
        "docs/operations",
        "docs/ledger",
        "docs/errors",
    ),
    "Measured": (
        "docs/measured",
        "docs/corrections",
    ),
    "How it is built": (
        "docs/architecture",
        "docs/decisions",
        "examples/README",
        "CONTRIBUTING",
        "CHANGELOG",
    ),
}
"""Headings of the navigation, each with its pages."""
FOLDERS = {
    "docs/decisions": ("decisions/*",),
    "docs/proofs": (
        "../udfs/*",
        "../udfs/mechanisms/*",
        "../dpproxy/analysis/*",
        "../dpproxy/accounting/*",
        "../dpproxy/aggregates/*",
        "../dpproxy/anonymize/*",
        "../dpproxy/planner/*",
        "../dpproxy/planner/reuse/*",
    ),
}
"""Pages about all pages of a folder."""

project = "dpproxy"
author = "the authors of dpproxy"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
root_doc = "README"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**.md", "examples/README.md",
                    "examples/notebooks/*.ipynb", "udfs/**.md", "dpproxy/**.md"]  # fmt: skip
myst_heading_anchors = 4
suppress_warnings: list[str] = []
html_theme = "furo"
html_title = "dpproxy"
html_copy_source = False
html_show_copyright = False


def _contents(pages: tuple[str, ...], *options: str) -> str:
    return "\n".join(("", "```{toctree}", *options, "", *pages, "```", ""))


def _navigation(_: Sphinx, page: str, source: list[str]) -> None:
    """Append to the start page what Sphinx makes the navigation of, and to pages about a folder its pages."""
    if page == root_doc:
        source[0] += "".join(_contents(part, f":caption: {name}", ":hidden:") for name, part in PARTS.items())
    if page in FOLDERS:
        source[0] += _contents(FOLDERS[page], ":glob:", ":maxdepth: 1")


def _notebook(app: Sphinx, page: str, source: list[str]) -> None:
    """A notebook as Markdown: its texts, its code, and what its cells have shown."""
    if app.env.doc2path(page).suffix == ".ipynb":
        cells = json.loads(source[0])["cells"]
        source[0] = "\n\n".join(part for cell in cells for part in _cell(cell))


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    text = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield text
        return
    yield f"```{'sql' if text.startswith('%%dp') else 'python'}\n{text}\n```"
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text", "")})
        if "image/png" in data:
            picture = (
                f'<img alt="a chart with error bars" src="data:image/png;base64,{data["image/png"].strip()}">'
            )
            yield f"```{{raw}} html\n{picture}\n```"
        elif "text/html" in data:
            yield f"```{{raw}} html\n{''.join(data['text/html'])}\n```"
        else:
            yield f"```text\n{''.join(data['text/plain'])}\n```"


def _start(app: Sphinx, error: Exception | None) -> None:
    """The start page under the name that servers look for."""
    if error is None and app.builder.name == "html":
        folder = Path(app.outdir)
        (folder / "index.html").write_bytes((folder / f"{root_doc}.html").read_bytes())


def setup(app: Sphinx) -> None:
    """What Sphinx calls."""
    app.connect("source-read", _navigation)
    app.connect("source-read", _notebook)
    app.connect("build-finished", _start)
