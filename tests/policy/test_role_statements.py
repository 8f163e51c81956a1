import pytest

from dpproxy.policy.parser import is_privacy_statement
from dpproxy.policy.role_statements import is_role_statement, read_role_statement
from dpproxy.values.errors import SyntaxRefused, Unsupported


@pytest.mark.parametrize(
    ("sql", "role", "database", "setting", "value"),
    [
        ("ALTER ROLE ann SET dp.epsilon = 0.1", "ann", None, "dp.epsilon", "0.1"),
        ('alter user "Odd" set search_path to a, "B"', "Odd", None, "search_path", 'a, "B"'),
        ("ALTER ROLE ALL IN DATABASE main SET TIME ZONE 'UTC';", None, "main", "timezone", "UTC"),
        ("ALTER ROLE ann SET jit TO DEFAULT", "ann", None, "jit", None),
        ("ALTER ROLE ann RESET my.thing", "ann", None, "my.thing", None),
        ("ALTER ROLE ann RESET ALL", "ann", None, None, None),
        ("ALTER ROLE ann SET a.b = -5", "ann", None, "a.b", "-5"),
    ],
)
def test_statements(sql: str, role: str | None, database: str | None, setting: str | None, value: str | None):
    assert is_privacy_statement(sql)
    assert is_role_statement(sql)
    found = read_role_statement(sql)
    names = [None if name is None else name.text for name in (found.role, found.database, found.setting)]
    assert (names, found.value, found.own) == ([role, database, setting], value, False)


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER ROLE",
        "ALTER ROLE ann SET",
        "ALTER ROLE ann SET jit =",
        "ALTER ROLE ann SET jit = on x",
        "ALTER ROLE ann IN x",
    ],
)
def test_what_does_not_read(sql: str):
    with pytest.raises(SyntaxRefused):
        read_role_statement(sql)


@pytest.mark.parametrize(
    "sql", ["ALTER ROLE ann PASSWORD 'x'", "ALTER USER ann RENAME TO bob", "ALTER ROLE ann SUPERUSER"]
)
def test_nothing_else_of_a_role(sql: str):
    with pytest.raises(Unsupported) as refused:
        read_role_statement(sql)
    assert "statements of their own" in str(refused.value.hint)


def test_oneself():
    assert read_role_statement("ALTER ROLE CURRENT_USER SET jit = on").own
    assert not is_role_statement("ALTER TABLE t SET PRIVACY PUBLIC")
