import hashlib
import hmac
import logging
from base64 import b64decode, b64encode

import pytest

from dpproxy.session.session import Session
from dpproxy.wire import messages as m
from tests.fake_engine import FakeEngine, FakeUsers, Playbook, drive, logged_in

IDLE, BLOCK, FAILED = (m.ReadyForQuery(status) for status in (b"I", b"T", b"E"))


def log_in(session: Session, user: str, password: str, **parameters: str) -> list[m.Backend]:
    """Everything that is said after the client's proof (RFC 5802)."""
    assert drive(session, m.Startup({"user": user, **parameters})) == [
        m.AuthenticationSASL(("SCRAM-SHA-256",))
    ]
    bare = "n=,r=abc"
    (challenge,) = drive(session, m.SASLInitialResponse("SCRAM-SHA-256", f"n,,{bare}".encode()))
    assert isinstance(challenge, m.AuthenticationSASLContinue)
    fields = dict(part.split("=", 1) for part in challenge.data.decode().split(","))
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), b64decode(fields["s"]), int(fields["i"]))
    key = hmac.digest(salted, b"Client Key", "sha256")
    without = f"c=biws,r={fields['r']}"
    signed = f"{bare},{challenge.data.decode()},{without}".encode()
    signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
    proof = b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
    return drive(session, m.SASLResponse(f"{without},p={proof}".encode()))


def test_login_reports_settings_and_a_key():
    engine = FakeEngine()
    session = Session(engine, FakeUsers(), process=7)
    said = log_in(
        session, "alice", "ecila", database="main", application_name="t", options="-c dp.epsilon=0.05"
    )
    assert [type(x) for x in said[:2]] == [m.AuthenticationSASLFinal, m.AuthenticationOk]
    reported = {x.name: x.value for x in said if isinstance(x, m.ParameterStatus)}
    assert reported["application_name"] == "t"
    assert reported["session_authorization"] == "alice"
    assert reported["server_version"].startswith("15.")
    assert reported["client_encoding"] == "UTF8"
    assert said[-2:] == [m.BackendKeyData(7, session.secret), IDLE]
    assert session.caller is not None
    assert session.caller.roles == {"analysts"}
    assert (
        Playbook(session)
        >> m.Query("SHOW dp.epsilon")
        << m.RowDescription((m.FieldDescription("dp.epsilon", 25, -1, -1, 0),))
        << m.DataRows(b"D\0\0\0\x0e\0\x01\0\0\0\x040.05")
        << m.CommandComplete("SHOW")
        << IDLE
    )
    session.close()
    assert engine.log == ["open alice", "close alice"]


def test_a_wrong_password_and_an_unknown_user_are_told_the_same():
    told = []
    for user, password in (("alice", "x"), ("mallory", "ecila")):
        session = Session(FakeEngine(), FakeUsers())
        (error,) = log_in(session, user, password, database="main")
        assert isinstance(error, m.ErrorResponse)
        assert session.finished
        assert session.caller is None
        told.append(
            (error.severity, error.sqlstate, error.message.replace(user, "U"), error.detail, error.hint)
        )
    assert told[0] == told[1]
    assert told[0][:2] == ("FATAL", "28P01")


@pytest.mark.parametrize(
    ("parameters", "sqlstate"),
    [
        ({"database": "other"}, "3D000"),
        ({}, "3D000"),
        ({"database": "main", "nonsense": "1"}, "42704"),
        ({"database": "main", "options": "-c dp.epsilon=0"}, "22023"),
    ],
)
def test_what_is_wrong_with_a_startup_is_told_after_the_login_only(parameters: dict[str, str], sqlstate: str):
    session = Session(FakeEngine(), FakeUsers())
    said = log_in(session, "alice", "ecila", **parameters)
    error = said[-1]
    assert isinstance(error, m.ErrorResponse)
    assert (error.severity, error.sqlstate) == ("FATAL", sqlstate)
    assert session.finished
    assert session.caller is None


