"""What a refusal says about the place where reading stopped."""

import pytest

from dpproxy.sql.cursor import Cursor, Name
from dpproxy.sql.quoting import RESERVED
from dpproxy.values.errors import SyntaxRefused, UndefinedTable, Unsupported


def test_words_are_read_in_sequence_or_not_at_all():
    cursor = Cursor("MAX ROWS 3")
    assert not cursor.accept("max", "groups")
    assert cursor.accept("max", "rows")
    assert cursor.before.text == "rows"
    assert cursor.token.text == "3"


def test_a_quoted_word_is_no_keyword():
    assert not Cursor('"max"').accept("max")


def test_what_was_tried_in_vain_is_expected():
    cursor = Cursor("MIX 3")
    cursor.accept("max")
    cursor.accept(",")
    with pytest.raises(SyntaxRefused) as caught:
        cursor.end("the beginning")
    assert (
        caught.value.message
        == 'expected MAX, "," or the end of the statement after the beginning, found "mix"'
    )
    assert caught.value.hint == "Did you mean MAX?"
    assert caught.value.position == 0


def test_reading_on_forgets_what_was_tried():
    cursor = Cursor("a b")
    cursor.accept("max")
    cursor.take()
    with pytest.raises(SyntaxRefused, match=r"^expected the end of the statement after A"):
        cursor.end("A")


def test_the_end_is_never_passed():
    cursor = Cursor("a")
    assert [cursor.take().text, cursor.take().text, cursor.take().text] == ["a", "", ""]


def test_choices_that_are_not_there_yet_are_not_offered():
    with pytest.raises(SyntaxRefused) as caught:
        Cursor("x").choose({"now": 1, "later": 2}, "SET", frozenset({"later"}))
    assert caught.value.message == 'expected NOW after SET, found "x"'
    assert Cursor("later").choose({"now": 1, "later": 2}, "SET", frozenset({"later"})) == 2


def test_the_content_of_a_literal_is_not_repeated():
    with pytest.raises(SyntaxRefused) as caught:
        Cursor("'Smith'").choose({"now": 1}, "SET")
    assert "Smith" not in f"{caught.value.message} {caught.value.hint}"


def test_reserved_words_are_names_only_in_quotes():
    assert Cursor('"select"').name("table", "ON") == Name("select")
    with pytest.raises(SyntaxRefused, match="expected the table's name after ON") as caught:
        Cursor("SELECT").name("table", "ON")
    assert "double quotes" in (caught.value.hint or "")
    assert "key" not in RESERVED


def test_the_schema_public_may_stand_before_a_table():
    assert Cursor("public.visits").table("ON") == Name("visits")
    assert Cursor('"public"."Visits"').table("ON") == Name("Visits")


def test_another_schema_is_part_of_the_name():
    assert Cursor("clinic.visits").table("ON") == Name("clinic.visits")
    assert Cursor('"Public".visits').table("ON") == Name("Public.visits")


def test_a_protected_view_is_in_the_schema_public():
    assert Cursor('public."a.b"').view("VIEW") == Cursor('"a.b"').view("VIEW") == Name("a.b")
    with pytest.raises(UndefinedTable, match="no such schema") as caught:
        Cursor("clinic.visits").view("VIEW")
    assert caught.value.position == 0


def test_a_list_ends_where_no_comma_follows():
    cursor = Cursor("a, b c")
    names = cursor.comma_list(lambda after: cursor.name("role", after), "TO")
    assert [name.text for name in names] == ["a", "b"]
    assert cursor.token.text == "c"


def test_unsupported_names_the_construct_and_its_place():
    cursor = Cursor("GRANT EXACT")
    cursor.take()
    with pytest.raises(Unsupported, match="EXACT is not supported yet") as caught:
        cursor.unsupported("EXACT")
    assert caught.value.position == 6
