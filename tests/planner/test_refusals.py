import pytest
import sqlglot
from sqlglot import exp

from dpproxy.planner.refusals import (
    GENERAL,
    HINTS,
    refuse_clause,
    refuse_node,
    refuse_statement,
    similar,
    unknown_column,
    unknown_function,
)
from dpproxy.values.errors import Unsupported
from tests.golden.world import World, plan_any


def test_the_nearest_name_is_offered():
    assert similar("ctiy", ["city", "age"]) == "city"
    assert similar("xyz", ["city", "age"]) is None


def test_an_unknown_column_names_the_declared_ones():
    refusal = unknown_column(exp.column("agee"), "T", ["age", "City"])
    assert refusal.hint == 'Did you mean age? Columns of "T": age, "City".'
    assert unknown_column(exp.column("x"), "t", []).hint == "Columns of t: none are declared."
    quoted = unknown_column(exp.column("it's paid", quoted=True), "t", ["status"]).hint
    assert quoted == "A text stands in single quotes: 'it''s paid'. Columns of t: status."


def test_an_unknown_function_gets_a_near_name_or_the_list():
    assert unknown_function(exp.Anonymous(this="cuont")).hint == "Did you mean count()?"
    assert str(unknown_function(exp.Anonymous(this="zzz")).hint).startswith("Functions: count, sum, avg")


def test_statements_are_called_by_their_words():
    truncate = refuse_statement(sqlglot.parse_one("TRUNCATE t", read="postgres"))
    assert truncate.message == "TRUNCATE TABLE statements are not answered"
    assert refuse_statement(exp.column("summarize")).message == "only SELECT statements are answered"


def test_constructs_are_called_by_their_words():
    assert refuse_node(exp.GroupingSets()).message == "GROUPING SETS is not supported"
    assert refuse_node(exp.Median(this=exp.column("x"))).message == "median() is not supported"
    join = exp.Join(this=exp.to_table("b"))
    refusal = refuse_clause(exp.Select(), "joins", [join])
    assert (refusal.message, refusal.hint) == ("JOIN is not supported", None)
    assert (
        refuse_clause(exp.Select(), "new_clause_", "x").message == "SELECT with new clause is not supported"
    )


def test_every_hint_is_a_sentence():
    assert all(hint[0].isupper() and hint[-1] == "." for hint in HINTS.values())


def test_what_is_said_where_nothing_better_is_known_has_no_holes():
    """A statement with places to fill in is none: a sentence says why there is no other."""
    assert [hint for hint in GENERAL.values() if "<" in hint or "..." in hint] == []


def test_constructs_have_the_names_that_they_are_typed_with(world: World):
    for written, name in (
        ("city = x'12'", "X'...'"),
        ("city = b'101'", "B'...'"),
        ("decode(city, 'Oslo', 1) = 1", "decode()"),
    ):
        with pytest.raises(Unsupported) as caught:
            plan_any(world, f"SELECT count(*) FROM people WHERE {written}")
        assert name in caught.value.message
    with pytest.raises(Unsupported) as caught:
        plan_any(world, "SELECT * FROM people AS p(a int, b text)")
    assert "columns with types" in caught.value.message
