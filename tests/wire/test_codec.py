import struct
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.values.errors import ProtocolViolation
from dpproxy.wire import messages as m
from dpproxy.wire.codec import Decoder, Phase
from dpproxy.wire.frontend import MAX_BIND, MAX_SASL, MAX_SQL, MAX_STARTUP
from tests.wire import streams


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
