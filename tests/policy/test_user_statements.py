import pytest

from dpproxy.policy.parser import is_privacy_statement
from dpproxy.policy.role_statements import is_role_statement
from dpproxy.policy.user_statements import (
    CreateUser,
    DropUser,
    MoveRoles,
    SetPassword,
    ShowUsers,
    UserStatement,
    is_user_statement,
    read_user_statement,
)
from dpproxy.sql.cursor import Name
from dpproxy.values.errors import SyntaxRefused

ANN, ROLE = Name("ann"), Name("analyst")


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("CREATE USER ann IN ROLE analyst PASSWORD 'x'", CreateUser(ANN, (ROLE,), "x")),
        ("create user ann with password 'x' in role analyst, b;", CreateUser(ANN, (ROLE, Name("b")), "x")),
        ("ALTER USER ann PASSWORD 'it''s'", SetPassword(ANN, "it's")),
        ("ALTER ROLE ann WITH ENCRYPTED PASSWORD 'x'", SetPassword(ANN, "x")),
        ("ALTER USER CURRENT_USER PASSWORD 'x'", SetPassword(None, "x")),
        ('DROP USER "Odd One"', DropUser(Name("Odd One"))),
        ("GRANT analyst TO ann", MoveRoles((ROLE,), (ANN,), grants=True)),
        ("REVOKE analyst, b FROM ann, c", MoveRoles((ROLE, Name("b")), (ANN, Name("c")), grants=False)),
        ("SHOW PRIVACY USERS", ShowUsers()),
    ],
)
def test_statements(sql: str, found: UserStatement):
    assert is_privacy_statement(sql)
    assert is_user_statement(sql)
    assert read_user_statement(sql) == found
    assert "'x'" not in repr(found)


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE USER",
        "CREATE USER ann",
        "CREATE USER ann PASSWORD 'x'",
        "CREATE USER ann IN ROLE analyst",
        "CREATE USER ann PASSWORD x IN ROLE analyst",
        "ALTER USER ann PASSWORD NULL",
        "DROP USER ann CASCADE",
        "DROP USER IF EXISTS ann",
        "GRANT analyst TO",
        "REVOKE analyst TO ann",
        "GRANT analyst TO ann WITH ADMIN OPTION",
    ],
)
def test_what_does_not_read(sql: str):
    assert is_user_statement(sql)
    with pytest.raises(SyntaxRefused) as refused:
        read_user_statement(sql)
    assert str(refused.value.hint).startswith("Write ")


@pytest.mark.parametrize(
    "sql",
    [
        "GRANT SELECT ON visits TO analyst",
        "GRANT EXACT SELECT ON visits TO analyst",
        "REVOKE ALL ON visits FROM analyst",
        "GRANT SELECT, INSERT ON visits TO analyst",
        "ALTER USER ann SET dp.budget = 'password'",
        "ALTER ROLE ann IN DATABASE password RESET ALL",
        "SELECT 1",
    ],
)
def test_what_is_about_something_else(sql: str):
    assert not is_user_statement(sql)


def test_settings_stay_settings():
    assert is_role_statement("ALTER USER ann SET dp.epsilon = 0.1")
