"""A client's bytes, written independently of the decoder, and strategies for its messages."""

import struct

from hypothesis import strategies as st

from dpproxy.wire import messages as m

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
oids = st.integers(0, 2**32 - 1)
formats = st.integers(0, 1)


def packet(body: bytes) -> bytes:
    return struct.pack("!I", len(body) + 4) + body


def message(tag: bytes, body: bytes = b"") -> bytes:
    return tag + packet(body)


def cstring(text: str) -> bytes:
    return text.encode() + b"\0"


def startup(parameters: dict[str, str], minor: int = 0) -> bytes:
    pairs = b"".join(cstring(name) + cstring(value) for name, value in parameters.items())
    return packet(struct.pack("!HH", 3, minor) + pairs + b"\0")


def request(code: int, rest: bytes = b"") -> bytes:
    return packet(struct.pack("!HH", 1234, code) + rest)


SSL = request(5679)
GSSENC = request(5680)


def value(data: bytes | None) -> bytes:
    return struct.pack("!i", -1) if data is None else struct.pack("!i", len(data)) + data


def bind_body(bind: m.Bind) -> bytes:
    return (
        cstring(bind.portal)
        + cstring(bind.statement)
        + struct.pack(f"!H{len(bind.formats)}H", len(bind.formats), *bind.formats)
        + struct.pack("!H", len(bind.values))
        + b"".join(map(value, bind.values))
        + struct.pack(f"!H{len(bind.result_formats)}H", len(bind.result_formats), *bind.result_formats)
    )


_PLAIN = {m.Sync: b"S", m.Flush: b"H", m.Terminate: b"X", m.CopyData: b"d", m.CopyDone: b"c"}


def to_bytes(sent: m.Frontend) -> bytes:
    """The bytes of a message of a session."""
    match sent:
        case m.Query():
            return message(b"Q", cstring(sent.sql))
        case m.Parse():
            count = len(sent.types)
            tail = struct.pack(f"!H{count}I", count, *sent.types)
            return message(b"P", cstring(sent.name) + cstring(sent.sql) + tail)
        case m.Bind():
            return message(b"B", bind_body(sent))
        case m.Describe() | m.Close():
            return message(b"D" if isinstance(sent, m.Describe) else b"C", sent.kind + cstring(sent.name))
        case m.Execute():
            return message(b"E", cstring(sent.portal) + struct.pack("!i", sent.limit))
        case m.CopyFail():
            return message(b"f", cstring(sent.reason))
        case _:
            return message(_PLAIN[type(sent)], getattr(sent, "data", b""))


@st.composite
def binds(draw: st.DrawFn) -> m.Bind:
    values = tuple(draw(st.lists(st.none() | st.binary(max_size=9), max_size=4)))
    count = draw(st.sampled_from([0, 1, len(values)]))
    codes = tuple(draw(st.lists(formats, min_size=count, max_size=count)))
    return m.Bind(draw(names), draw(names), codes, values, tuple(draw(st.lists(formats, max_size=3))))


kinds = st.sampled_from([b"S", b"P"])
session_messages: st.SearchStrategy[m.Frontend] = st.one_of(
    st.builds(m.Query, names),
    st.builds(m.Parse, names, names, st.lists(oids, max_size=3).map(tuple)),
    binds(),
    st.builds(m.Describe, kinds, names),
    st.builds(m.Close, kinds, names),
    st.builds(m.Execute, names, st.integers(0, 2**31 - 1)),
    st.builds(m.CopyData, st.binary(max_size=9)),
    st.builds(m.CopyFail, names),
    st.sampled_from([m.Sync(), m.Flush(), m.CopyDone()]),
)


@st.composite
def cuts(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """``data`` in pieces, some of them empty."""
    at = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[a:b] for a, b in zip([0, *at], [*at, len(data)], strict=True)]
