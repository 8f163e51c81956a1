"""Every refusal's hint is a statement that passes, or a sentence without a place to fill."""

import ast
import re
from pathlib import Path

import pytest

from dpproxy.planner.accept import parse
from dpproxy.planner.explain import split_explain
from dpproxy.planner.near import with_statement
from dpproxy.planner.refusals import GENERAL
from dpproxy.values.errors import Refusal
from tests.golden.kinds import check_hint
from tests.golden.records import Record, read
from tests.golden.world import World, build, plan_any

FOLDER = Path(__file__).parent
BLANK = re.compile(r"\.\.\.|<[a-z ]+>")
TALKING = (
    "accounting", "aggregates", "analysis", "engine", "pgcatalog", "planner", "policy", "session", "sql", "state",
    "views",
)  # fmt: skip
"""Where refusals of statements are said."""
FEWEST_WITH_STATEMENTS = 0.65
"""Of all refusals of the golden files; others are of what is no SELECT, does not parse, or names no value or table."""

JOINED = (
    "SELECT a.age FROM people a JOIN visits v ON v.person = a.id",
    "SELECT a.* FROM people a, visits v WHERE v.person = a.id AND v.cost > 1",
    "SELECT p.age FROM people p",
    "SELECT t.x FROM (SELECT age AS x, id FROM people) AS t",
    "SELECT t.cost FROM (SELECT a.id, v.cost FROM people a, visits v WHERE v.person = a.id) AS t",
    "SELECT * FROM (SELECT a.id, v.cost FROM people a, visits v WHERE v.person = a.id) AS t",
    "SELECT v.town FROM people a JOIN visits v ON v.person = a.id WHERE a.age > 3 ORDER BY 1 LIMIT 3",
)
SCHEMA = (
    "CREATE TABLE people (id INTEGER, age INTEGER)",
    "CREATE TABLE visits (person INTEGER, cost INTEGER, town VARCHAR)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE visits SET PRIVACY KEY (person) REFERENCES people (id) MAX ROWS 3",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 1000",
    "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 10000",
    "ALTER TABLE visits ALTER COLUMN town SET PRIVACY DOMAIN IN ('a', 'b')",
)


@pytest.mark.parametrize("sql", JOINED)
def test_what_is_hinted_at_several_tables_passes(sql: str):
    world = build(SCHEMA)
    with pytest.raises(Refusal) as caught:
        plan_any(world, sql, {})
    hint = caught.value.hint or ""
    assert hint.startswith("SELECT ")
    assert hint.endswith(";")
    assert "..." not in hint
    check_hint(world, hint)


@pytest.mark.parametrize(
    ("name", "near"), [("age", None), ("coun", "count"), ("cout", "count"), ("substrng", "substring")]
)
def test_a_short_name_is_not_meant_as_another(name: str, near: str | None):
    with pytest.raises(Refusal) as caught:
        plan_any(build(SCHEMA), f"SELECT {name}(age) FROM people", {})
    assert (near is not None) == ("Did you mean" in (caught.value.hint or ""))
    assert near is None or f"{near}()" in (caught.value.hint or "")


def told(world: World, record: Record) -> str:
    """The hint that a session is told, its statement planned as the session would."""
    tree = None
    try:
        explain = split_explain(record.statement)
        sql = record.statement if explain is None else explain.sql
        tree = parse(sql)
        plan_any(world, sql, record.options)
    except Refusal as refusal:
        if tree is not None:
            with_statement(refusal, tree, lambda text: plan_any(world, text, record.options))
        return refusal.hint or GENERAL[refusal.sqlstate]
    return "It is refused later."


def test_every_hint_of_refused_aggregates_is_a_statement_that_passes_or_a_sentence():
    check_hints(FOLDER / "refused_aggregates.test")


@pytest.mark.whole
def test_every_hint_of_the_golden_files_is_a_statement_that_passes_or_a_sentence():
    found = [check_hints(path) for path in sorted(FOLDER.glob("*.test"))]
    statements, hints = (sum(numbers) for numbers in zip(*found, strict=True))
    assert statements > hints * FEWEST_WITH_STATEMENTS


def check_hints(path: Path) -> tuple[int, int]:
    """Send each hint of a file; how many hold a statement, and how many there are."""
    golden = read(path)
    world = build(golden.header)
    hints = [told(world, record) for record in golden.records if record.kind == "error"]
    for hint in hints:
        assert not BLANK.search(hint), hint
        assert hint.endswith((".", ";", "?", ")")), hint
        if hint not in GENERAL.values():  # the catalogue answers what they name
            check_hint(world, hint)
    return sum(";" in hint for hint in hints), len(hints)


def test_no_hint_has_a_place_to_fill():
    folders = [FOLDER.parents[1] / "dpproxy" / name for name in TALKING]
    blanks = [
        f"{path.name}:{text.lineno}"
        for folder in folders
        for path in folder.rglob("*.py")
        for text in _hints(ast.parse(path.read_text(encoding="utf-8")))
        if BLANK.search(str(text.value))
    ]
    assert blanks == []


def _hints(tree: ast.AST) -> list[ast.Constant]:
    """The texts of what is handed on as ``hint``, or kept under a name for it."""
    given = [
        k.value for n in ast.walk(tree) if isinstance(n, ast.Call) for k in n.keywords if k.arg == "hint"
    ]
    kept = [
        n.value for n in ast.walk(tree) if isinstance(n, ast.Assign | ast.AnnAssign) and n.value is not None
    ]
    texts = [part for value in (*given, *kept) for part in ast.walk(value) if isinstance(part, ast.Constant)]
    return [text for text in texts if isinstance(text.value, str) and text.value.endswith((".", ";"))]
