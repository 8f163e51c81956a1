"""Names of the fields of JSON documents, and the columns that they are."""

import pytest

from dpproxy.policy.apply import apply
from dpproxy.policy.documents import JsonField, columns_of, field_of
from dpproxy.policy.dump import dump
from dpproxy.policy.model import Policy, TablePolicy
from dpproxy.policy.parser import parse
from dpproxy.policy.statements import SetMembers
from dpproxy.policy.store import change_of
from dpproxy.values.errors import InvalidParameter, Refusal, SyntaxRefused, Unsupported
from dpproxy.values.pgtypes import BOOL, FLOAT8, INT4, JSON, TEXT, Column, Schema

SCHEMA = Schema(
    {
        "t": (Column("id", INT4), Column("j", JSON), Column("x", TEXT)),
        "named": (Column("id", INT4), Column("note ->> 'a'", TEXT)),
    },
    documents={"t": ("left", "Odd")},
)


def named(text: str) -> str:
    statement = parse(f"ALTER TABLE t ALTER COLUMN {text} SET PRIVACY DOMAIN IN ('x')")
    assert isinstance(statement, SetMembers)
    return statement.column.text


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("(j ->> 'a')", "j ->> 'a'"),
        ("((j)->>'a')", "j ->> 'a'"),
        ("(j -> 'a' ->> 'b')", "j #>> '{a,b}'"),
        ("((j -> 'a') ->> 'b')", "j #>> '{a,b}'"),
        ("(j #>> '{a, b}')", "j #>> '{a,b}'"),
        ("(j #> '{a,b}' ->> 'c d')", "j #>> '{a,b,c d}'"),
        ("(j #>> '{a}')", "j ->> 'a'"),
        ("((j ->> 'a')::int)", "(j ->> 'a')::integer"),
        ("((j ->> 'a')::double precision)", "(j ->> 'a')::double precision"),
        ("(\"Odd\" ->> 'A')", "\"Odd\" ->> 'A'"),
        ("\"j ->> 'a'\"", "j ->> 'a'"),
    ],
)
def test_every_spelling_is_one_name(written: str, name: str):
    assert named(written) == name
    found = field_of(name)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize(
    ("written", "error"),
    [
        ("(j -> 'a')", Unsupported),
        ("(j)", Unsupported),
        ("(j ->> '1')", Unsupported),
        ("(j ->> '-1')", Unsupported),
        ("(j #>> '{a,0}')", Unsupported),
        ("(j ->> '')", Unsupported),
        ("(j ->> 'it''s')", Unsupported),
        ("(j ->> 'a*')", Unsupported),
        ("(j ->> '" + "a" * 60 + "')", Unsupported),
        ("((j ->> 'a')::date)", Unsupported),
        ("(j ->> 1)", SyntaxRefused),
        ("(j ->> 'a'", SyntaxRefused),
        ("(j ->> 'a' || 'b')", SyntaxRefused),
    ],
)
def test_what_has_no_name_is_refused(written: str, error: type[Refusal]):
    with pytest.raises(error):
        named(written)


@pytest.mark.parametrize(
    "name", ["j", "j ->> a", "j ->> '1'", "j #>> '{a}'", "(j ->> 'a')", "(j ->> 'a')::date", "->>"]
)
def test_other_names_are_no_fields(name: str):
    found = field_of(name)
    assert found is None or found.name != name


def declared(*statements: str) -> Policy:
    policy = Policy()
    for sql in ("ALTER TABLE t SET PRIVACY KEY (id)", *statements):
        policy = apply(policy, change_of(sql), SCHEMA)
    return policy


def test_a_field_with_a_domain_is_a_column():
    policy = declared(
        "ALTER TABLE t ALTER COLUMN (j ->> 'a') SET PRIVACY DOMAIN IN ('x')",
        "ALTER TABLE t ALTER COLUMN ((\"Odd\" ->> 'b')::numeric) SET PRIVACY DOMAIN BETWEEN 0 AND 1",
        "ALTER TABLE t ALTER COLUMN ((j ->> 'b')::bool) SET PRIVACY DOMAIN IN (true)",
        "ALTER TABLE t ALTER COLUMN (j ->> 'hidden') SET PRIVACY HIDDEN",
    )
    assert columns_of(policy.tables["t"], SCHEMA)[3:] == (
        Column("(\"Odd\" ->> 'b')::numeric", FLOAT8),
        Column("(j ->> 'b')::boolean", BOOL),
        Column("j ->> 'a'", TEXT),
    )
    assert declared(*dump(policy)) == policy
    assert columns_of(TablePolicy("t"), SCHEMA) == SCHEMA.tables["t"]


@pytest.mark.parametrize("field", ["x ->> 'a'", "no ->> 'a'", "j ->> 'A'"])
def test_a_field_of_no_document_is_refused_and_one_that_differs_in_case(field: str):
    first = "ALTER TABLE t ALTER COLUMN (j ->> 'a') SET PRIVACY DOMAIN IN ('x')"
    with pytest.raises(InvalidParameter) as refused:
        declared(first, f"ALTER TABLE t ALTER COLUMN ({field}) SET PRIVACY DOMAIN IN ('x')")
    assert refused.value.position == 28


def test_a_stored_column_that_is_called_as_a_field_is_none():
    with pytest.raises(InvalidParameter, match="has a name that reads a field"):
        apply(
            Policy(),
            change_of("ALTER TABLE named ALTER COLUMN \"note ->> 'a'\" SET PRIVACY DOMAIN IN ('x')"),
            SCHEMA,
        )


def test_long_names_are_none():
    assert not JsonField("j", ("a" * 56,)).is_named
    assert JsonField("j", ("a" * 55,)).is_named
