from collections.abc import Callable

import pytest
from sqlglot import exp

from dpproxy.aggregates.table import AGGREGATES
from dpproxy.analysis.functions import FUNCTIONS as OF_ROWS
from dpproxy.analysis.spoken import function
from dpproxy.pgcatalog import oids
from dpproxy.pgcatalog.compiler import functions
from dpproxy.pgcatalog.fact_files import facts
from dpproxy.pgcatalog.tables.functions import PG_AGGREGATE
from dpproxy.pgcatalog.tables.functions import functions as listed_functions
from dpproxy.pgcatalog.view import CatalogueView
from dpproxy.planner.release.scope import DP_FUNCTIONS
from dpproxy.values.errors import Unsupported

OF_GRAMMAR = {"all", "any", "coalesce", "greatest", "least", "nullif", "row", "some", "trim"}
"""What the grammar reads as something of its own; PostgreSQL has no function of the name either."""
LEFT_OUT = {
    "_pg_expandarray", "acldefault", "inet_client_addr", "inet_server_addr", "pg_current_xact_id",
    "pg_current_xact_id_if_assigned", "pg_partition_ancestors",
}  # fmt: skip
"""Functions of information_schema, and of types that do not exist here."""


def test_every_function_that_is_answered_is_listed():
    listed = {of.proname for of in listed_functions()}
    calls = [k for k in (*OF_ROWS, *AGGREGATES) if isinstance(k, type) and issubclass(k, exp.Func)]
    given = {"this": exp.column("x"), "expressions": [exp.column("x")], "unit": exp.var("MONTH")}
    called = {function(kind(**{k: v for k, v in given.items() if k in kind.arg_types})) for kind in calls}
    assert called - listed == {
        "trim",
        "regexp_i_like",
        "regexp_extract",
    }  # syntax, as ~* and substring(x FROM p)
    assert {name for name in AGGREGATES if isinstance(name, str)} <= listed
    assert set(DP_FUNCTIONS) == {of.proname for of in listed_functions() if of.pronamespace == oids.DP}
    catalogue = {*functions.FUNCTIONS, *functions.PRIVILEGES, *functions.ABSENT}
    assert catalogue - listed == OF_GRAMMAR | LEFT_OUT


def test_numbers_are_those_of_one_function():
    assert len({of.oid for of in listed_functions()}) == len(listed_functions())
    own = [of for of in listed_functions() if of.oid >= oids.DP]
    assert {of.proname for of in own} == {"median", "count_if", "geometric_mean", *DP_FUNCTIONS}


def test_a_function_is_shown_as_clients_ask(ask: Callable[..., list[tuple[object, ...]]]):
    sql = """SELECT n.nspname, pg_get_function_result(p.oid), pg_get_function_arguments(p.oid), p.prokind,
      pg_function_is_visible(p.oid), pg_get_functiondef(p.oid)
      FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE p.proname IN ('count_if', 'ci_low', 'unnest')
      ORDER BY 1, 3"""
    assert ask(sql) == [
        ("dp", "double precision", '"any"', "f", False, None),
        ("pg_catalog", "SETOF anyelement", "anyarray", "f", True, None),
        ("pg_catalog", "bigint", "boolean", "a", True, None),
    ]


def test_the_text_of_one_function_is_refused(ask: Callable[..., list[tuple[object, ...]]]):
    with pytest.raises(Unsupported, match="definition of a function is not shown"):
        ask("SELECT pg_catalog.pg_get_functiondef(870)")


def test_each_aggregate_has_a_row_and_nothing_else_has(view: CatalogueView):
    rows = {row["aggfnoid"]: row for row in PG_AGGREGATE.rows(view)}
    assert rows.keys() == {of.oid for of in listed_functions() if of.prokind == "a"}
    assert all(row.keys() <= PG_AGGREGATE.kinds.keys() for row in rows.values())
    assert {row["aggfnoid"] for row in facts("pg_aggregate")} < rows.keys()
    median = next(rows[of.oid] for of in listed_functions() if of.proname == "median")
    assert median == {"aggfnoid": median["aggfnoid"], "aggkind": "n", "aggnumdirectargs": 0}
    assert {rows[of.oid]["aggkind"] for of in listed_functions() if of.proname == "percentile_disc"} == {"o"}


def test_there_is_no_language_to_write_functions_in(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT lanname FROM pg_language WHERE lanispl OR lanname = 'c'") == []
    assert ask("SELECT lanname FROM pg_language ORDER BY 1") == [("internal",), ("sql",)]
