"""Proposals for domains."""

import pytest

from dpproxy.policy.apply import apply
from dpproxy.policy.model import Policy
from dpproxy.policy.store import change_of
from dpproxy.policy.suggest_column import column_proposals
from dpproxy.values.pgtypes import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT8,
    INT2,
    INT4,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    Check,
    Column,
    Constraint,
    ForeignKey,
    Schema,
    SqlType,
    UniqueKey,
)

OTHER = (Column("code", TEXT),)


def texts(name: str, kind: SqlType, *constraints: Constraint, public: bool = False) -> list[str]:
    schema = Schema({"t": (Column(name, kind),), "codes": OTHER}, constraints)
    policy = Policy()
    if public:
        policy = apply(policy, change_of("ALTER TABLE codes SET PRIVACY PUBLIC"), schema)
    found = list(column_proposals(policy, schema, "t", schema.tables["t"][0]))
    for one in found:
        assert one.reason
        assert ("/* fill in */" in one.statement) == ("fill" in one.reason) == (one.unbounded == name)
    prefix = f"ALTER TABLE t ALTER COLUMN {name} SET PRIVACY "
    return [one.statement.removeprefix(prefix) for one in found]


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("smokes", BOOL, "DOMAIN IN (TRUE, FALSE);"),
        ("town", TEXT, "DOMAIN DISCOVERED;"),
        ("last_name", TEXT, "CLASS IDENTIFIER;"),
        ("note", TEXT, "HIDDEN;"),
        ("visit_id", INT4, "CLASS IDENTIFIER;"),
        ("age_in_years", INT2, "DOMAIN BETWEEN 0 AND 120 /* fill in */;"),
        ("rooms", INT4, "DOMAIN BETWEEN 0 AND 1000 /* fill in */;"),
        ("lat", FLOAT8, "DOMAIN BETWEEN -90 AND 90 /* fill in */;"),
        ("rate", NUMERIC, "DOMAIN BETWEEN 0 AND 1000 /* fill in */;"),
        ("rate", NUMERIC.with_precision(4, 2), "DOMAIN BETWEEN 0 AND 99.99 /* fill in */;"),
        ("lat", NUMERIC.with_precision(2, 1), "DOMAIN BETWEEN -9.9 AND 9.9 /* fill in */;"),
        ("born", DATE, "DOMAIN BETWEEN '1900-01-01' AND '2099-12-31' /* fill in */;"),
        ("seen", TIMESTAMPTZ, "DOMAIN BETWEEN '1900-01-01' AND '2099-12-31' /* fill in */;"),
        ("seen", TIMESTAMP, "DOMAIN BETWEEN '1900-01-01' AND '2099-12-31' /* fill in */;"),
        ("photo", BYTEA, "HIDDEN;"),
    ],
)
def test_by_type_and_name(name: str, kind: SqlType, text: str):
    assert texts(name, kind)[0] == text
    assert texts(name, kind)[-1] == "HIDDEN;"


def test_every_placeholder_applies():
    kinds = [
        INT2,
        INT4,
        FLOAT8,
        NUMERIC,
        NUMERIC.with_precision(1, 1),
        DATE,
        TIMESTAMP,
        TIMESTAMPTZ,
        BOOL,
        TEXT,
    ]
    for kind in kinds:
        schema = Schema({"t": (Column("lat", kind),)})
        proposal = next(column_proposals(Policy(), schema, "t", schema.tables["t"][0]))
        assert apply(Policy(), change_of(proposal.statement), schema).tables["t"].columns["lat"].domain


def test_what_a_check_says_comes_before_the_type():
    assert texts("age", INT4, Check("t", "(age BETWEEN 16 AND 99)"))[0] == "DOMAIN BETWEEN 16 AND 99;"
    assert texts("age", INT4, Check("u", "(age BETWEEN 16 AND 99)"))[0].startswith("DOMAIN BETWEEN 0 AND 120")
    assert texts("age", INT4, Check("t", "(age >= 16)"))[0] == "DOMAIN BETWEEN 16 AND 120 /* fill in */;"
    assert texts("age", INT4, Check("t", "(age < 90)"))[0] == "DOMAIN BETWEEN 0 AND 90 /* fill in */;"
    assert texts("sex", TEXT, Check("t", "(sex IN ('f', 'm', 'f'))"))[0] == "DOMAIN IN ('f', 'm');"


def test_a_foreign_key_is_a_reference_where_the_table_is_public():
    key = ForeignKey("t", ("code",), "codes", ("code",))
    assert texts("code", TEXT, key, public=True)[0] == "DOMAIN REFERENCES codes (code);"
    assert texts("code", TEXT, key)[0] == "HIDDEN;"
    assert (
        texts("other", TEXT, ForeignKey("t", ("b",), "codes", ("code",)), public=True)[0]
        == "DOMAIN DISCOVERED;"
    )


def test_keys_stay_hidden():
    assert texts("town", TEXT, UniqueKey("t", ("town",)))[0] == "CLASS IDENTIFIER;"
    assert texts("town", TEXT, UniqueKey("t", ("town", "b")))[0] == "DOMAIN DISCOVERED;"