def test_nothing_is_answered_before_the_login():
    for message in (m.Query("SELECT 1"), m.SASLResponse(b""), m.Parse("", "SELECT 1")):
        session = Session(FakeEngine(), FakeUsers())
        (error,) = drive(session, message)
        assert isinstance(error, m.ErrorResponse)
        assert (error.severity, error.sqlstate) == ("FATAL", "08P01")
        assert session.finished


def test_a_newer_protocol_is_negotiated():
    said = drive(Session(FakeEngine(), FakeUsers()), m.Startup({"user": "alice", "_pq_.x": "1"}, minor=3))
    assert said[0] == m.NegotiateProtocolVersion(2, ("_pq_.x",))


def test_changed_settings_are_reported_before_ready():
    assert (
        Playbook(logged_in())
        >> m.Query("SET application_name = 'x'; SET dp.epsilon = 1")
        << m.CommandComplete("SET")
        << m.CommandComplete("SET")
        << m.ParameterStatus("dp.epsilon", "1")
        << m.ParameterStatus("application_name", "x")
        << IDLE
        >> m.Query("BEGIN; SET timezone = 'Asia/Tokyo'")
        << m.CommandComplete("BEGIN")
        << m.CommandComplete("SET")
        << m.ParameterStatus("TimeZone", "Asia/Tokyo")
        << BLOCK
        >> m.Query("ROLLBACK")
        << m.CommandComplete("ROLLBACK")
        << m.ParameterStatus("TimeZone", "UTC")
        << IDLE
    )


def test_positions_count_characters_of_the_whole_message():
    sql = "SET a.b = ''; SELECT é"
    assert (
        Playbook(logged_in())
        >> m.Query(sql)
        << m.CommandComplete("SET")
        << m.ErrorResponse("42703", "no such column", position=22)
        << IDLE
    )


def test_errors_skip_to_sync():
    assert (
        Playbook(logged_in())
        >> m.Parse("", "SELECT nothing")
        << m.ErrorResponse("42703", "no such column")
        >> m.Bind("", "", (), (), ())
        >> m.Execute("")
        >> m.Query("SELECT 1")
        >> m.Sync()
        << IDLE
        >> m.Sync()
        << IDLE
    )


def test_a_fault_of_ours_is_told_by_number_only(caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG):
        said = drive(logged_in(), m.Query("SELECT broken"))
    error = said[0]
    assert isinstance(error, m.ErrorResponse)
    assert (error.sqlstate, error.message) == ("XX000", "internal error")
    assert error.detail is not None
    number = next(word for word in error.detail.split() if len(word) == 8 and word != "internal")
    assert number in caplog.text
    assert "ValueError" in caplog.text
    assert "fake_engine.py" in caplog.text
    assert "secret-value" not in caplog.text + str(said)
    assert said[-1] == IDLE


def test_terminate_finishes():
    session = logged_in()
    assert drive(session, m.Terminate()) == []
    assert session.finished


def test_copy_messages_without_a_copy_are_ignored():
    assert Playbook(logged_in()) >> m.CopyData(b"x") >> m.CopyDone() >> m.CopyFail("x") >> m.Flush()


def test_bytes_that_are_no_text_fail_their_statement_alone():
    bad = "caf\udce9"
    told = m.ErrorResponse("22021", 'invalid byte sequence for encoding "UTF8": 0xe9')
    book = Playbook(logged_in()) >> m.Query(f"SELECT '{bad}'") << told << IDLE
    for message in (
        m.Parse("", f"SELECT '{bad}'"),
        m.Parse(bad, ""),
        m.Describe(b"S", bad),
        m.Close(b"P", bad),
    ):
        book = book >> message << told >> m.Sync() << IDLE
    (
        book
        >> m.Query("SET application_name = 'x'")
        << m.CommandComplete("SET")
        << m.ParameterStatus("application_name", "x")
        << IDLE
    )
