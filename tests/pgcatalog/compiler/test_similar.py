"""Patterns of SIMILAR TO over texts, as a real PostgreSQL matches them."""

import psycopg
import pytest

from dpproxy.values.errors import Unsupported
from tests.pgcatalog.conftest import Ask
from tests.postgres import Server

TEXTS = (
    "",
    "a",
    "ab",
    "abc",
    "aa",
    "aaa",
    "b",
    "c",
    "bc",
    "a.c",
    "a^c",
    "^a",
    "a$",
    "a\\c",
    "\\",
    "%",
    "_",
    "a\\b",
    "pg_x",
    "pgax",
    "information_schema",
    "-",
    ".",
    "]",
    "[",
    "^",
    "/",
    "a b",
    "a,b",
    "a-b",
    "a&b#c~d",
    "é",
    "éa",
    "aé",
    "a}",
    "a{",
    "'",
    "*",
    "(",
    "|",
    "x",
    "xy",
    "xyz",
    "abab",
    "aac",
    "a\nb",
    "a\n",
    "\n",
    "1",
    "ab1",
    "Z1",
    "%_#",
    "%_/",
    "a%",
    '"a"',
)
PATTERNS = (
    ("pg/_%|information/_schema", "/"),
    ("a%", "\\"),
    ("%", "\\"),
    ("_", "\\"),
    ("_%", "\\"),
    ("a.c", "\\"),
    ("a^c", "\\"),
    ("a$", "\\"),
    ("^a", "\\"),
    ("a\\.c", "\\"),
    ("a*", "\\"),
    ("a+", "\\"),
    ("a?b", "\\"),
    ("a{2}", "\\"),
    ("a{2,}", "\\"),
    ("a{2,3}", "\\"),
    ("a{0}", "\\"),
    ("a|bc", "\\"),
    ("(a|b)*c", "\\"),
    ("(ab)+", "\\"),
    ("()", "\\"),
    ("()*a", "\\"),
    ("a|", "\\"),
    ("|a", "\\"),
    ("", "\\"),
    ("[abc]", "\\"),
    ("[^abc]", "\\"),
    ("[a-c]+", "\\"),
    ("[a\\-c]", "\\"),
    ("[-a]", "\\"),
    ("[a-]", "\\"),
    ("[[:alpha:]]+", "\\"),
    ("[^[:digit:]]", "\\"),
    ("[.]", "\\"),
    ("[%_]", "\\"),
    ("[(|)*]", "\\"),
    ("[\\]a]", "\\"),
    ("[\\\\]", "\\"),
    ("[/]]", "/"),
    ("[a/-c]", "/"),
    ("[^/^]", "/"),
    ("[\\]", "/"),
    ("\\.", "\\"),
    ("\\%", "\\"),
    ("\\_", "\\"),
    ("a\\", "\\"),
    ("/%/_//", "/"),
    ("a\\b", "/"),
    ("a}", "\\"),
    ("a%%b", "\\"),
    ("_{2}", "\\"),
    ("(a|b){2}", "\\"),
    ("é%", "\\"),
    ("_é", "\\"),
    ("a b", "\\"),
    ("a,b", "\\"),
    ("a-b", "\\"),
    ("a&b#c~d", "\\"),
    ("#%#_##", "#"),
    ("##", "#"),
    ("%%", "%"),
    ("a^%", "^"),
    ("a[[b]", "["),
    ("'", "\\"),
    ("[^a]", "\\"),
    ("a.%", "!"),
    (".*", "\\"),
    ("x(y|z)?%", "\\"),
    ("((a))", "\\"),
    ("(a)(b)", "\\"),
    ("a|b|c", "\\"),
    ("(|a)b", "\\"),
    ("(a|)b", "\\"),
    ("(%)*", "\\"),
    ("(a*)*", "\\"),
    ("(a*)+b", "\\"),
    ("[a-z]{2}[0-9]", "\\"),
    ("[A-Z]%", "\\"),
    ("[^-a]", "\\"),
    ("[a^]", "\\"),
    ("[*+?{}]", "\\"),
    ("[ -~]+", "\\"),
)
"""Each with its escape character."""
REFUSED = (
    "a{3,2}",
    "a{256}",
    "(a{20}){20}",
    "*a",
    "a**",
    "a*?",
    "a+*",
    "(a",
    "a)",
    "(?:a)",
    "(*a)",
    "[c-a]",
    "[a-c-e]",
    "[]a]",
    "[^]",
    "[]",
    "[[:alpha:]_]",
    "[a[:digit:]]",
    "\\d",
    '\\"a\\"',
    "a{",
    "a{,2}",
    "{",
    "a{x}",
    "%*",
)


def written(text: str) -> str:
    return "E'" + text.replace("\\", "\\\\").replace("'", "''").replace("\n", "\\n") + "'"


ROWS = ", ".join(f"({number}, {written(text)})" for number, text in enumerate(TEXTS))


def test_the_same_texts_match(ask: Ask, postgres: Server):
    wrong = list[object]()
    with psycopg.connect(postgres.url()) as connection:
        for pattern, escape in PATTERNS:
            condition = f"x SIMILAR TO {written(pattern)} ESCAPE '{escape}'"
            negated = condition.replace("SIMILAR", "NOT SIMILAR", 1)
            sql = f"SELECT n, {condition} AS y, {negated} AS z FROM (VALUES {ROWS}) AS v(n, x) ORDER BY n"
            if (mine := ask(sql)) != (real := connection.execute(sql.encode()).fetchall()):
                wrong.append((pattern, [pair for pair in zip(mine, real, strict=True) if pair[0] != pair[1]]))
    assert wrong == []


def test_a_backslash_escapes_where_nothing_else_does(ask: Ask):
    assert ask(
        "SELECT 'a%' SIMILAR TO 'a\\%', 'ab' SIMILAR TO 'a\\%', 'a\\b' SIMILAR TO 'a\\b' ESCAPE ''"
    ) == [(True, False, True)]


@pytest.mark.parametrize("pattern", REFUSED)
def test_patterns_that_are_refused(ask: Ask, pattern: str):
    with pytest.raises(Unsupported, match=r"SIMILAR TO with .* is not supported here") as caught:
        ask(f"SELECT relname FROM pg_class WHERE relname SIMILAR TO {written(pattern)}")
    assert caught.value.hint == "use the operator ~ with a regular expression"
    assert caught.value.position == 35


@pytest.mark.parametrize("pattern", ["relname", "'a' || 'b'", "NULL", "'a' ESCAPE NULL", "lower('a')"])
def test_a_pattern_is_constant(ask: Ask, pattern: str):
    with pytest.raises(Unsupported, match="SIMILAR TO with a pattern that is not constant") as caught:
        ask(f"SELECT relname FROM pg_class WHERE relname SIMILAR TO {pattern}")
    assert caught.value.hint == "write the pattern and its ESCAPE as literals"


def test_an_escape_is_one_character(ask: Ask):
    with pytest.raises(Unsupported, match="an escape of more than one character"):
        ask("SELECT 'a' SIMILAR TO 'a' ESCAPE 'xy'")


def test_pygresql_leaves_the_catalogue_out(ask: Ask):
    assert ask(
        "SELECT r.relname FROM pg_catalog.pg_class AS r JOIN pg_catalog.pg_namespace AS s "
        "ON s.oid OPERATOR(pg_catalog.=) r.relnamespace WHERE s.nspname NOT SIMILAR TO "
        "'pg/_%|information/_schema' ESCAPE '/' AND r.relkind IN ('r', 'v') AND s.nspname = 'public' ORDER BY 1"
    ) == [("Odd visits",), ("patients",)]
