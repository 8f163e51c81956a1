"""Statements of administrators beside a search path."""

from typing import get_type_hints

import pytest
from msgspec import Struct

from dpproxy.policy import cubes, statements
from dpproxy.policy.parser import parse
from dpproxy.policy.search_path import FIELDS, check_bare
from dpproxy.sql.cursor import Name
from dpproxy.values.errors import InvalidParameter
from dpproxy.values.pgtypes import INT8, Column, Schema

COLUMNS = (Column("id", INT8),)
SCHEMA = Schema(
    {"visits": COLUMNS, "beds": COLUMNS, "clinic.visits": COLUMNS, "clinic.patients": COLUMNS},
    places={"clinic.visits": ("clinic", "visits"), "clinic.patients": ("clinic", "patients")},
)


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE visits SET PRIVACY PUBLIC",
        "ALTER TABLE beds SET PRIVACY KEY (id) REFERENCES visits (id)",
        "ALTER TABLE beds ALTER COLUMN id SET PRIVACY DOMAIN REFERENCES visits (id)",
        "GRANT SELECT ON beds, visits TO a WITH PRIVACY BUDGET b",
        "REVOKE SELECT ON visits FROM a",
        "SUGGEST PRIVACY FOR visits",
        "SHOW PRIVACY POLICY FOR visits",
    ],
)
def test_a_bare_name_that_the_path_finds_in_another_schema_is_refused(sql: str):
    path: tuple[str, ...]
    for path in (("clinic", "public"), ("nowhere", "clinic")):
        with pytest.raises(InvalidParameter) as refused:
            check_bare(parse(sql), sql, path, SCHEMA)
        assert refused.value.hint == "Write clinic.visits or public.visits."
        assert refused.value.position == sql.index("visits")
    for path in (("public", "clinic"), ("nowhere",), ()):
        check_bare(parse(sql), sql, path, SCHEMA)
    for schema in ("public", "clinic"):
        written = sql.replace("visits", f"{schema} . visits")
        check_bare(parse(written), written, ("clinic", "public"), SCHEMA)


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE beds ALTER COLUMN visits SET PRIVACY DOMAIN BETWEEN 0 AND 1",
        "ALTER TABLE patients SET PRIVACY PUBLIC",
        "CREATE PRIVACY BUDGET visits LIMIT EPSILON 1",
    ],
)
def test_other_names_are_no_tables_of_two_schemas(sql: str):
    """A table that is in another schema alone is not found, and the hint of that names it."""
    check_bare(parse(sql), sql, ("clinic", "public"), SCHEMA)


def test_no_field_that_names_something_is_forgotten():
    """All others name columns, and what is in no schema."""
    others = {
        *("key", "column", "columns", "code", "parent"),
        *("name", "names", "roles", "budget", "user", "taxonomy"),
    }
    classes = [c for module in (statements, cubes) for c in vars(module).values() if isinstance(c, type)]
    found = {
        field
        for one in classes
        if issubclass(one, Struct)
        for field, kind in get_type_hints(one).items()
        if Name.__qualname__ in str(kind) and Name.__module__ in str(kind)
    }
    assert found - others == set(FIELDS)
