from collections.abc import Callable


def test_select_alone(ask: Callable[..., list[tuple[object, ...]]]):
    sql = "SELECT DISTINCT privilege_type, grantee FROM information_schema.table_privileges"
    assert ask(sql) == [("SELECT", "ana")]
