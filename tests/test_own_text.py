"""Our own SQL is written and never read again: whoever needs to know something of a statement looks at its nodes."""

import ast
from collections.abc import Iterator

import pytest

from tests.sources import PRODUCT, name, tree

READERS = {
    "dpproxy/planner/view_text.py": "a view's text as the data source has it",
    "dpproxy/policy/suggest_column.py": "constraints as the data source has them",
}
"""Who parses SQL but the analyst's, and what."""
PATTERNS = {
    "dpproxy/analysis/bins.py": "templates of moments",
    "dpproxy/analysis/casts.py": "lengths of types",
    "dpproxy/analysis/literals.py": "numbers as they are written",
    "dpproxy/analysis/patterns.py": "patterns of the analyst's",
    "dpproxy/analysis/spoken.py": "names of the parser's classes",
    "dpproxy/planner/open/series.py": "days as the analyst writes them",
    "dpproxy/planner/release/label.py": "the analyst's words, of which no text is kept whatever holds it",
    "dpproxy/planner/rewrites/lists.py": "numbers as they are written",
    "dpproxy/planner/shapes.py": "classes of the analyst's constants",
    "dpproxy/planner/rewrites/templates.py": "templates of moments",
}
"""Who has regular expressions where statements are planned and answered, and what for."""
PLANNING = (
    "dpproxy/algebra/",
    "dpproxy/aggregates/",
    "dpproxy/analysis/",
    "dpproxy/engine/",
    "dpproxy/planner/",
)
TEXTS = frozenset({"exact", "release", "answer", "sql"})
"""Attributes that hold SQL of ours."""
SEARCHES = frozenset((
    "count", "endswith", "find", "index", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rindex",
    "rpartition", "rsplit", "split", "splitlines", "startswith",
))  # fmt: skip


def imports(tree: ast.AST) -> set[str]:
    """The modules that it imports, and what it takes from each."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def parses(tree: ast.AST) -> bool:
    """Whether it has SQL parsed by another parser than that of the analyst's statements."""
    dotted = {
        f"{node.value.id}.{node.attr}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    readers = {"sqlglot.parse", "sqlglot.parse_one"}
    return bool((dotted | imports(tree)) & readers)


def searches(tree: ast.AST) -> Iterator[str]:
    """Where something is looked for in a text of ours, as far as its name tells."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Attribute(attr=held)]):
                pass
            case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=held), attr=how)) if how in SEARCHES:
                pass
            case _:
                continue
        if held in TEXTS:
            yield ast.unparse(node)


def trees(*folders: str) -> dict[str, ast.AST]:
    return {name(path): tree(path) for path in PRODUCT if name(path).startswith(folders)}


def test_sql_is_parsed_where_it_is_not_ours():
    assert [path for path, tree in trees("dpproxy/").items() if parses(tree)] == sorted(READERS)


def test_no_pattern_is_looked_for_in_a_statement_of_ours():
    assert [path for path, tree in trees(*PLANNING).items() if "re" in imports(tree)] == sorted(PATTERNS)


def test_nothing_is_looked_up_in_a_text_of_ours():
    found = {path: list(searches(tree)) for path, tree in trees(*PLANNING).items()}
    assert {path: each for path, each in found.items() if each} == {}


@pytest.mark.parametrize("line", ["x = sqlglot.parse_one(part.exact)", "from sqlglot import exp, parse_one"])
def test_who_reads_is_seen(line: str):
    assert parses(ast.parse(line))


@pytest.mark.parametrize("line", ["y = name in part.exact", "y = self.part.exact.partition('FROM')"])
def test_what_is_looked_up_is_seen(line: str):
    assert list(searches(ast.parse(line)))
    assert not list(searches(ast.parse(line.replace("exact", "query"))))
