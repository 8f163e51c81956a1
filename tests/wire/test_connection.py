import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.values.errors import Internal, ProtocolViolation
from dpproxy.wire import messages as m
from dpproxy.wire.connection import DROPPED, NEXT, Connection, State
from tests.wire import streams

KINDS = frozenset(m.Frontend.__args__)
STARTUP = streams.startup({"user": "ann"})
INITIAL = streams.message(b"p", b"SCRAM-SHA-256\0" + streams.value(b"n,,n=,r=x"))
RESPONSE = streams.message(b"p", b"c=biws")
PARSE = streams.to_bytes(m.Parse("", "SELECT 1"))
QUERY = streams.to_bytes(m.Query("SELECT 1"))
SYNC = streams.message(b"S")
COPY = streams.message(b"d", b"1\n")
LEAVE = streams.message(b"X")


def ready() -> Connection:
    connection = Connection()
    for data in (STARTUP, INITIAL, RESPONSE):
        assert len(list(connection.receive(data))) == 1
    connection.authenticated()
    return connection


def take(connection: Connection, data: bytes) -> list[type]:
    return [type(message) for message in connection.receive(data)]


def assert_closed(connection: Connection, data: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        list(connection.receive(data))
    assert connection.state is State.CLOSED
    assert take(connection, LEAVE + b"\xff" * 9) == []


def test_every_state_knows_only_real_messages_and_states():
    assert set(NEXT) == set(State)
    for state, row in NEXT.items():
        assert set(row) <= KINDS
        assert set(row.values()) <= set(State)
        assert DROPPED.get(state, frozenset()) <= set(row)


def test_what_is_dropped_changes_nothing():
    assert all(NEXT[state][kind] is state for state, kinds in DROPPED.items() for kind in kinds)


def test_only_sync_and_leaving_end_a_skip():
    left = {kind for kind, state in NEXT[State.SKIP_TO_SYNC].items() if state is not State.SKIP_TO_SYNC}
    assert left == {m.Sync, m.Terminate}


def test_the_way_in():
    connection = Connection()
    assert take(connection, streams.GSSENC) == [m.GSSENCRequest]
    connection.tls_refused()
    assert take(connection, streams.SSL) == [m.SSLRequest]
    connection.tls_refused()
    assert take(connection, STARTUP) == [m.Startup]
    assert take(connection, INITIAL) == [m.SASLInitialResponse]
    assert take(connection, RESPONSE) == [m.SASLResponse]
    connection.authenticated()
    assert take(connection, QUERY + LEAVE) == [m.Query, m.Terminate]
    assert connection.state is State.CLOSED


@pytest.mark.parametrize("stuffed", [b"\0", STARTUP])
def test_bytes_in_the_clear_after_an_ssl_request(stuffed: bytes):
    assert_closed(Connection(), streams.SSL + stuffed)
    later = Connection()
    assert take(later, streams.SSL) == [m.SSLRequest]
    assert_closed(later, stuffed)


@pytest.mark.parametrize("answer", ["tls_accepted", "tls_refused"])
def test_bytes_fed_between_request_and_answer(answer: str):
    connection = Connection()
    assert take(connection, streams.SSL) == [m.SSLRequest]
    connection.receive(STARTUP)
    with pytest.raises(ProtocolViolation):
        getattr(connection, answer)()
    assert connection.state is State.CLOSED


def test_encryption_is_asked_for_once():
    for asked in (streams.SSL, streams.GSSENC):
        connection = Connection()
        list(connection.receive(asked))
        connection.tls_refused()
        assert_closed(connection, asked)
    encrypted = Connection()
    list(encrypted.receive(streams.SSL))
    encrypted.tls_accepted()
    assert_closed(encrypted, streams.SSL)


def test_a_query_before_its_time():
    for early in (STARTUP + QUERY, STARTUP + INITIAL + RESPONSE + QUERY, QUERY):
        assert_closed(Connection(), early)


def test_a_password_after_its_time():
    assert_closed(ready(), RESPONSE)


def test_cancel_request_ends_the_connection():
    connection = Connection()
    assert take(connection, streams.request(5678, bytes(8)) + STARTUP) == [m.CancelRequest]
    assert connection.state is State.CLOSED


def test_an_error_in_an_extended_sequence_skips_to_sync():
    connection = ready()
    found = []
    for message in connection.receive(PARSE + PARSE + QUERY + COPY + SYNC + QUERY):
        found.append(type(message))
        if isinstance(message, m.Parse):
            connection.failed()
            assert connection.state is State.SKIP_TO_SYNC
    assert found == [m.Parse, m.Sync, m.Query]
    assert connection.state is State.READY


def test_an_error_in_a_simple_query_skips_nothing():
    connection = ready()
    assert take(connection, QUERY) == [m.Query]
    connection.failed()
    assert take(connection, QUERY) == [m.Query]


def test_an_error_at_startup_ends_the_connection():
    connection = Connection()
    list(connection.receive(STARTUP))
    connection.failed()
    assert connection.state is State.CLOSED


def test_content_of_a_refused_copy_is_dropped():
    assert take(ready(), COPY + streams.message(b"c") + QUERY) == [m.Query]


def test_an_answer_to_no_question_is_our_own_fault():
    for answer in ("tls_accepted", "tls_refused", "authenticated"):
        with pytest.raises(Internal):
            getattr(ready(), answer)()


def test_send_frames():
    assert Connection().send(m.ReadyForQuery(b"I")) == b"Z\0\0\0\5I"


@given(st.lists(streams.session_messages, max_size=6), st.data())
def test_a_session_takes_any_of_its_messages_in_any_cut(sent: list[m.Frontend], data: st.DataObject):
    connection = ready()
    pieces = data.draw(streams.cuts(b"".join(map(streams.to_bytes, sent))))
    found = [message for piece in pieces for message in connection.receive(piece)]
    assert found == [
        message for message in sent if not isinstance(message, m.CopyData | m.CopyDone | m.CopyFail)
    ]


@given(st.data())
def test_any_bytes_at_any_time_give_legal_messages_or_close(data: st.DataObject):
    pieces = st.sampled_from([streams.SSL, STARTUP, INITIAL, RESPONSE, PARSE, QUERY, SYNC, COPY, LEAVE])
    stream = b"".join(data.draw(st.lists(pieces | st.binary(max_size=8), max_size=8)))
    connection = Connection()
    answers = {State.ENCRYPTION_ASKED: connection.tls_refused, State.VERIFYING: connection.authenticated}
    try:
        for piece in data.draw(streams.cuts(stream)):
            for message in connection.receive(piece):
                assert isinstance(message, m.Frontend)
                answers.get(connection.state, lambda: None)()
                if isinstance(message, m.Bind | m.Parse):
                    connection.failed()
    except ProtocolViolation:
        assert connection.state is State.CLOSED
