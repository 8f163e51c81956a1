import sqlite3
from collections.abc import Callable
from contextlib import closing
from fractions import Fraction

import pytest
from msgspec.structs import replace

from dpproxy.accounting import book, schema
from dpproxy.accounting.chain import Mismatch, Seals
from dpproxy.accounting.model import Account, AccountKind, Cost, LedgerEntry, Posting, key_of
from dpproxy.accounting.walk import PAGE, ChainPlace, Segment, check_releases, walk
from tests.accounting.conftest import Home

SEALS = Seals(bytes(range(32)))
BEGIN = ChainPlace(0, b"m" * 32, 0)


def entry(number: int, **more: object) -> LedgerEntry:
    """One with two debits, of the accounts and texts that need care."""
    postings = (
        Posting(Account.user("rés", f"anna {number % 3}"), 10**18, 5, "1/3", "1/7"),
        Posting(Account.ceiling("people", "g:north"), None, 5, "1/3", "1/7"),
    )
    made = LedgerEntry(
        number, "charge", 10**15 + number, "ännä", b"s" * 32, 1, 2, "", 5, "1/3", "1/7", b"r" * 32, number,
        "count\x00 on people", "", postings,
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]


def written(*entries: LedgerEntry) -> tuple[sqlite3.Connection, list[bytes]]:
    """A ledger of these entries, and their macs as ``Seals`` computes them."""
    connection = sqlite3.connect(":memory:")
    for statement in schema.DDL:
        connection.execute(statement)
    mac, lines = BEGIN.mac, []
    for one in entries:
        mac = SEALS.entry(mac, one)
        lines.append((one, mac))
    book.write_entries(connection, lines)
    return connection, [mac for _, mac in lines]


def test_the_macs_are_those_of_canonical_entries():
    reset = Posting(replace(Account.user("b", "c"), window=2**32), None, 0)
    connection, macs = written(
        entry(1),
        entry(2, kind="adopt", origin=1, postings=(Posting(Account.user("b", "eve"), 0, 5, rho="1/7"),)),
        entry(3, postings=()),
        entry(4, kind="reset", nano=0, delta="0", rho="0", note="a reason: 5", postings=(reset,)),
    )
    with closing(connection):
        walked = walk(connection, SEALS, BEGIN, 4)
    assert (walked.end, walked.debits, walked.late) == (ChainPlace(4, macs[3], 10**15 + 4), 4, 0)
    assert walked.sums[key_of(Account.user("b", "eve"))] == Cost(5, rho=Fraction(1, 7))
    assert walked.sums[key_of(reset.account)] == Cost()


@pytest.mark.parametrize(
    "name", ["a\tb", "a\nb", 'a"b', "a\\b", "a\\u0000b", "a\x00b", "", "null", "\x7f\u2028é🙂"]
)
def test_any_name_is_encoded_as_it_is(name: str):
    posting = Posting(Account(AccountKind.USER, name, name, name, 2**40), None, 5, "1/3", "1/7")
    one = entry(1, who=name, mechanism=name, label=name, note=name, postings=(posting,))
    connection, macs = written(one)
    with closing(connection):
        walked = walk(connection, SEALS, BEGIN, 1)
    assert walked.end.mac == macs[0]
    assert walked.sums == {key_of(posting.account): Cost(5, Fraction(1, 3), Fraction(1, 7))}


def test_pieces_add_up_to_the_whole():
    connection, _ = written(*map(entry, range(1, 8)))
    with closing(connection):
        whole = walk(connection, SEALS, BEGIN, 7)
        first = walk(connection, SEALS, BEGIN, 3)
        first.follow(walk(connection, SEALS, first.end, 7))
    assert first == whole
    assert whole.sums[key_of(Account.ceiling("people", "g:north"))] == Cost(35, Fraction(7, 3), Fraction(1))


def test_a_walk_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("dpproxy.accounting.walk.PAGE", 3)
    connection, macs = written(*map(entry, range(1, 10)))
    parts: list[float] = []
    with closing(connection):
        walk(connection, SEALS, ChainPlace(1, macs[0], 10**15 + 1), 9, parts.append)
    assert parts == [3 / 8, 6 / 8, 1]


