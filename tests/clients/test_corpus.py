"""Tools that are not installed here, by statements in their form: what a real PostgreSQL says, a proxy says too.

Rows of the catalogue are compared as texts. Numbers of objects are the server's own: they are compared as the names
of what they number. Answers about people carry noise at epsilon 1,000,000, and are compared to 1 part in 1,000: the
chance that any of them strays further is below 1e-12.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.clients import shop
from tests.clients.corpus_files import FOLDER, Statement, corpus, read
from tests.postgres import Server, running
from tests.proxies import serving

pytestmark = pytest.mark.external
NEAR = 1e-3
OWN_NUMBERS = 16384
"""The least number of an object that a user of PostgreSQL has made."""
NAMES = """SELECT oid::text, 'relation ' || oid::regclass::text FROM pg_class
  UNION ALL SELECT oid::text, 'type ' || oid::regtype::text FROM pg_type
  UNION ALL SELECT oid::text, 'schema ' || nspname FROM pg_namespace
  UNION ALL SELECT oid::text, 'role ' || rolname FROM pg_roles
  UNION ALL SELECT oid::text, 'database ' || datname FROM pg_database
  UNION ALL SELECT oid::text, 'constraint ' || conname FROM pg_constraint
  UNION ALL SELECT oid::text, 'rule ' || rulename FROM pg_rewrite"""
_OBJECT = re.compile(r"\{(\w+)\}")
Row = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server said: of each column its name and the number of its type, of each value its text."""

    columns: tuple[tuple[str, int], ...]
    rows: tuple[Row, ...]


class Refused(Exception):
    """An error of a server."""

    def __init__(self, sqlstate: str, message: str) -> None:
        super().__init__(f"{sqlstate} {message}")
        self.sqlstate = sqlstate


def text(value: bytes | None) -> str | None:
    """A value of an answer."""
    return None if value is None else value.decode()


