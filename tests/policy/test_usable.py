"""Declarations that outlived their tables hide them."""

from collections.abc import Callable

from dpproxy.pgtypes import INT8, TEXT, Column, Schema
from dpproxy.policy.model import Policy
from dpproxy.policy.usable import usable


def test_dropped_and_retyped_tables_are_hidden(applied: Callable[..., Policy], schema: Schema):
    policy = applied(
        "ALTER TABLE patients SET PRIVACY KEY (patient_id)",
        "ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110",
        "ALTER TABLE regions SET PRIVACY PUBLIC",
        "ALTER TABLE lines SET PRIVACY KEY ROW",
    )
    assert usable(policy, schema) == (policy, [])
    changed = Schema({
        "patients": (Column("patient_id", INT8), Column("age", TEXT)),
        "lines": schema.tables["lines"],
    })  # fmt: skip
    left, lines = usable(policy, changed)
    assert set(left.tables) == {"lines"}
    assert lines == [
        'table "patients" stays hidden: column "age" is of type text, the constant is a number',
        'table "regions" stays hidden: table "regions" does not exist',
    ]