def test_what_is_for_a_release_of_before_is_counted():
    connection, _ = written(
        entry(1), entry(2, origin=1, postings=(Posting(Account.user("b", "eve"), 0, 5, rho="1/7"),)), entry(3)
    )
    with closing(connection):
        begin = walk(connection, SEALS, BEGIN, 1).end
        assert walk(connection, SEALS, begin, 3) == walk(connection, SEALS, begin, 3)
        found = walk(connection, SEALS, begin, 3)
        assert (found.debits, found.late) == (3, 1)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET who = 'eve' WHERE sequence = 2",
        "UPDATE debit SET nano = 1 WHERE sequence = 2",
        "UPDATE debit SET limit_nano = NULL WHERE sequence = 2",
        "DELETE FROM debit WHERE sequence = 2",
        "DELETE FROM entry WHERE sequence = 2",
        "DELETE FROM entry WHERE sequence = 3",
        "UPDATE debit SET kind = 'guest' WHERE sequence = 2",
        "UPDATE debit SET position = position + 1 WHERE sequence = 2",
        "UPDATE entry SET at = 1 WHERE sequence = 3",
    ],
)
def test_whatever_is_altered_is_noticed(statement: str):
    connection, _ = written(*map(entry, range(1, 4)))
    with closing(connection):
        for name in (name for name, sql in schema.GUARDS.items() if "TRIGGER" in sql):
            connection.execute(f"DROP TRIGGER {name}")
        assert connection.execute(statement).rowcount
        with pytest.raises((Mismatch, ValueError)):
            walk(connection, SEALS, BEGIN, 3)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entry SET at = at + 0.5 WHERE sequence = 2",
        "UPDATE entry SET at = cast(at AS TEXT) WHERE sequence = 2",
        "UPDATE entry SET origin = 2.5 WHERE sequence = 2",
        "UPDATE debit SET position = cast(position AS TEXT) WHERE sequence = 2",
        "UPDATE debit SET position = position + 0.0 WHERE sequence = 2",
        "UPDATE debit SET position = NULL WHERE sequence = 2 AND position = 1",
        "INSERT INTO debit VALUES (2, 'user', 'eve', '', '', 0, 2, NULL, 0, 0, '0', '0')",
        """UPDATE debit SET position = '0	["user","rés","anna 2","",0]	[1000000000000000000,5,"1/3","1/7"]
'
        || '1	["ceiling","people","g:north","",0]	[null,5,"1/3","1/7"]' WHERE sequence = 2 AND position = 0;
        DELETE FROM debit WHERE sequence = 2 AND position = 1""",
    ],
)
def test_so_is_whatever_is_of_another_type(statement: str):
    """As in a file whose tables were made anew without types, then called strict again: see ``_since``."""
    connection, _ = written(*map(entry, range(1, 4)))
    with closing(connection):
        for table in ("entry", "debit"):
            connection.execute(f"CREATE TABLE lax AS SELECT * FROM {table}")
            connection.execute(f"DROP TABLE {table}")
            connection.execute("ALTER TABLE lax RENAME TO x")
            names = [name for _, name, *_ in connection.execute("PRAGMA table_info(x)")]
            connection.execute(f"CREATE TABLE {table} ({', '.join(names)})")
            connection.execute(f"INSERT INTO {table} SELECT * FROM x")
            connection.execute("DROP TABLE x")
        assert walk(connection, SEALS, BEGIN, 3).debits == 6
        connection.executescript(statement)
        with pytest.raises((Mismatch, ValueError, TypeError)):
            walk(connection, SEALS, BEGIN, 3)


def test_encodings_that_were_forgotten_are_made_anew(monkeypatch: pytest.MonkeyPatch):
    connection, _ = written(*(entry(number, label=f"of {number}") for number in range(1, 30)))
    with closing(connection):
        whole = walk(connection, SEALS, BEGIN, 29)
        monkeypatch.setattr("dpproxy.accounting.walk.REMEMBERED", 3)
        monkeypatch.setattr("dpproxy.accounting.walk.PAGE", 4)
        assert walk(connection, SEALS, BEGIN, 29) == whole
    assert PAGE > 29


def test_a_release_that_was_altered_is_noticed():
    connection, _ = written(entry(1), entry(2))
    with closing(connection):
        rows = [(n, b"k" * 32, 5, b"rows", SEALS.release(n, b"k" * 32, 5, b"rows")) for n in (1, 2)]
        book.write_releases(connection, rows)
        check_releases(connection, SEALS, 0, 2)
        connection.execute("UPDATE release SET payload = x'00' WHERE origin = 2")
        check_releases(connection, SEALS, 0, 1)
        with pytest.raises(Mismatch, match="a stored release was altered"):
            check_releases(connection, SEALS, 1, 2)


def test_a_ledger_of_either_kind_is_walked(home: Home, make: Callable[..., object]):
    with home.open() as ledger:
        for number in range(5):
            ledger.reserve(make(nano=number + 1, question=str(number), delta=Fraction(1, 7)))  # type: ignore[arg-type]
        with closing(home.store.connect(writing=False)) as connection:
            head = book.read_head(connection, ledger.seals)
            begin = ChainPlace(0, ledger.seals.genesis(head.ledger, head.format).mac, 0)
            walked: Segment = walk(connection, ledger.seals, begin, 5)
    assert walked.end == ChainPlace(5, head.mac, head.at)
    assert walked.sums[key_of(Account.budget("research"))].nano == 15
