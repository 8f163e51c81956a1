import stat
from pathlib import Path

import pytest

from dpproxy.algebra.plan import Caller
from dpproxy.policy.role_statements import read_role_statement
from dpproxy.state.role_settings import FILE, RoleSettings
from dpproxy.values.errors import (
    CatalogueUnavailable,
    FixedSetting,
    InvalidParameter,
    NotGranted,
    UndefinedObject,
    UnknownDatabase,
)

ROOT = Caller("root", frozenset({"admin"}), "s1")
ANN = Caller("ann", frozenset({"analyst", "reader"}), "s2")
BOB = Caller("bob", frozenset({"reader"}), "s3", "other")


@pytest.fixture
def roles(tmp_path: Path) -> RoleSettings:
    return RoleSettings(tmp_path)


def change(roles: RoleSettings, caller: Caller, *statements: str) -> None:
    for statement in statements:
        roles.change(read_role_statement(statement), caller)


def test_the_nearest_wins(roles: RoleSettings):
    change(
        roles, ROOT,
        "ALTER ROLE ann SET dp.epsilon = 0.1", "ALTER ROLE reader SET dp.epsilon = 0.2",
        "ALTER ROLE ALL SET dp.epsilon = 0.3",
        "ALTER ROLE reader SET TimeZone = 'Europe/Berlin'", "ALTER ROLE ALL IN DATABASE main SET work_mem TO '1GB'",
    )  # fmt: skip
    assert roles.of(ANN) == {"dp.epsilon": "0.1", "timezone": "Europe/Berlin", "work_mem": "1GB"}
    assert roles.of(BOB) == {"dp.epsilon": "0.2", "timezone": "Europe/Berlin"}
    assert roles.of(Caller("eve", frozenset(), "s")) == {"dp.epsilon": "0.3", "work_mem": "1GB"}
    change(roles, ROOT, "ALTER ROLE ann RESET dp.epsilon", "ALTER ROLE reader RESET ALL")
    assert roles.of(ANN) == {"dp.epsilon": "0.3", "work_mem": "1GB"}


def test_oneself_and_nobody_else(roles: RoleSettings):
    change(roles, ANN, "ALTER ROLE ann SET dp.notices = off", "ALTER USER current_user SET jit = on")
    assert roles.of(ANN) == {"dp.notices": "off", "jit": "on"}
    for role in ("bob", "reader", "ALL", "admin"):
        with pytest.raises(NotGranted):
            change(roles, ANN, f"ALTER ROLE {role} SET dp.notices = off")


def test_limits_go_down_only(roles: RoleSettings):
    change(
        roles,
        ROOT,
        "ALTER ROLE analyst SET dp.session_epsilon = 2",
        "ALTER ROLE reader SET dp.session_epsilon = 5",
    )
    assert roles.of(ANN) == {"dp.session_epsilon": "2"}
    change(roles, ANN, "ALTER ROLE ann SET dp.session_epsilon = 1")
    assert roles.of(ANN) == {"dp.session_epsilon": "1"}
    with pytest.raises(InvalidParameter):
        change(roles, ANN, "ALTER ROLE ann SET dp.session_epsilon = 3")
    with pytest.raises(InvalidParameter):
        change(roles, ANN, "ALTER ROLE ann RESET dp.session_epsilon")
    change(roles, ANN, "ALTER ROLE ann SET jit = on", "ALTER ROLE ann RESET ALL")
    assert roles.of(ANN) == {"dp.session_epsilon": "1"}
    change(roles, ROOT, "ALTER ROLE ann RESET ALL")
    assert roles.of(ANN) == {"dp.session_epsilon": "2"}


def test_what_set_refuses(roles: RoleSettings):
    for statement, error in (
        ("ALTER ROLE ann SET dp.epsilon = 0", InvalidParameter),
        ("ALTER ROLE ann SET server_version = '9'", FixedSetting),
        ("ALTER ROLE ann SET nonsense = 1", UndefinedObject),
        ("ALTER ROLE ann IN DATABASE other SET jit = on", UnknownDatabase),
    ):
        with pytest.raises(error):
            change(roles, ANN, statement)
    assert roles.of(ANN) == {}


def test_who_sees_what(roles: RoleSettings):
    change(
        roles,
        ROOT,
        "ALTER ROLE ann SET jit = on",
        "ALTER ROLE bob SET jit = on",
        "ALTER ROLE ALL SET DateStyle = ISO, DMY",
    )
    assert [one.role for one in roles.visible_to(ANN)] == ["", "ann"]
    assert [one.role for one in roles.visible_to(ROOT)] == ["", "ann", "bob"]
    assert roles.visible_to(ANN)[0].assignments == ["DateStyle=ISO, DMY"]


def test_the_file(roles: RoleSettings, tmp_path: Path):
    change(roles, ANN, "ALTER ROLE ann SET my.own = 'a''b'")
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert RoleSettings(tmp_path).of(ANN) == {"my.own": "a'b"}
    assert [path.name for path in tmp_path.iterdir()] == [FILE]
    (tmp_path / FILE).write_text(
        '[{"role": "ann", "database": "", "settings": [["gone", "1"], ["jit", "on"]], "user": true}]'
    )
    assert roles.of(ANN) == {"jit": "on"}
    (tmp_path / FILE).write_text("{")
    with pytest.raises(CatalogueUnavailable):
        roles.of(ANN)


def test_users_and_roles_are_two_name_spaces(roles: RoleSettings):
    analyst = Caller("analyst", frozenset({"analyst"}), "s4")
    change(
        roles, analyst, "ALTER ROLE analyst SET dp.session_epsilon = 0.001", "ALTER USER analyst SET jit = on"
    )
    assert roles.of(analyst) == {"dp.session_epsilon": "0.001", "jit": "on"}
    assert roles.of(ANN) == {}
    assert roles.visible_to(ANN) == ()
    change(roles, ROOT, "ALTER USER reader SET dp.epsilon = 0.1")
    assert roles.of(ANN) == {}
    change(roles, ROOT, "ALTER ROLE analyst SET dp.epsilon = 0.5")
    assert roles.of(ANN) == {"dp.epsilon": "0.5"}
    assert roles.of(analyst) == {"dp.session_epsilon": "0.001", "jit": "on", "dp.epsilon": "0.5"}
    change(roles, analyst, "ALTER ROLE analyst RESET dp.epsilon")
    assert roles.of(ANN) == {"dp.epsilon": "0.5"}
    change(roles, Caller("ALL", frozenset(), "s5"), 'ALTER ROLE "ALL" SET jit = on')
    assert roles.of(ANN) == {"dp.epsilon": "0.5"}


def test_a_change_returns_the_settings_that_differ(tmp_path: Path):
    settings = RoleSettings(tmp_path)

    def moves(sql: str) -> list[tuple[str, str | None, str | None, bool | None]]:
        found = settings.change(read_role_statement(sql), ROOT)
        return [(*move, move.lowers) for move in found]

    assert moves("ALTER ROLE x SET dp.session_epsilon = 2") == [("dp.session_epsilon", None, "2", True)]
    assert moves("ALTER ROLE x SET dp.session_epsilon = 2") == []
    assert moves("ALTER ROLE x SET dp.session_epsilon = 3") == [("dp.session_epsilon", "2", "3", False)]
    assert moves("ALTER ROLE x SET TimeZone = 'UTC'") == [("timezone", None, "UTC", None)]
    assert [name for name, *_ in moves("ALTER ROLE x RESET ALL")] == ["dp.session_epsilon", "timezone"]
