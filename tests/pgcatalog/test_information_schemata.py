from collections.abc import Callable


def test_schemas(ask: Callable[..., list[tuple[object, ...]]]):
    sql = "SELECT catalog_name, schema_name FROM information_schema.schemata WHERE schema_name IN ('public', 'dp')"
    assert sorted(ask(sql)) == [("main", "dp"), ("main", "public")]
