"""Declarations that outlived their tables hide them."""

from collections.abc import Callable

from msgspec.structs import replace

from dpproxy.policy.model import Between, ColumnClass, ColumnPolicy, Policy, References
from dpproxy.policy.usable import usable
from dpproxy.values.pgtypes import INT8, TEXT, Column, Schema


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


PUBLIC = "ALTER TABLE regions SET PRIVACY PUBLIC"
SEX = "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN REFERENCES regions (region)"
PAIRS = "ALTER TABLE patients SET PRIVACY DOMAIN (sex, age) REFERENCES regions (region, size)"
OTHER = 'ALTER TABLE patients SET PRIVACY DOMAIN ("Zip", age) REFERENCES regions (region, size)'
REFERENCE = ColumnPolicy(References("regions", "region"))
SIZE = ColumnPolicy(References("regions", "size"))


def test_a_domain_is_hidden_once_its_table_is_not_public(applied: Callable[..., Policy], schema: Schema):
    age = "ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110"
    policy = applied("ALTER TABLE patients SET PRIVACY KEY (patient_id)", PUBLIC, SEX, age)
    assert usable(policy, schema) == (policy, [])
    for change in ("HIDDEN", "KEY (region)"):
        left, lines = usable(applied(f"ALTER TABLE regions SET PRIVACY {change}", to=policy), schema)
        reason = 'table "regions" is not public: keys come from public tables only'
        assert lines == [f'column "sex" of table "patients" stays hidden: {reason}']
        assert left.tables["patients"].unit is not None
        assert left.tables["patients"].columns == {
            "sex": ColumnPolicy(),
            "age": ColumnPolicy(Between(0, 110)),
        }


def test_a_domain_is_hidden_once_its_table_has_changed(applied: Callable[..., Policy], schema: Schema):
    policy = applied("ALTER TABLE patients SET PRIVACY KEY (patient_id)", PUBLIC, SEX, PAIRS)
    changed = Schema({**schema.tables, "regions": (Column("region", INT8), Column("size", INT8))})
    left, lines = usable(policy, changed)
    assert left.tables["patients"].columns == {"sex": ColumnPolicy()}
    assert left.tables["patients"].composites == ()
    assert lines[0].startswith('column "sex" of table "patients" stays hidden: column "sex" is of type text')
    assert lines[1].startswith('the key set of "sex", "age" of table "patients" is not used: column "sex"')


def test_a_key_set_gives_its_columns_their_domains(applied: Callable[..., Policy], schema: Schema):
    left, lines = usable(applied(PUBLIC, PAIRS, OTHER), schema)
    assert left.tables["patients"].columns == {"sex": REFERENCE, "age": SIZE, "Zip": REFERENCE}
    assert len(left.tables["patients"].composites) == 2
    assert lines == []


def test_a_column_keeps_the_domain_and_the_class_of_its_own(applied: Callable[..., Policy], schema: Schema):
    policy = applied(
        PUBLIC,
        PAIRS,
        "ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 9",
        "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY CLASS SENSITIVE",
    )
    assert usable(policy, schema)[0].tables["patients"].columns == {
        "age": ColumnPolicy(Between(0, 9)),
        "sex": ColumnPolicy(References("regions", "region"), ColumnClass.SENSITIVE),
    }


def test_a_hidden_column_hides_its_key_sets(applied: Callable[..., Policy], schema: Schema):
    policy = applied(PUBLIC, PAIRS, OTHER, "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY HIDDEN")
    left, lines = usable(policy, schema)
    assert [one.columns for one in left.tables["patients"].composites] == [("Zip", "age")]
    assert left.tables["patients"].columns == {"sex": ColumnPolicy(), "age": SIZE, "Zip": REFERENCE}
    assert lines == ['the key set of "sex", "age" of table "patients" is not used: column "sex" is hidden']


def test_a_chain_is_hidden_where_its_types_differ_whatever_was_declared_first(
    applied: Callable[..., Policy], schema: Schema
):
    statements = [
        "ALTER TABLE lines SET PRIVACY KEY (visit_id) REFERENCES visits (visit_id) MAX ROWS 9",
        "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id) MAX ROWS 3",
    ]
    visits = tuple(replace(c, type=TEXT) if c.name == "visit_id" else c for c in schema.tables["visits"])
    changed = Schema({**schema.tables, "visits": visits})
    for order in (statements, statements[::-1]):
        assert usable(applied(*order), schema)[1] == []
        left, lines = usable(applied(*order), changed)
        assert set(left.tables) == {"visits"}
        assert lines[0].startswith('table "lines" stays hidden: the key "visit_id" is of type int8')
