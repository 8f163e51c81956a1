import pytest

from dpproxy.errors import InvalidParameter, SyntaxRefused, UndefinedObject, Unsupported
from dpproxy.plan import Answer
from dpproxy.session_state import Command, EngineShow, State
from dpproxy.session_statements import recognise
from dpproxy.settings import DEFAULTS, SETTINGS
from dpproxy.statements import split
from dpproxy.transaction import Transaction


def run(state: State, sql: str) -> Answer:
    command = recognise(split(sql)[0])
    assert isinstance(command, Command), sql
    return command.run(state)


def fresh() -> State:
    return State(Transaction(DEFAULTS))


@pytest.mark.parametrize(
    ("sql", "name", "value"),
    [
        ("SET dp.epsilon = 0.2", "dp.epsilon", "0.2"),
        ("SET dp.epsilon TO '0.2'", "dp.epsilon", "0.2"),
        ("SET dp.epsilon = .5", "dp.epsilon", ".5"),
        ("set SESSION Application_Name = 'Aa'", "application_name", "Aa"),
        ("SET application_name = Aa", "application_name", "aa"),
        ('SET application_name = "Aa"', "application_name", "Aa"),
        ("SET search_path TO a, 'B', public", "search_path", "a, B, public"),
        ("SET extra_float_digits = -1", "extra_float_digits", "-1"),
        ("SET datestyle TO ISO, DMY", "datestyle", "ISO, DMY"),
        ("SET TIME ZONE 'Europe/Madrid'", "timezone", "Europe/Madrid"),
        ("SET SESSION TIME ZONE -7", "timezone", "-7"),
        ("SET TIME ZONE LOCAL", "timezone", "UTC"),
        ("SET NAMES 'utf8'", "client_encoding", "UTF8"),
        ("SET SCHEMA 's'", "search_path", "s"),
        ("SET dp.notices TO on", "dp.notices", "on"),
        ("SET dp.notices = false", "dp.notices", "off"),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY", "default_transaction_read_only", "on"),
        ("SET SESSION CHARACTERISTICS AS TRANSACTION NOT DEFERRABLE", "transaction_deferrable", "off"),
    ],
)  # fmt: skip
def test_set(sql: str, name: str, value: str):
    state = fresh()
    assert run(state, sql) == Answer("SET")
    assert state.transaction.now[name] == value
    assert state.transaction.kept[name] == value


def test_a_long_list_is_read_in_time_that_grows_with_it_only():
    recognise(
        split(f"SET search_path = {', '.join(['a'] * 100_000)}")[0]
    )  # minutes, if it grew with the square


def test_default_and_reset_go_back():
    for sql in ("SET application_name TO DEFAULT", "RESET application_name", "RESET ALL"):
        state = fresh()
        run(state, "SET application_name = 'x'")
        run(state, sql)
        assert state.transaction.now["application_name"] == ""
    state = fresh()
    run(state, "SET TIME ZONE 'Asia/Tokyo'")
    run(state, "RESET TIME ZONE")
    assert state.transaction.now["timezone"] == "UTC"


@pytest.mark.parametrize(
    ("sql", "name"),
    [("SET LOCAL dp.epsilon = 0.1", "dp.epsilon"), ("SET TRANSACTION READ ONLY", "transaction_read_only")],
)
def test_local_settings_warn_outside_a_block_and_end_with_it(sql: str, name: str):
    state = fresh()
    warning = run(state, sql).notices[0]
    assert (warning.severity, warning.sqlstate) == ("WARNING", "25P01")
    state.commit()
    assert state.transaction.now == DEFAULTS
    run(state, "BEGIN")
    assert run(state, sql).notices == ()
    assert state.transaction.now[name] != DEFAULTS[name]
    run(state, "COMMIT")
    assert state.transaction.now == DEFAULTS


