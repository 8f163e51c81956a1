"""Which views can be used, what they show, and whose names they see."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from dpproxy.algebra.plan import Caller
from dpproxy.config.settings import DEFAULTS
from dpproxy.planner.access import Context
from dpproxy.planner.query import view_columns
from dpproxy.planner.views import DEEPEST_VIEW, Readable, find_view, read_views, uses
from dpproxy.values.errors import NotGranted, Refusal, UndefinedTable
from dpproxy.values.pgtypes import Column, Schema, View
from tests.golden.world import ANALYST, World, build, plan_of
from tests.planner.conftest import HEADER
from tests.planner.test_access import named

VIEWS = (
    "CREATE VIEW old AS SELECT * FROM people WHERE AGE > 60",
    "CREATE VIEW towns AS SELECT o.city, c.size FROM old AS o JOIN cities AS c ON o.city = c.city",
    "CREATE VIEW sizes AS SELECT size FROM cities",
    "CREATE VIEW broken AS SELECT age // 2 AS half FROM people",
    "CREATE VIEW around AS SELECT half FROM broken",
)


@pytest.fixture(scope="module")
def viewed() -> World:
    return build((*HEADER, *VIEWS))


def context(world: World, caller: Caller = ANALYST) -> Context:
    return Context(world.policy, world.schema, caller, DEFAULTS, facts=world.facts)


def flaws(**texts: str) -> Iterator[str | None]:
    schema = Schema(
        {"t": (), "Mixed": ()}, (), {n: View(f"CREATE VIEW {n} AS {t}", ()) for n, t in texts.items()}
    )
    return (view.flaw for view in read_views(schema).views.values())


def test_views_are_read_with_what_they_read(viewed: World):
    views = viewed.schema.views
    assert {n: v.reads for n, v in views.items() if v.flaw is None} == {
        "old": ("people",),
        "sizes": ("cities",),
        "towns": ("old", "cities"),
    }
    assert views["broken"].flaw == "INT DIV is not supported"
    assert views["around"].flaw == 'view "broken": INT DIV is not supported'
    assert viewed.schema.bases("towns") == ("people", "cities")


def test_a_view_in_itself_or_too_deep_is_not_used():
    both = list(flaws(a="SELECT x FROM b", b="SELECT x FROM a"))
    assert both == ['view "b": it stands in itself', "it stands in itself"]
    assert list(flaws(a="SELECT x FROM a")) == ["it stands in itself"]
    names = [f"v{n}" for n in range(DEEPEST_VIEW + 1)]
    chain = {name: f"SELECT x FROM {below}" for name, below in zip(names, ["t", *names], strict=False)}
    found = list(flaws(**chain))
    assert found == [None] * DEEPEST_VIEW + ["its views stand too deep in each other"]
    assert list(flaws(**dict(reversed(chain.items())))) == found[::-1]


def test_what_a_view_reads_is_there():
    assert list(flaws(a="SELECT x FROM nothing", b="SELECT x FROM mixed, T")) == [
        'relation "nothing" does not exist',
        None,
    ]


def test_names_that_differ_in_case_alone_are_not_guessed():
    schema = Schema(
        {"t": (), "T ": (), "u": (), "U": ()}, (), {"v": View("CREATE VIEW v AS SELECT x FROM u", ())}
    )
    assert read_views(schema).views["v"].flaw == 'several names differ from "u" in case alone'


def test_a_view_is_found_by_those_it_is_granted_to(viewed: World):
    nobody, root = replace(ANALYST, roles=frozenset()), Caller("root", frozenset({"admin"}), "s")
    for name in ("old", "public.old AS o", "main.old"):
        assert isinstance(find_view(named(name), context(viewed), inside=False), Readable)
    assert find_view(named("people"), context(viewed), inside=False) is None
    assert find_view(named("other.old"), context(viewed), inside=False) is None
    assert find_view(named("old"), context(viewed, nobody), inside=True) is not None
    for name, caller in (("old", nobody), ("broken", ANALYST), ("broken", root)):
        with pytest.raises(UndefinedTable) as error:
            find_view(named(name), context(viewed, caller), inside=False)
        assert (error.value.message, error.value.position) == (f'relation "{name}" does not exist', 21)
    with pytest.raises(NotGranted):
        find_view(named("old"), context(viewed, root), inside=False)


def test_the_tables_behind_a_view_need_no_grant_and_its_own_pays(viewed: World):
    grants = tuple(g for g in viewed.policy.grants if g.table in viewed.schema.views)
    where = replace(viewed, policy=replace(viewed.policy, grants=grants))
    plan = plan_of(where, "SELECT size, count(*) FROM towns GROUP BY size")
    assert (plan.payer.ceiling, plan.payer.budget) == ("people", "lab")
    with pytest.raises(UndefinedTable):
        plan_of(where, "SELECT count(*) FROM people")
    assert [(u.granted, u.table) for u in uses(named("towns"), context(where))] == [("towns", "people")]
    assert uses(named("sizes"), context(where)) == []


def test_one_budget_pays_for_tables_and_views(viewed: World):
    spare = replace(viewed.policy.budgets["lab"], name="spare")
    grants = tuple(replace(g, budget="spare") if g.table == "old" else g for g in viewed.policy.grants)
    policy = replace(viewed.policy, budgets={**viewed.policy.budgets, "spare": spare}, grants=grants)
    where = replace(viewed, policy=policy)
    assert plan_of(where, "SELECT count(*) FROM old").payer.budget == "spare"
    assert plan_of(where, "SELECT count(*) FROM towns").payer.budget == "lab"
    with pytest.raises(Refusal, match='no single budget pays for tables "people" and "old"'):
        plan_of(where, "SELECT count(*) FROM people p JOIN old o ON p.id = o.id")


def test_columns_are_typed_and_keys_left_out(viewed: World):
    shown = {
        n: [(c.name, c.type.name) for c in view_columns(n, context(viewed))]
        for n in ("old", "towns", "sizes")
    }
    assert shown == {
        "old": [("age", "int4"), ("pay", "numeric"), ("city", "text"), ("height", "float8")],
        "towns": [("city", "text"), ("size", "int4")],
        "sizes": [("size", "int4")],
    }


TABLE = (
    "CREATE TABLE t (id INTEGER, secret INTEGER, n INTEGER)",
    "CREATE TABLE u (id INTEGER, n INTEGER)",
    "ALTER TABLE t SET PRIVACY KEY (id)",
    "ALTER TABLE t ALTER COLUMN n SET PRIVACY DOMAIN BETWEEN 0 AND 9",
    "ALTER TABLE u SET PRIVACY KEY (id) REFERENCES t (id)",
    "ALTER TABLE u ALTER COLUMN n SET PRIVACY DOMAIN BETWEEN 0 AND 9",
)


@pytest.mark.parametrize(
    ("view", "columns"),
    [
        ("SELECT * FROM t", ["n"]),
        ("SELECT t.*, u.n AS m FROM t JOIN u ON t.id = u.id", ["n", "m"]),
        ("SELECT u.*, t.n FROM t JOIN u ON t.id = u.id", ["n", "n_1"]),
        ("SELECT n + 1 FROM t", ["(n + 1)"]),
        # The engine's column "secret" is the hidden one, not this.
        ("SELECT t.*, u.n AS secret FROM t JOIN u ON t.id = u.id", None),
        ("SELECT u.n AS secret, t.* FROM t JOIN u ON t.id = u.id", None),
        # The engine has two of the name.
        ("SELECT * FROM t JOIN u ON t.id = u.id", None),
        # The engine would read the secret, were it declared.
        ("SELECT id FROM u WHERE EXISTS (SELECT 1 FROM t WHERE t.id = u.id AND secret = 1)", None),
        ("SELECT t.n AS secret FROM t ORDER BY secret", None),
    ],
)
def test_hidden_columns_never_change_what_a_name_means(view: str, columns: list[str] | None):
    world = build((*TABLE, f"CREATE VIEW v AS {view}"))
    if columns is not None:
        assert [c.name for c in view_columns("v", context(world))] == columns
        return
    with pytest.raises(Refusal):
        view_columns("v", context(world))


def test_columns_of_types_that_do_not_exist_are_hidden_too():
    world = build((*TABLE, "CREATE TABLE p (x BIT, y INTEGER)", "ALTER TABLE p SET PRIVACY PUBLIC",
                   "CREATE VIEW v AS SELECT * FROM p", "CREATE VIEW w AS SELECT x FROM p"))  # fmt: skip
    assert [c.name for c in view_columns("v", context(world))] == ["y"]
    with pytest.raises(Refusal, match='"x" does not exist'):
        view_columns("w", context(world))


def test_two_kinds_of_people_are_not_shown_together():
    world = build((*TABLE, "CREATE TABLE other (id INTEGER)", "ALTER TABLE other SET PRIVACY KEY (id)",
                   "CREATE VIEW v AS SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM other)"))  # fmt: skip
    with pytest.raises(Refusal, match="two kinds of privacy unit"):
        view_columns("v", context(world))


def test_a_raw_view_is_never_planned(viewed: World):
    raw = Schema(
        {"t": (Column("a", viewed.schema.tables["cities"][1].type),)},
        (),
        {"v": View("CREATE VIEW v AS SELECT a FROM t", ("a",))},
    )
    with pytest.raises(UndefinedTable):
        find_view(named("v"), replace(context(viewed), schema=raw), inside=True)


def test_a_refusal_does_not_show_what_a_view_asks_for():
    text = "SELECT count(*) AS n FROM (SELECT DISTINCT age FROM people WHERE age > 77) t"
    with pytest.raises(Refusal) as direct:
        plan_of(build(HEADER), text)
    assert "77" in (direct.value.hint or "")
    with pytest.raises(Refusal) as behind:
        plan_of(build((*HEADER, f"CREATE VIEW seldom AS {text}")), "SELECT n FROM seldom")
    assert "77" not in f"{behind.value} {behind.value.detail} {behind.value.hint}"
