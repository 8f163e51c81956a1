import re
import socket
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scramp import ScramClient

from dpproxy.values.errors import InvalidParameter, InvalidPassword, ProtocolViolation
from dpproxy.wire import messages as m
from dpproxy.wire.connection import Connection
from dpproxy.wire.scram import BOUND, DEFAULT_ITERATIONS, MECHANISM, ScramSecret, ScramServer, make_secret

MOCK_KEY = b"k" * 32
PASSWORD = "correct horse"
SECRET = make_secret(PASSWORD)
FIRST = b"n,,n=,r=abc"


def server(user: str = "ann") -> ScramServer:
    return ScramServer({"ann": SECRET}.get, user, MOCK_KEY)


def exchange(scram: ScramServer, password: str) -> None:
    client = ScramClient([MECHANISM], "ignored", password)
    client.set_server_first(scram.first(MECHANISM, client.get_client_first().encode()).decode())
    client.set_server_final(scram.final(client.get_client_final().encode()).decode())


def final(server_first: bytes, gs2: bytes = b"n,,", proof: bytes = bytes(32)) -> bytes:
    nonce = re.fullmatch(rb"r=([^,]+),.*", server_first)[1]
    return b"c=" + b64encode(gs2) + b",r=" + nonce + b",p=" + b64encode(proof)


def test_another_client_is_let_in_and_checks_our_proof():
    exchange(server(), PASSWORD)


def test_an_imported_secret_works():
    # RFC 7677, section 3: user "user", password "pencil".
    text = (
        "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:"
        "wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
    )
    secret = ScramSecret.from_text(text)
    assert secret.to_text() == text
    exchange(ScramServer(lambda _: secret, "user", MOCK_KEY), "pencil")


def test_wrong_password_and_unknown_user_are_told_alike():
    told = []
    for user, password in (("ann", "wrong"), ("bob", PASSWORD), ("bob", "wrong")):
        with pytest.raises(InvalidPassword) as caught:
            exchange(server(user), password)
        told.append((caught.value.message.replace(user, "?"), caught.value.detail, caught.value.hint))
    assert set(told) == {('password authentication failed for user "?"', None, None)}


def test_an_unknown_user_looks_like_a_known_one():
    def challenge(user: str) -> tuple[str, str]:
        shown = re.fullmatch(r"r=(.+),s=(.+),i=(.+)", server(user).first(MECHANISM, FIRST).decode())
        return shown[2], shown[3]

    assert challenge("bob") == challenge("bob")
    assert challenge("bob") != challenge("eve")
    salt, iterations = challenge("ann")
    assert (len(challenge("bob")[0]), challenge("bob")[1]) == (len(salt), iterations)


def test_nonces_are_fresh():
    assert server().first(MECHANISM, FIRST) != server().first(MECHANISM, FIRST)


@pytest.mark.parametrize(
    "data",
    [
        b"", b"n,,", b"n,,n=,r=", b"p=tls-server-end-point,,n=,r=abc", b"n,a=ann,n=,r=abc", b"n,,m=x,n=,r=abc",
        b"n,,r=abc,n=", b"n,,n=,r=a b", b"n,,n=,r=\xff", b"x,,n=,r=abc", b"n,,n=,r=abc,", b"n,,n=\0,r=abc",
    ],
)  # fmt: skip
def test_malformed_first(data: bytes):
    with pytest.raises(ProtocolViolation):
        server().first(MECHANISM, data)


def test_other_mechanisms():
    for mechanism in ("SCRAM-SHA-256-PLUS", "PLAIN", ""):
        with pytest.raises(ProtocolViolation):
            server().first(mechanism, FIRST)


def test_first_twice_and_final_first():
    scram = server()
    with pytest.raises(ProtocolViolation):
        scram.final(b"c=biws,r=abc,p=AAAA")
    scram.first(MECHANISM, FIRST)
    with pytest.raises(ProtocolViolation):
        scram.first(MECHANISM, FIRST)


def test_a_final_that_does_not_belong():
    for gs2, nonce, proof in (
        (b"y,,", b"", bytes(32)),
        (b"n,,", b"x", bytes(32)),
        (b"n,,", b"", bytes(31)),
        (b"n,,", b"", b""),
    ):
        scram = server()
        message = final(scram.first(MECHANISM, FIRST), gs2, proof).replace(b",p=", nonce + b",p=")
        with pytest.raises(ProtocolViolation):
            scram.final(message)


