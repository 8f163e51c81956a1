"""Proposals for keys and ceilings."""

from collections.abc import Callable

import pytest

from dpproxy.policy.apply import apply
from dpproxy.policy.model import Policy
from dpproxy.policy.store import change_of
from dpproxy.policy.suggest_unit import ceiling_proposals, foreign_keys, is_unique, unit_proposals
from dpproxy.values.pgtypes import BOOL, DATE, INT8, TEXT, Column, ForeignKey, Schema, UniqueKey

TABLES = {
    "customer": ("id", "town"),
    "orders": ("o_orderkey", "o_custkey", "clerk"),
    "lineitem": ("l_orderkey", "l_partkey"),
    "part": ("p_partkey", "maker"),
    "makers": ("maker", "owner_no", "user_agent", "account_id"),
    "wards": ("ward", "head_employee"),
    "rounds": ("ward", "at"),
    "flags": ("is_member", "customer"),
    "log": ("seen", "ward"),
    "profiles": ("customer_id", "level"),
}
KEYS = (
    UniqueKey("customer", ("id",), primary=True),
    UniqueKey("orders", ("o_orderkey",), primary=True),
    UniqueKey("part", ("p_partkey",)),
    UniqueKey("part", ("maker",), primary=True),
    UniqueKey("log", ("seen", "ward"), primary=True),
    ForeignKey("orders", ("o_custkey",), "customer", ("id",)),
    ForeignKey("lineitem", ("l_partkey",), "part", ("p_partkey",)),
    ForeignKey("lineitem", ("l_orderkey",), "orders", ("o_orderkey",)),
    ForeignKey("makers", ("maker",), "makers", ("maker",)),
    ForeignKey("part", ("gone",), "makers", ("maker",)),
    ForeignKey("rounds", ("ward",), "wards", ("ward",)),
    UniqueKey("wards", ("head_employee",), primary=True),
)
NO_KEYS = {"is_member": BOOL, "at": DATE}
SCHEMA = Schema(
    {t: tuple(Column(c, NO_KEYS.get(c, INT8)) for c in columns) for t, columns in TABLES.items()}, KEYS
)


def declared(*statements: str) -> Policy:
    policy = Policy()
    for sql in statements:
        policy = apply(policy, change_of(f"ALTER TABLE {sql}"), SCHEMA)
    return policy


def first(policy: Policy, table: str, schema: Schema = SCHEMA) -> str:
    return next(unit_proposals(policy, schema, table)).statement.replace(
        f"ALTER TABLE {table} SET PRIVACY ", ""
    )


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("customer", "KEY (id);"),
        ("orders", "KEY (o_custkey) REFERENCES customer (id) MAX ROWS 10 /* fill in */;"),
        ("lineitem", "KEY (l_orderkey) REFERENCES orders (o_orderkey) MAX ROWS 10 /* fill in */;"),
        ("part", "-- KEY (maker);"),
        ("makers", "KEY (account_id) MAX ROWS 10 /* fill in */;"),
        ("wards", "-- KEY (head_employee);"),
        ("rounds", "KEY (ward) REFERENCES wards (ward) MAX ROWS 10 /* fill in */;"),
        ("flags", "KEY (customer) MAX ROWS 10 /* fill in */;"),
        ("log", "-- KEY ROW;"),
        ("profiles", "KEY (customer_id) MAX ROWS 10 /* fill in */;"),
    ],
)
def test_before_anything_is_declared(table: str, text: str):
    assert first(Policy(), table) == text


def test_what_has_a_unit_comes_first():
    part = declared("part SET PRIVACY KEY (p_partkey)")
    assert first(part, "lineitem").startswith("KEY (l_partkey) REFERENCES part (p_partkey)")
    named = declared("profiles SET PRIVACY KEY (level)")
    schema = Schema({**SCHEMA.tables, "t": (Column("level", INT8), Column("user_id", INT8))})
    assert first(named, "t", schema).startswith("KEY (level) REFERENCES profiles (level) MAX ROWS")
    unnamed = declared("customer SET PRIVACY KEY (id)")
    anywhere = Schema({**SCHEMA.tables, "t": (Column("id", INT8),)}, KEYS)
    assert first(unnamed, "t", anywhere) == "-- KEY ROW;"


