"""Nothing of what an engine says, or any library below it, is told: not on the wire, not in the log."""

import builtins
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import psycopg
import pyarrow as pa
import pytest

from dpproxy.backends import failures
from dpproxy.backends.duckdb.source import DuckDB
from dpproxy.backends.failures import FAILURES, code_of, failure
from dpproxy.backends.release import ReleaseStage
from dpproxy.values.errors import Cancelled, Internal, Refusal
from tests.proxies import Proxy, serving, write_home

MARK = "HIV-positive"


def kinds(root: type) -> Iterator[type]:
    yield root
    for kind in root.__subclasses__():
        yield from kinds(kind)


LIBRARIES = [*kinds(duckdb.Error), *kinds(pa.ArrowException)]
BUILTIN = [
    kind
    for kind in vars(builtins).values()
    if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, Warning)
]


def made(kind: type) -> Exception:
    try:
        error = kind(f"Could not convert '{MARK}' to INT32")
    except TypeError:
        error = UnicodeDecodeError("utf-8", MARK.encode(), 0, 1, f"cannot read '{MARK}'")
    assert MARK in str(error) or MARK in repr(error) or issubclass(kind, KeyError)
    return error  # type: ignore[no-any-return]


EVERY = [
    made(kind)
    for kind in dict.fromkeys((*LIBRARIES, *BUILTIN))
    if kind not in {BaseExceptionGroup, ExceptionGroup}
]
MAPS: list[Callable[[Exception], str]] = [
    failures.exact_failure,
    failures.public_failure,
    failures.answer_failure,
    failures.code_of,
]


@pytest.mark.parametrize("error", EVERY, ids=lambda e: type(e).__name__)
def test_every_class_of_error_becomes_an_entry_of_the_table(error: Exception):
    for entry in MAPS:
        refusal = failure(entry(error))
        assert MARK not in f"{refusal!r} {refusal} {vars(refusal)}"


def test_over_protected_rows_there_is_one_entry_whatever_the_rows():
    entries = {failures.exact_failure(error) for error in EVERY}
    assert entries == {"exact", "cancelled"}


def test_an_entry_is_found_again_by_its_refusal_and_nothing_else_is():
    for code, entry in FAILURES.items():
        found = FAILURES[code_of(failure(code))]
        assert (found.kind, found.message) == (entry.kind, entry.message)
    assert code_of(Cancelled(MARK)) == "exact"


class _Broken:
    """A connection whose every use raises; it hands out itself as its cursor."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def cursor(self) -> "_Broken":
        return self

    def close(self) -> None:
        """As a cursor is closed."""

    def interrupt(self) -> None:
        """Nothing runs."""

    def __getattr__(self, name: str) -> object:
        raise self._error


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "data.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t (a INTEGER)")
    return path


def test_every_path_out_of_the_backend_ends_at_the_table(file: Path, monkeypatch: pytest.MonkeyPatch):
    backend, release = DuckDB(file, threads=1), ReleaseStage()
    calls: list[Callable[[], object]] = [
        lambda: backend.run("SELECT 1", {}, "s"),
        lambda: backend.run("SELECT 1", {}, "s", few=()),
        lambda: backend.run("SELECT 1", {"1": 1}, "s", select=lambda _: []),
        lambda: backend.build("t1", "SELECT 1", {}, "s", bool),
        lambda: backend.run_public("SELECT 1", "s"),
        lambda: backend.run_open("SELECT 1", "s"),
        lambda: list(backend.run_portions("SELECT 1", 1, "s")),
        lambda: backend.load("v", file, "SELECT * FROM t"),
        lambda: backend.unload("v"),
        lambda: release.value("SELECT 1", []),
    ]
    connections = backend._connection, release._connection
    monkeypatch.setattr(backend, "_again", lambda: None)
    for error in EVERY:
        broken = _Broken(error)
        backend._connection = release._connection = broken  # type: ignore[assignment]
        for call in calls:
            with pytest.raises(Refusal) as caught:
                call()
            assert (type(caught.value), caught.value.message) in {
                (f.kind, f.message) for f in FAILURES.values()
            }
            assert caught.value.__cause__ is None
            assert caught.value.__suppress_context__
    backend._connection, release._connection = connections
    backend.close()
    release.close()


DDL = ("CREATE TABLE t (a INTEGER, s VARCHAR)", f"INSERT INTO t VALUES (1, '{MARK}')")
POLICY = """
ALTER TABLE t SET PRIVACY KEY ROW;
ALTER TABLE t SET PRIVACY CEILING EPSILON 100;
ALTER TABLE t ALTER COLUMN a SET PRIVACY DOMAIN BETWEEN 0 AND 9;
CREATE PRIVACY BUDGET b LIMIT EPSILON 90 MAX EPSILON 1 DEFAULT EPSILON 0.1;
GRANT SELECT ON t TO analyst WITH PRIVACY BUDGET b;
"""


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    with serving(write_home(tmp_path_factory.mktemp("home"), DDL, POLICY)) as found:
        yield found


def test_neither_the_wire_nor_the_log_quotes_the_engine(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """The engine beside the wire is a stand-in that raises what no engine should."""
    assert proxy.engine is not None
    caplog.set_level(logging.DEBUG)
    told = []
    for number, error in enumerate(EVERY):

        def run(*_: object, raised: Exception = error, **__: object) -> object:
            raise raised

        monkeypatch.setattr(proxy.engine._answers._backend, "run", run)
        with psycopg.connect(proxy.dsn(), autocommit=True) as client, pytest.raises(psycopg.Error) as caught:
            client.execute(f"SELECT count(*) FROM t WHERE a > {number % 9} AND a <> {number // 9}")
        told.append(f"{caught.value.diag.message_primary} {caught.value.diag.message_detail} {caught.value}")
    assert MARK not in "".join(told) + caplog.text
    with pytest.raises(Internal):
        raise failure("exact")
