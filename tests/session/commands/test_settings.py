from collections.abc import Iterator
from datetime import datetime

import psycopg
import pytest

from dpproxy.algebra.plan import Answer
from dpproxy.config.settings import DEFAULTS, SETTINGS
from dpproxy.session.commands.table import recognise
from dpproxy.session.messages import split
from dpproxy.session.state import Command, EngineShow, SessionState
from dpproxy.session.transaction import Transaction
from dpproxy.values.errors import InvalidParameter, InvalidText, SyntaxRefused, UndefinedObject, Unsupported
from dpproxy.wire.zones import zone
from tests.postgres import Server


def run(state: SessionState, sql: str) -> Answer:
    command = recognise(split(sql)[0])
    assert isinstance(command, Command), sql
    return command.run(state)


def fresh() -> SessionState:
    return SessionState(Transaction(DEFAULTS))


@pytest.mark.parametrize(
    ("sql", "name", "value"),
    [
        ("SET dp.epsilon = 0.2", "dp.epsilon", "0.2"),
        ("SET dp.epsilon TO '0.2'", "dp.epsilon", "0.2"),
        ("SET dp.epsilon = .5", "dp.epsilon", ".5"),
        ("set SESSION Application_Name = 'Aa'", "application_name", "Aa"),
        ("SET application_name = Aa", "application_name", "aa"),
        ('SET application_name = "Aa"', "application_name", "Aa"),
        ("SET search_path TO a, 'B', public", "search_path", 'a, "B", public'),
        ("SET extra_float_digits = -1", "extra_float_digits", "-1"),
        ("SET datestyle TO ISO, DMY", "datestyle", "ISO, DMY"),
        ("SET TIME ZONE 'Europe/Madrid'", "timezone", "Europe/Madrid"),
        ("SET SESSION TIME ZONE -7", "timezone", "<-07>+07"),
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
    assert state.transaction.settings[name] == value
    assert state.transaction.after_commit[name] == value


ZONES = (
    "INTERVAL '+00:00' HOUR TO MINUTE", "INTERVAL '-08:30' HOUR TO MINUTE", "INTERVAL '5' HOUR", "INTERVAL '5'",
    "INTERVAL '05:30'", "INTERVAL (0) '05:30'", "INTERVAL '05:30' HOUR", "INTERVAL '-1' HOUR TO MINUTE",
    "INTERVAL '+02:00' MINUTE", "INTERVAL '01:30:30.5'", "INTERVAL '1 hour 30 min'", "interval '-05:59:59' hour",
    "INTERVAL '1 day'", "INTERVAL '1' DAY", "INTERVAL '1 month'", "INTERVAL '01:00:00' HOUR TO SECOND",
    "INTERVAL '200:00' HOUR TO MINUTE", "INTERVAL", "INTERVAL 5", "INTERVAL '1' HOUR MINUTE",
    "5", "-5", "5.5", "+5.75", "-0", "168", "1, 2", "'5'", "'-3.5'", "LOCAL", "DEFAULT", "'local'", "utc", "'gmt'",
    "'europe/BERLIN'", "'UTC+3'", "'<+05:30>-05:30'", "'+02:00'", "'interval ''+02:00'''", "'interval ''1 day'''",
    "'INTERVAL ''+02:00'' HOUR TO MINUTE'", "''", "'nowhere'", "1 2", "europe/berlin",
)  # fmt: skip


@pytest.fixture(scope="module")
def real(postgres: Server) -> Iterator[psycopg.Connection]:
    name = postgres.database()
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} SET TimeZone = 'UTC'".encode())
    with psycopg.connect(postgres.url(name), autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize("written", ZONES)
def test_time_zones_are_read_and_kept_as_postgres_does(real: psycopg.Connection, written: str):
    sql, state = f"SET TIME ZONE {written}", fresh()
    real.execute("RESET TIME ZONE")
    try:
        real.execute(sql.encode())
    except psycopg.Error:
        with pytest.raises((InvalidParameter, InvalidText, SyntaxRefused)):
            run(state, sql)
        return
    assert run(state, sql) == Answer("SET")
    assert (state.transaction.settings["timezone"],) == real.execute("SHOW timezone").fetchone()
    moment = real.execute("SELECT extract(timezone FROM timestamptz '2024-07-01 00:00Z')").fetchone()
    offset = zone(state.transaction.settings["timezone"]).utcoffset(datetime(2024, 7, 1))  # noqa: DTZ001
    assert offset is not None
    assert (offset.total_seconds(),) == moment


def test_an_interval_of_a_time_zone_that_does_not_read():
    with pytest.raises(InvalidText, match='invalid input syntax for type interval: "x"'):
        run(fresh(), "SET TIME ZONE INTERVAL 'x'")


def test_a_long_list_is_read_in_time_that_grows_with_it_only():
    recognise(
        split(f"SET search_path = {','.join(['a'] * 49_000)}")[0]
    )  # minutes, if it grew with the square


def test_default_and_reset_go_back():
    for sql in ("SET application_name TO DEFAULT", "RESET application_name", "RESET ALL"):
        state = fresh()
        run(state, "SET application_name = 'x'")
        run(state, sql)
        assert state.transaction.settings["application_name"] == ""
    state = fresh()
    run(state, "SET TIME ZONE 'Asia/Tokyo'")
    run(state, "RESET TIME ZONE")
    assert state.transaction.settings["timezone"] == "UTC"


@pytest.mark.parametrize(
    ("sql", "name"),
    [("SET LOCAL dp.epsilon = 0.1", "dp.epsilon"), ("SET TRANSACTION READ ONLY", "transaction_read_only")],
)
def test_local_settings_warn_outside_a_block_and_end_with_it(sql: str, name: str):
    state = fresh()
    warning = run(state, sql).notices[0]
    assert (warning.severity, warning.sqlstate) == ("WARNING", "25P01")
    state.commit()
    assert state.transaction.settings == DEFAULTS
    run(state, "BEGIN")
    assert run(state, sql).notices == ()
    assert state.transaction.settings[name] != DEFAULTS[name]
    run(state, "COMMIT")
    assert state.transaction.settings == DEFAULTS


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
     "SET TRANSACTION SNAPSHOT 'x'", "RESET a.", "SET TIME ZONE INTERVAL '1' DAY"],
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
    assert state.transaction.settings == DEFAULTS


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
    state.transaction.settings = {**DEFAULTS, "session_authorization": "ann"}
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
