"""Why there is no connection is told in words of our own."""

import psycopg
import pytest

from dpproxy.backends.postgres.server import SETTINGS
from dpproxy.backends.postgres.start import check_settings, reason, schema_of
from dpproxy.values.errors import StartupError
from tests.postgres import Server


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ('FATAL:  password authentication failed for user "hidden"', "refuses the role or its password"),
        ("fe_sendauth: no password supplied", "refuses the role or its password"),
        ('FATAL:  no pg_hba.conf entry for host "::1", user "hidden"', "pg_hba.conf does not let"),
        ("server does not support SSL, but SSL was required", "TLS is not what sslmode asks for"),
        ('root certificate file "/hidden" does not exist', "TLS is not what sslmode asks for"),
        ("connection timeout expired", "does not answer"),
        ("search_path is not kept", "or a pooler before it, does not keep"),
        ("FATAL:  hidden", "cannot be reached"),
    ],
)
def test_why_there_is_no_connection(words: str, told: str):
    found = reason(psycopg.OperationalError(f"connection failed: {words}"))
    assert told in found
    assert "hidden" not in found


def test_a_search_path_without_a_schema_is_refused(postgres: Server):
    url = f"{postgres.url()}&options=-csearch_path%3Dnowhere"
    assert schema_of(postgres.url(), "main") == "public"
    with pytest.raises(StartupError, match=r"^data\.main\.url: .*search_path"):
        schema_of(url, "main")


def test_a_connection_that_is_not_set_as_it_was_asked_to_be_is_not_used(postgres: Server):
    options = " ".join(f"-c {name}={value.replace(' ', chr(92) + ' ')}" for name, value in SETTINGS.items())
    with psycopg.connect(postgres.url(), options=options, cursor_factory=psycopg.RawCursor) as connection:
        check_settings(connection, SETTINGS)
        connection.execute("SET default_transaction_isolation = 'read committed'")
        with pytest.raises(psycopg.OperationalError, match="isolation is not kept"):
            check_settings(connection, SETTINGS)
    with (
        psycopg.connect(postgres.url(), cursor_factory=psycopg.RawCursor) as connection,
        pytest.raises(psycopg.OperationalError, match="search_path is not kept"),
    ):
        check_settings(connection, SETTINGS)
