from collections.abc import Callable

from tests.pgcatalog.conftest import Ask


def test_tables_and_views(ask: Callable[..., list[tuple[object, ...]]]):
    sql = "SELECT table_schema, table_name, table_type FROM information_schema.tables ORDER BY table_name"
    assert ask(sql) == [
        ("public", "Odd visits", "VIEW"),
        ("dp", "ledger", "BASE TABLE"),
        ("public", "patients", "BASE TABLE"),
    ]


def test_columns(ask: Callable[..., list[tuple[object, ...]]]):
    sql = """SELECT column_name, ordinal_position, is_nullable, data_type, udt_name, numeric_precision, numeric_scale,
                    datetime_precision
             FROM information_schema.columns WHERE table_name = 'patients' ORDER BY ordinal_position"""
    assert ask(sql) == [
        ("id", 1, "NO", "bigint", "int8", 64, 0, None),
        ("name", 2, "YES", "text", "text", None, None, None),
        ("paid", 3, "YES", "numeric", "numeric", 12, 2, None),
        ("born", 4, "YES", "date", "date", None, None, 0),
        ("score", 5, "YES", "double precision", "float8", 53, None, None),
    ]


def test_views_without_their_text(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT table_name, view_definition FROM information_schema.views") == [("Odd visits", None)]


def test_select_alone(ask: Callable[..., list[tuple[object, ...]]]):
    sql = "SELECT DISTINCT privilege_type, grantee FROM information_schema.table_privileges"
    assert ask(sql) == [("SELECT", "ana")]


def test_schemas(ask: Callable[..., list[tuple[object, ...]]]):
    sql = "SELECT catalog_name, schema_name FROM information_schema.schemata WHERE schema_name IN ('public', 'dp')"
    assert sorted(ask(sql)) == [("main", "dp"), ("main", "public")]


def test_the_data_source(ask: Callable[..., list[tuple[object, ...]]]):
    assert ask("SELECT catalog_name FROM information_schema.information_schema_catalog_name") == [("main",)]


def test_texts_are_unicode(ask: Ask):
    """Power BI asks before all else."""
    asked = "SELECT character_set_name, default_collate_catalog FROM information_schema.character_sets"
    assert ask(asked) == [("UTF8", "main")]


def test_what_the_caller_has(ask: Ask):
    assert ask("SELECT * FROM information_schema.applicable_roles") == [("ana", "analyst", "NO")]


def test_the_caller_and_the_callers_roles(ask: Ask):
    assert ask("SELECT role_name FROM information_schema.enabled_roles") == [("ana",), ("analyst",)]


def test_domains_and_not_null_are_checks(ask: Callable[..., list[tuple[object, ...]]]):
    own = "constraint_schema = 'public'"
    asked = f"SELECT check_clause FROM information_schema.check_constraints WHERE {own} ORDER BY 1"
    assert ask(asked) == [("((name = ANY (ARRAY['a'::text, 'b'::text])))",), ("id IS NOT NULL",)]
    assert ask("SELECT column_name FROM information_schema.constraint_column_usage") == [("name",)]
