import pytest

from dpproxy.config.settings import DEFAULTS
from dpproxy.session.login import database_of, negotiation, read_options, settings_of, user_of
from dpproxy.values.errors import InvalidParameter, ProtocolViolation, UndefinedObject, Unsupported
from dpproxy.wire.messages import NegotiateProtocolVersion, Startup


def test_the_database_is_the_users_name_unless_given():
    assert database_of(Startup({"user": "a"})) == "a"
    assert database_of(Startup({"user": "a", "database": "d"})) == "d"


@pytest.mark.parametrize("parameters", [{}, {"user": ""}])
def test_a_user_is_needed(parameters: dict[str, str]):
    with pytest.raises(ProtocolViolation):
        user_of(Startup(parameters))


@pytest.mark.parametrize("value", ["true", "database", "1"])
def test_replication_is_refused(value: str):
    with pytest.raises(Unsupported):
        user_of(Startup({"user": "a", "replication": value}))
    assert user_of(Startup({"user": "a", "replication": "false"})) == "a"


@pytest.mark.parametrize("program", ["pg_dump", "pg_dumpall"])
def test_programs_that_copy_databases_are_told_so_at_once(program: str):
    with pytest.raises(Unsupported, match=f"{program} copies the rows"):
        user_of(Startup({"user": "a", "application_name": program}))
    assert user_of(Startup({"user": "a", "application_name": "psql"})) == "a"


def test_options_of_the_protocol_are_negotiated():
    assert negotiation(Startup({"user": "a"})) is None
    assert negotiation(Startup({"user": "a"}, minor=2)) is None
    assert negotiation(Startup({"user": "a"}, minor=9)) == NegotiateProtocolVersion(2, ())
    startup = Startup({"user": "a", "_pq_.x": "1"})
    assert negotiation(startup) == NegotiateProtocolVersion(0, ("_pq_.x",))
    assert settings_of(startup)["session_authorization"] == "a"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("-c a=1", [("a", "1")]),
        ("-ca=1 -c  b=2", [("a", "1"), ("b", "2")]),
        ("--a-b=1", [("a_b", "1")]),
        (r"-c a=x\ y\\z", [("a", r"x y\z")]),
        ("-c a=", [("a", "")]),
        ("-c a=b=c", [("a", "b=c")]),
    ],
)
def test_options(text: str, expected: list[tuple[str, str]]):
    assert list(read_options(text)) == expected


@pytest.mark.parametrize("text", ["-c", "x", "-c a", "-d 5", "-c =1", "a=1"])
def test_options_that_do_not_read(text: str):
    with pytest.raises(InvalidParameter):
        list(read_options(text))


def test_settings_of_the_startup_message():
    startup = Startup({
        "user": "a", "database": "d", "options": "-c dp.epsilon=0.05 -c application_name=o",
        "application_name": "p", "DateStyle": "ISO", "default_transaction_read_only": "on",
    })  # fmt: skip
    settings = settings_of(startup)
    assert settings["dp.epsilon"] == "0.05"
    assert settings["application_name"] == "p"
    assert settings["transaction_read_only"] == "on"
    assert settings["session_authorization"] == "a"
    assert set(settings) == set(DEFAULTS)


def test_wrong_settings_are_refused():
    with pytest.raises(UndefinedObject):
        settings_of(Startup({"user": "a", "nonsense": "1"}))
    with pytest.raises(InvalidParameter):
        settings_of(Startup({"user": "a", "options": "-c dp.epsilon=0"}))
