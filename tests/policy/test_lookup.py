"""Names that exist, and names that do not."""

import pytest

from dpproxy.policy.lookup import table_column, table_policy
from dpproxy.policy.model import Policy, TablePolicy
from dpproxy.sql.cursor import Name
from dpproxy.values.errors import UndefinedColumn, UndefinedTable
from dpproxy.values.pgtypes import INT4, Schema


def test_an_undeclared_table_has_an_empty_declaration(schema: Schema):
    assert table_policy(Policy(), Name("visits"), schema) == TablePolicy("visits")


def test_a_declared_table_is_found(schema: Schema):
    declared = TablePolicy("visits", expected_rows=5)
    assert table_policy(Policy(tables={"visits": declared}), Name("visits"), schema) is declared


def test_unknown_tables_are_refused_with_the_other_case_as_a_hint(schema: Schema):
    with pytest.raises(UndefinedTable) as caught:
        table_policy(Policy(), Name("odd name", 4), schema)
    assert caught.value.position == 4
    assert '"Odd Name"' in (caught.value.hint or "")
    with pytest.raises(UndefinedTable) as caught:
        table_policy(Policy(), Name("nothing"), schema)
    assert caught.value.hint == "SHOW PRIVACY TABLES; lists those there are."
    with pytest.raises(UndefinedTable) as caught:
        table_policy(Policy(), Name("vists"), schema)
    assert caught.value.hint == "Did you mean visits?"


def test_columns(schema: Schema):
    found = table_column(Name("patients"), Name("age"), schema)
    assert found is not None
    assert found.type == INT4
    with pytest.raises(UndefinedColumn) as caught:
        table_column(Name("patients"), Name("zip", 9), schema)
    assert caught.value.position == 9
    assert '"Zip"' in (caught.value.hint or "")
    with pytest.raises(UndefinedColumn) as caught:
        table_column(Name("patients"), Name("nothing"), schema)
    assert (caught.value.hint or "").startswith("Columns of patients: ")


def test_without_a_schema_names_are_taken_as_they_are():
    assert table_policy(Policy(), Name("gone"), None) == TablePolicy("gone")
    assert table_column(Name("gone"), Name("c"), None) is None