def test_where_nothing_is_about_people_a_row_is_confirmed():
    alone = Schema({"answers": (Column("score", INT8),)}, (UniqueKey("answers", ("score",), primary=True),))
    assert [p.statement for p in unit_proposals(Policy(), alone, "answers")] == [
        "ALTER TABLE answers SET PRIVACY KEY (score) /* confirm */;",
        "ALTER TABLE answers SET PRIVACY KEY ROW /* confirm */;",
    ]


@pytest.mark.parametrize("exposure", ["KEY ROW", "PUBLIC"])
def test_what_has_no_key_is_not_referred_to(exposure: str):
    policy = declared(f"customer SET PRIVACY {exposure}")
    assert first(policy, "orders") == "KEY (o_custkey) MAX ROWS 10 /* fill in */;"
    owned = declared("orders SET PRIVACY KEY ROW")
    assert first(owned, "lineitem") == "-- KEY ROW;"


def test_a_reference_from_a_key_has_one_row():
    schema = Schema(SCHEMA.tables, (*KEYS, UniqueKey("orders", ("o_custkey",))))
    proposal = next(unit_proposals(declared("customer SET PRIVACY KEY (id)"), schema, "orders"))
    assert proposal.statement.endswith("REFERENCES customer (id);")
    assert "fill" not in proposal.reason
    # Of another unit, each customer may be one of several, and so may its rows.
    for policy in (Policy(), declared("customer SET PRIVACY KEY (town)")):
        assert "REFERENCES customer (id) MAX ROWS 10" in first(policy, "orders", schema)


def test_a_key_of_a_protected_table_that_refers_itself_is_found_by_its_name():
    policy = declared("orders SET PRIVACY KEY (o_custkey) REFERENCES customer (id)")
    schema = Schema({**SCHEMA.tables, "t": (Column("o_orderkey", INT8),)}, KEYS)
    assert first(policy, "t", schema).startswith("KEY (o_orderkey) REFERENCES orders (o_orderkey) MAX ROWS")


def test_what_a_person_fills_in_is_said():
    for table in TABLES:
        for proposal in unit_proposals(Policy(), SCHEMA, table):
            assert ("/* fill in */" in proposal.statement) == ("fill it in" in proposal.reason)


def test_a_ceiling_is_proposed_where_the_unit_is():
    ceiling = "ALTER TABLE customer SET PRIVACY CEILING EPSILON 4 /* fill in */;"
    owner = declared("customer SET PRIVACY KEY (id)")
    assert [one.statement for one in ceiling_proposals(owner, "customer")] == [ceiling]
    for policy, table in (
        (Policy(), "customer"),
        (declared("customer SET PRIVACY PUBLIC"), "customer"),
        (declared("customer SET PRIVACY KEY (id)", "customer SET PRIVACY CEILING EPSILON 2"), "customer"),
        (declared("orders SET PRIVACY KEY (o_custkey) REFERENCES customer (id)"), "orders"),
    ):
        assert list(ceiling_proposals(policy, table)) == []


def test_columns_that_do_not_exist_here_make_no_reference():
    assert [key.target for key in foreign_keys(SCHEMA, "lineitem")] == ["part", "orders"]
    assert foreign_keys(SCHEMA, "part") == []


def test_keys_of_several_columns_are_not_unique_by_themselves():
    assert is_unique(SCHEMA, "customer", "id")
    assert not is_unique(SCHEMA, "log", "seen")


def test_types_do_not_matter_here(applied: Callable[..., Policy]):
    schema = Schema({"t": (Column("patient_id", TEXT),), "patients": (Column("patient_id", INT8),)})
    policy = applied("ALTER TABLE patients SET PRIVACY KEY (patient_id)")
    assert "REFERENCES" in first(policy, "t", schema)
