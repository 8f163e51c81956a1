import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.values.errors import Internal, ProtocolViolation
from dpproxy.wire import messages as m
from dpproxy.wire.connection import DROPPED, NEXT, Connection, ConnectionState, Decoder, Phase
from dpproxy.wire.frontend import MAX_BIND, MAX_SASL, MAX_SQL, MAX_STARTUP
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
    connection.login_done()
    return connection


def take(connection: Connection, data: bytes) -> list[type]:
    return [type(message) for message in connection.receive(data)]


def assert_closed(connection: Connection, data: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        list(connection.receive(data))
    assert connection.state is ConnectionState.CLOSED
    assert take(connection, LEAVE + b"\xff" * 9) == []


def test_every_state_knows_only_real_messages_and_states():
    assert set(NEXT) == set(ConnectionState)
    for state, row in NEXT.items():
        assert set(row) <= KINDS
        assert set(row.values()) <= set(ConnectionState)
        assert DROPPED.get(state, frozenset()) <= set(row)


def test_what_is_dropped_changes_nothing():
    assert all(NEXT[state][kind] is state for state, kinds in DROPPED.items() for kind in kinds)


def test_only_sync_and_leaving_end_a_skip():
    left = {
        kind
        for kind, state in NEXT[ConnectionState.SKIP_TO_SYNC].items()
        if state is not ConnectionState.SKIP_TO_SYNC
    }
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
    connection.login_done()
    assert take(connection, QUERY + LEAVE) == [m.Query, m.Terminate]
    assert connection.state is ConnectionState.CLOSED


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
    assert connection.state is ConnectionState.CLOSED


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
    assert connection.state is ConnectionState.CLOSED


def test_an_error_in_an_extended_sequence_skips_to_sync():
    connection = ready()
    found = []
    for message in connection.receive(PARSE + PARSE + QUERY + COPY + SYNC + QUERY):
        found.append(type(message))
        if isinstance(message, m.Parse):
            connection.error_sent()
            assert connection.state is ConnectionState.SKIP_TO_SYNC
    assert found == [m.Parse, m.Sync, m.Query]
    assert connection.state is ConnectionState.READY


def test_an_error_in_a_simple_query_skips_nothing():
    connection = ready()
    assert take(connection, QUERY) == [m.Query]
    connection.error_sent()
    assert take(connection, QUERY) == [m.Query]


def test_an_error_at_startup_ends_the_connection():
    connection = Connection()
    list(connection.receive(STARTUP))
    connection.error_sent()
    assert connection.state is ConnectionState.CLOSED


def test_content_of_a_refused_copy_is_dropped():
    assert take(ready(), COPY + streams.message(b"c") + QUERY) == [m.Query]


def test_an_answer_to_no_question_is_our_own_fault():
    for answer in ("tls_accepted", "tls_refused", "login_done"):
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
    answers = {
        ConnectionState.ENCRYPTION_ASKED: connection.tls_refused,
        ConnectionState.VERIFYING: connection.login_done,
    }
    try:
        for piece in data.draw(streams.cuts(stream)):
            for message in connection.receive(piece):
                assert isinstance(message, m.Frontend)
                answers.get(connection.state, lambda: None)()
                if isinstance(message, m.Bind | m.Parse):
                    connection.error_sent()
    except ProtocolViolation:
        assert connection.state is ConnectionState.CLOSED


def decode(pieces: list[bytes], phase: Phase) -> list[m.Frontend]:
    decoder = Decoder(phase)
    return [message for piece in pieces for message in decoder.feed(piece)]


@given(st.lists(streams.session_messages, max_size=5), st.data())
def test_any_cut_gives_the_same_messages(sent: list[m.Frontend], data: st.DataObject):
    stream = b"".join(map(streams.to_bytes, sent))
    assert decode(data.draw(streams.cuts(stream)), Phase.SESSION) == sent


@given(st.sampled_from(Phase), st.data())
def test_any_bytes_give_messages_or_a_violation(phase: Phase, data: st.DataObject):
    tags = st.sampled_from([*b"QPBDECSHXdcfpF\0"])
    framed = st.builds(lambda tag, body: streams.message(bytes([tag]), body), tags, st.binary(max_size=24))
    stream = b"".join(data.draw(st.lists(framed | st.binary(max_size=24), max_size=4)))
    try:
        found = decode(data.draw(streams.cuts(stream)), phase)
    except ProtocolViolation:
        return
    assert all(isinstance(message, m.Frontend) for message in found)


@given(streams.session_messages, st.data())
def test_any_flipped_byte_gives_messages_or_a_violation(sent: m.Frontend, data: st.DataObject):
    stream = bytearray(streams.to_bytes(sent))
    stream[data.draw(st.integers(0, len(stream) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = decode([bytes(stream)], Phase.SESSION)
    except ProtocolViolation:
        return
    assert all(isinstance(message, m.Frontend) for message in found)


@pytest.mark.parametrize(
    ("phase", "header"),
    [
        (Phase.SESSION, b"Q" + struct.pack("!I", 2**30)),
        (Phase.SESSION, b"Q" + struct.pack("!I", MAX_SQL + 5)),
        (Phase.SESSION, b"B" + struct.pack("!I", MAX_BIND + 5)),
        (Phase.SESSION, b"Q" + struct.pack("!i", -1)),
        (Phase.SESSION, b"Q" + struct.pack("!I", 3)),
        (Phase.SESSION, b"S" + struct.pack("!I", 5)),
        (Phase.SASL_INITIAL, b"p" + struct.pack("!I", MAX_SASL + 5)),
        (Phase.SASL_RESPONSE, b"p" + struct.pack("!I", 2**30)),
        (Phase.STARTUP, struct.pack("!I", 2**30)),
        (Phase.STARTUP, struct.pack("!I", MAX_STARTUP + 5)),
        (Phase.STARTUP, struct.pack("!i", -8)),
        (Phase.STARTUP, struct.pack("!I", 7)),
    ],
)
def test_a_bad_length_is_refused_on_the_header_alone(phase: Phase, header: bytes):
    with pytest.raises(ProtocolViolation):
        decode([header], phase)


@pytest.mark.parametrize(
    ("phase", "tag"),
    [(Phase.SESSION, b"p"), (Phase.SESSION, b"F"), (Phase.SASL_INITIAL, b"Q"), (Phase.SASL_RESPONSE, b"X")],
)
def test_a_type_out_of_place_is_refused_on_one_byte(phase: Phase, tag: bytes):
    with pytest.raises(ProtocolViolation):
        decode([tag], phase)


def test_the_phase_may_change_between_two_messages():
    decoder = Decoder()
    sasl = streams.message(b"p", b"X\0" + streams.value(b"one"))
    found = []
    for message in decoder.feed(streams.startup({"user": "ann"}) + sasl + streams.message(b"p", b"two")):
        found.append(message)
        decoder.phase = Phase.SASL_INITIAL if isinstance(message, m.Startup) else Phase.SASL_RESPONSE
    assert found == [
        m.Startup({"user": "ann"}),
        m.SASLInitialResponse("X", b"one"),
        m.SASLResponse(b"two"),
    ]


def test_feed_takes_the_bytes_even_if_nobody_iterates():
    decoder = Decoder(Phase.SESSION)
    decoder.feed(b"S\0\0")
    assert decoder.pending == 3
    assert list(decoder.feed(b"\0\4")) == [m.Sync()]
    assert decoder.pending == 0


def test_single_bytes_cost_linear_time():
    def seconds(size: int) -> float:
        stream = streams.message(b"Q", b"x" * size + b"\0")
        start = time.perf_counter()
        assert len(decode([stream[at : at + 1] for at in range(len(stream))], Phase.SESSION)) == 1
        return time.perf_counter() - start

    # Eight times the bytes: 8 times the time if linear, 64 times if quadratic; the rest is a busy machine.
    small = min(seconds(2**14) for _ in range(3))
    assert seconds(2**17) < 30 * small


def test_many_small_messages_in_one_piece():
    assert len(decode([streams.message(b"H") * 200_000], Phase.SESSION)) == 200_000