@given(st.binary(max_size=40), st.sampled_from([b"", b"n,,n=,r=", b"y,,n=a,r=b,x="]), st.booleans())
def test_any_bytes_are_refused_or_challenged(data: bytes, start: bytes, last: bool):  # noqa: FBT001
    scram = server()
    if last:
        scram.first(MECHANISM, FIRST)
        with pytest.raises(ProtocolViolation):
            scram.final(data)
        return
    try:
        assert scram.first(MECHANISM, start + data).startswith(b"r=")
    except ProtocolViolation:
        return


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8))
def test_preparation_is_that_of_the_client(password: str):
    try:
        client = ScramClient([MECHANISM], "ann", password)
        prepared = bytes(client.password)
    except Exception:  # noqa: BLE001 - passwords that SASLprep prohibits are used as they are
        return
    if prepared:
        secret = make_secret(password, 4096)
        exchange(ScramServer(lambda _: secret, "ann", MOCK_KEY), password)


def test_secrets_hide_and_salts_differ():
    other = make_secret(PASSWORD)
    assert other.salt != SECRET.salt
    assert repr(SECRET) == f"ScramSecret(iterations={DEFAULT_ITERATIONS})"
    assert ScramSecret.from_text(SECRET.to_text()) == SECRET


@pytest.mark.parametrize(
    "text",
    [
        "",
        "md5abc",
        "SCRAM-SHA-256$4096:AA==$AA==:AA==",
        "SCRAM-SHA-256$1:YWJj$%s:%s",
        "SCRAM-SHA-256$4096:?$%s:%s",
    ],
)
def test_bad_secrets(text: str):
    key = b64encode(bytes(32)).decode()
    with pytest.raises(InvalidParameter):
        ScramSecret.from_text(text.replace("%s", key))


def test_bad_passwords():
    for password, iterations in (("", 15_000), ("x", 4095), ("x", 10**8)):
        with pytest.raises(InvalidParameter):
            make_secret(password, iterations)


# --- libpq ---------------------------------------------------------------------------------------------


def answer(connection: Connection, scram: ScramServer, message: m.Frontend) -> list[m.Backend]:
    match message:
        case m.SSLRequest() | m.GSSENCRequest():
            connection.tls_refused()
            return [m.EncryptionAnswer(accepted=False)]
        case m.Startup():
            return [m.AuthenticationSASL((MECHANISM,))]
        case m.SASLInitialResponse():
            return [m.AuthenticationSASLContinue(scram.first(message.mechanism, message.data))]
        case m.SASLResponse():
            proof = scram.final(message.data)
            connection.login_done()
            return [m.AuthenticationSASLFinal(proof), m.AuthenticationOk(), m.ReadyForQuery(b"I")]
        case _:
            return []


def serve_one(listener: socket.socket) -> None:
    peer, _ = listener.accept()
    connection, scram = Connection(), server()
    with closing(peer):
        while data := peer.recv(4096):
            for message in connection.receive(data):
                try:
                    replies = answer(connection, scram, message)
                except InvalidPassword as refusal:
                    replies = [m.ErrorResponse(refusal.sqlstate, refusal.message, severity="FATAL")]
                    connection.error_sent()
                peer.sendall(b"".join(map(connection.send, replies)))


@contextmanager
def listening() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve_one, args=(listener,))
        thread.start()
        yield listener.getsockname()[1]
        thread.join(10)
        assert not thread.is_alive()


def test_libpq_is_let_in():
    with (
        listening() as port,
        psycopg.connect(host="127.0.0.1", port=port, user="ann", password=PASSWORD, dbname="d") as client,
    ):
        assert client.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_libpq_is_told_of_a_wrong_password():
    with (
        listening() as port,
        pytest.raises(psycopg.OperationalError, match='password authentication failed for user "ann"'),
    ):
        psycopg.connect(host="127.0.0.1", port=port, user="ann", password="wrong", dbname="d")


def test_a_client_that_binds():
    binding = b"h" * 32
    for end, fits in ((binding, True), (b"x" * 32, False)):
        scram = ScramServer({"ann": SECRET}.get, "ann", MOCK_KEY, end)
        assert scram.mechanisms == (BOUND, MECHANISM)
        client = ScramClient([BOUND], "ignored", PASSWORD, channel_binding=("tls-server-end-point", binding))
        client.set_server_first(scram.first(BOUND, client.get_client_first().encode()).decode())
        if fits:
            client.set_server_final(scram.final(client.get_client_final().encode()).decode())
        else:
            with pytest.raises(ProtocolViolation, match="does not belong"):
                scram.final(client.get_client_final().encode())


@pytest.mark.parametrize(
    ("mechanism", "first"),
    [(MECHANISM, b"y,,n=,r=abc"), (MECHANISM, b"p=tls-server-end-point,,n=,r=abc"), (BOUND, FIRST)],
)
def test_a_binding_that_somebody_took_away(mechanism: str, first: bytes):
    with pytest.raises(ProtocolViolation):
        ScramServer({"ann": SECRET}.get, "ann", MOCK_KEY, b"h" * 32).first(mechanism, first)