class Side:
    """A connection, and the names of the objects that numbers stand for there."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection
        self._names = {
            number: name for number, name in self.ask(NAMES).rows if number and int(number) >= OWN_NUMBERS
        }

    def ask(self, sql: str, parameters: Sequence[str | None] = ()) -> Answer:
        """In the extended protocol. Raises ``Refused``."""
        sent = [None if value is None else value.encode() for value in parameters]
        found = self._connection.pgconn.exec_params(_OBJECT.sub(self._number, sql).encode(), sent)
        if found.status not in {psycopg.pq.ExecStatus.TUPLES_OK, psycopg.pq.ExecStatus.COMMAND_OK}:
            state = found.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b""
            raise Refused(state.decode(), found.error_message.decode())
        width = range(found.nfields)
        return Answer(
            tuple(((found.fname(n) or b"").decode(), found.ftype(n)) for n in width),
            tuple(tuple(text(found.get_value(row, n)) for n in width) for row in range(found.ntuples)),
        )

    def named(self, row: Row) -> Row:
        """With names in place of numbers."""
        return tuple(value if value is None else self._names.get(value, value) for value in row)

    def _number(self, found: re.Match[str]) -> str:
        return str(
            self._connection.execute(f"SELECT '{found[1]}'::regclass::oid::text".encode()).fetchall()[0][0]
        )


@dataclass(frozen=True, slots=True)
class Pair:
    """Ours and a real PostgreSQL."""

    ours: Side
    theirs: Side


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    """One of its own: its roles and the name of its database are those of the proxy."""
    with running() as server:
        yield server


@pytest.fixture(scope="module")
def pair(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with serving(shop.home(tmp_path_factory.mktemp("shop"))) as proxy:
        url = shop.copied(postgres, proxy)
        zone = "-c TimeZone=UTC"
        with (
            psycopg.connect(proxy.dsn(), autocommit=True, options=zone) as ours,
            psycopg.connect(url, autocommit=True, options=zone) as theirs,
        ):
            yield Pair(Side(ours), Side(theirs))


@pytest.mark.parametrize("statement", list(corpus()), ids=lambda one: f"{one.place} {one.title}")
def test_it_is_answered_as_postgres_answers_it(pair: Pair, statement: Statement):
    theirs = pair.theirs.ask(statement.sql, statement.parameters)
    if statement.kind == "refuse":
        assert statement.remarks.get("why"), "say why it is refused"
        with pytest.raises(Refused) as caught:
            pair.ours.ask(statement.sql, statement.parameters)
        assert caught.value.sqlstate == statement.sqlstate, caught.value
        return
    ours = pair.ours.ask(statement.sql, statement.parameters)
    assert_same_columns(statement, ours, theirs)
    if "rows" in statement.remarks:
        return
    if statement.kind == "look":
        assert_same_texts(statement, pair, ours, theirs)
    else:
        assert_same_values(statement, ours, theirs)


def assert_same_columns(statement: Statement, ours: Answer, theirs: Answer) -> None:
    assert [name for name, _ in ours.columns] == [name for name, _ in theirs.columns]
    others = statement.columns("types")
    differ = [(one, other) for one, other in zip(ours.columns, theirs.columns, strict=True) if one != other]
    assert {one for (one, _), _ in differ} == others, differ


def assert_same_texts(statement: Statement, pair: Pair, ours: Answer, theirs: Answer) -> None:
    """As often as there; numbers of objects order them otherwise."""
    left_out = statement.columns("but")
    kept = [n for n, (name, _) in enumerate(theirs.columns) if name not in left_out]
    mine = Counter(tuple(pair.ours.named(row)[n] for n in kept) for row in ours.rows)
    real = Counter(tuple(pair.theirs.named(row)[n] for n in kept) for row in theirs.rows)
    wrong = [f"ours alone: {row}" for row in (mine - real).elements()]
    wrong += [f"theirs alone: {row}" for row in (real - mine).elements()]
    assert not wrong, "\n".join([f"{[theirs.columns[n][0] for n in kept]}", *sorted(wrong)])


def assert_same_values(statement: Statement, ours: Answer, theirs: Answer) -> None:
    """In the order of ORDER BY; with ``keys``, groups that nobody is in may be there."""
    size = int(statement.remarks.get("keys", "0"))
    present = {tuple(map(plain, row[:size])) for row in theirs.rows}
    shown = (
        [row for row in ours.rows if tuple(map(plain, row[:size])) in present] if size else list(ours.rows)
    )
    real, ordered = list(theirs.rows), "ORDER BY" in statement.sql.upper()
    if not ordered:
        shown, real = sorted(shown, key=repr), sorted(real, key=repr)
    assert len(shown) == len(real), (shown, real)
    assert real, "nothing is compared"
    left_out = statement.columns("but")
    for one, other in zip(shown, real, strict=True):
        for (name, _), value, expected in zip(theirs.columns, one, other, strict=True):
            assert name in left_out or is_near(value, expected), (name, one, other)


def plain(text: str | None) -> float | str | None:
    """A number without its form."""
    try:
        return float(text or "x")
    except ValueError:
        return text


def is_near(ours: str | None, theirs: str | None) -> bool:
    one, other = plain(ours), plain(theirs)
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= NEAR * max(1.0, abs(other))
    return ours == theirs


@pytest.mark.parametrize(
    "tool", ["datagrip", "dbeaver", "grafana", "looker", "metabase", "powerbi", "tableau"]
)
def test_every_tool_starts_and_asks(tool: str):
    kinds = Counter(statement.kind for statement in read(FOLDER / f"{tool}.sql"))
    assert kinds["look"] >= 4
    assert kinds["ask"] >= 8 or tool in {"datagrip", "dbeaver"}


def test_a_file_is_read(tmp_path: Path):
    path = tmp_path / "tool.sql"
    path.write_text(
        "About.\n\n-- look here\n-- but: a, b: their own\nSELECT 1;\n-- refuse 42501 rows\n-- why: w\nSELECT\n 2"
    )
    first, second = read(path)
    assert (first.place, first.kind, first.title, first.sql) == ("tool:3", "look", "here", "SELECT 1")
    assert first.columns("but") == {"a", "b"}
    assert (second.kind, second.sqlstate, second.sql, second.remarks) == (
        "refuse",
        "42501",
        "SELECT\n 2",
        {"why": "w"},
    )