@pytest.mark.parametrize(
    ("sql", "column", "value"),
    [
        ("SHOW dp.confidence", "dp.confidence", "0.95"),
        ("SHOW timezone", "TimeZone", "UTC"),
        ("SHOW TIME ZONE", "TimeZone", "UTC"),
        ("SHOW datestyle", "DateStyle", "ISO, MDY"),
        ("SHOW TRANSACTION ISOLATION LEVEL", "transaction_isolation", "read committed"),
        ("SHOW SESSION AUTHORIZATION", "session_authorization", ""),
        ("SHOW server_version", "server_version", "15.0"),
    ],
)
def test_show(sql: str, column: str, value: str):
    answer = run(fresh(), sql)
    assert answer.columns is not None
    assert (answer.tag, answer.columns[0].name, answer.rows) == ("SHOW", column, ((value,),))


def test_show_all_lists_what_the_session_keeps():
    names = [row[0] for row in run(fresh(), "SHOW ALL").rows]
    assert "DateStyle" in names
    assert set(names) == {s.name for s in SETTINGS.values() if not s.from_engine}


def test_the_engine_is_asked_for_what_it_knows():
    shown = recognise(split("SHOW DP.Last_Cost")[0])
    assert isinstance(shown, EngineShow)
    assert (shown.name, shown.columns[0].name) == ("dp.last_cost", "dp.last_cost")


@pytest.mark.parametrize(
    "sql",
    ["SET", "SET a", "SET a b", "SET a =", "SET a = 1 2", "SET a = 1,", "SET 'a' = 1", "SHOW", "SHOW a b", "RESET",
     "SET TRANSACTION SNAPSHOT 'x'", "RESET a.", "SET TIME ZONE INTERVAL '1' HOUR TO MINUTE"],
)  # fmt: skip
def test_what_does_not_read_is_a_syntax_error(sql: str):
    with pytest.raises(SyntaxRefused):
        recognise(split(sql)[0])


def test_refusals_keep_the_old_value():
    state = fresh()
    for value in ("0x1", "0b1", "0o1", "1_0", "'0x1'", "'1_0'"):
        with pytest.raises(InvalidParameter):
            run(state, f"SET dp.epsilon = {value}")
    with pytest.raises(InvalidParameter):
        run(state, "SET dp.epsilon = 0")
    with pytest.raises(UndefinedObject):
        run(state, "SET dp.seed = 1")
    with pytest.raises(UndefinedObject):
        recognise(split("SHOW dp.seed")[0])
    with pytest.raises(Unsupported):
        run(state, "SET ROLE admin")
    with pytest.raises(Unsupported):
        run(state, "SET SESSION AUTHORIZATION admin")
    assert state.transaction.now == DEFAULTS


@pytest.mark.parametrize(
    ("sql", "tag"),
    [
        ("SET ROLE NONE", "SET"), ("SET LOCAL ROLE 'none'", "SET"), ("SET role = ann", "SET"), ("RESET ROLE", "RESET"),
        ("SET SESSION AUTHORIZATION DEFAULT", "SET"), ("SET SESSION AUTHORIZATION 'ann'", "SET"),
        ("RESET SESSION AUTHORIZATION", "RESET"),
    ],
)  # fmt: skip
def test_a_session_stays_its_users(sql: str, tag: str):
    """Pools send these when a connection comes back to them."""
    state = fresh()
    state.transaction.now = {**DEFAULTS, "session_authorization": "ann"}
    assert run(state, sql).tag == tag


def test_constraints_are_set_in_a_block():
    state = fresh()
    assert run(state, "SET CONSTRAINTS ALL IMMEDIATE").notices[0].sqlstate == "25P01"
    state.transaction.begin()
    assert run(state, "SET CONSTRAINTS ALL DEFERRED") == Answer("SET CONSTRAINTS")
    for sql in (
        "SET CONSTRAINTS a DEFERRED",
        "SET CONSTRAINTS ALL",
        "SET CONSTRAINTS ALL DEFERRED x",
        "SET ROLE",
    ):
        with pytest.raises(SyntaxRefused):
            recognise(split(sql)[0])
