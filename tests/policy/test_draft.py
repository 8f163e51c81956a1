"""A draft for a whole schema: children follow their parents, and nobody becomes a unit silently."""

from dpproxy.policy import guidance
from dpproxy.policy.apply import apply
from dpproxy.policy.draft import Draft, draft, in_order, marks
from dpproxy.policy.model import Exposure, Members, Policy, Unit
from dpproxy.policy.store import change_of
from dpproxy.sql.lexer import pieces
from dpproxy.values.pgtypes import INT4, INT8, TEXT, CheckConstraint, Column, ForeignKey, Schema, UniqueKey

SHOP = Schema(
    {
        "lines": (
            Column("line_id", INT8, not_null=True),
            Column("order_id", INT8, not_null=True),
            Column("quantity", INT4),
        ),
        "orders": (
            Column("order_id", INT8, not_null=True),
            Column("customer_id", INT8, not_null=True),
            Column("state", TEXT),
        ),
        "customers": (
            Column("customer_id", INT8, not_null=True),
            Column("region", INT4),
            Column("email", TEXT),
        ),
        "regions": (Column("region", INT4, not_null=True), Column("label", TEXT)),
        "loops": (Column("id", INT8, not_null=True), Column("next", INT8)),
    },
    (
        UniqueKey("customers", ("customer_id",), primary=True),
        UniqueKey("orders", ("order_id",), primary=True),
        UniqueKey("lines", ("line_id",), primary=True),
        UniqueKey("regions", ("region",), primary=True),
        UniqueKey("loops", ("id",), primary=True),
        ForeignKey("loops", ("next",), "loops", ("id",)),
        ForeignKey("orders", ("customer_id",), "customers", ("customer_id",)),
        ForeignKey("lines", ("order_id",), "orders", ("order_id",)),
        ForeignKey("customers", ("region",), "regions", ("region",)),
        CheckConstraint("orders", "state IN ('new', 'paid')"),
    ),
    left_out={"customers": ("attributes", "tags")},
)


def applied(found: Draft, schema: Schema = SHOP) -> Policy:
    """The text, as a policy file is applied."""
    policy = Policy()
    for piece in pieces(found.text):
        policy = apply(policy, change_of(piece.text), schema)
    return policy


def test_a_child_belongs_to_whom_its_parent_belongs_to():
    policy = applied(draft(SHOP))
    assert policy.tables["customers"].unit == Unit("customer_id")
    assert policy.tables["orders"].unit == Unit("customer_id", ("customers", "customer_id"), 10)
    assert policy.tables["lines"].unit == Unit("order_id", ("orders", "order_id"), 10)
    assert policy.tables["orders"].columns["state"].domain == Members(("new", "paid"))


def test_a_table_that_leads_to_nobody_is_a_comment_as_a_whole():
    found = draft(SHOP)
    assert found.protected == ["customers", "orders", "lines"]
    assert set(applied(found).tables) == {"customers", "orders", "lines"}
    for line in found.text.splitlines():
        assert "regions SET" not in line or line.startswith("-- "), line
        assert "KEY ROW" not in line or line.startswith("-- "), line
    assert "-- ALTER TABLE regions SET PRIVACY PUBLIC;" in found.text


def test_a_list_that_a_table_with_peoples_keys_refers_to_is_no_unit():
    tables = {"wards": SHOP.tables["regions"], "stays": (Column("patient_id", INT8), Column("region", INT4))}
    keys = (
        UniqueKey("wards", ("region",), primary=True),
        ForeignKey("stays", ("region",), "wards", ("region",)),
    )
    policy = applied(draft(Schema(tables, keys)), Schema(tables, keys))
    assert {name: one.unit for name, one in policy.tables.items()} == {"stays": Unit("patient_id", None, 10)}


def test_one_table_of_nobody_known_is_to_be_confirmed():
    found = draft(Schema({"adult": (Column("age", INT4),)}))
    assert "ALTER TABLE adult SET PRIVACY KEY ROW /* confirm */;" in found.text
    assert found.marks == marks(found.text) == 3


def test_what_it_begins_with_is_what_the_guidance_says():
    policy = applied(draft(SHOP))
    ceiling, budget = policy.tables["customers"].ceiling, policy.budgets["research"]
    assert ceiling is not None
    assert (ceiling.epsilon, budget.limit, budget.user_limit) == (
        guidance.CEILING,
        guidance.BUDGET,
        guidance.USER,
    )
    assert {grant.table for grant in policy.grants} == {"customers", "orders", "lines"}


def test_what_is_not_served_is_named():
    assert "-- Not served, for their types: attributes, tags." in draft(SHOP).text


def test_a_schema_without_people_grants_nothing():
    people = {"lists": (Column("a", INT4),), "patient": ()}
    found = draft(Schema({"lists": people["lists"], "others": (Column("user_id", INT4),)}))
    assert found.protected == ["others"]
    assert applied(found, Schema({"lists": people["lists"], "others": (Column("user_id", INT4),)})).grants[
        0
    ].table == ("others")


def test_references_in_a_circle_end():
    keys = (ForeignKey("a", ("b",), "b", ("a",)), ForeignKey("b", ("a",), "a", ("b",)))
    circle = Schema({"a": (Column("b", INT8),), "b": (Column("a", INT8),)}, keys)
    assert sorted(in_order(circle)) == ["a", "b"]
    assert Exposure.PROTECTED not in [one.exposure for one in draft(circle).policy.tables.values()][1:]
