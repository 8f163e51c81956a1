"""COPY TO STDOUT reads its options in both spellings, and sends what a query gives."""

import pytest

from dpproxy.algebra.plan import Answer
from dpproxy.session.commands.copying import read_copy
from dpproxy.session.messages import Words, split
from dpproxy.session.state import OuterStatement
from dpproxy.wire import messages as m
from dpproxy.wire.copying import CopyLayout
from tests.fake_engine import FakeEngine, Playbook, drive, logged_in

IDLE = m.ReadyForQuery(b"I")
CSV = CopyLayout("csv", ",", "")


def read(sql: str) -> OuterStatement:
    words = Words(split(sql)[0])
    words.expect("copy")
    return read_copy(words)


def layout(options: str) -> CopyLayout:
    session = logged_in()
    drive(session, m.Query("PREPARE x AS SELECT region"))
    statement = session._queries.state.statements["x"]
    wrapped = read(f"COPY (SELECT region) TO STDOUT {options}").wrap(statement)
    return wrapped.finish(session._queries.state, Answer("SELECT 0", statement.columns)).layout


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", CopyLayout()),
        ("BINARY", CopyLayout("binary")),
        ("WITH (FORMAT binary)", CopyLayout("binary")),
        ("CSV", CSV),
        ("WITH CSV HEADER", CopyLayout("csv", ",", "", header=True)),
        ("(FORMAT csv, HEADER)", CopyLayout("csv", ",", "", header=True)),
        ("(FORMAT csv, HEADER false)", CSV),
        ("(FORMAT 'csv', DELIMITER ';', NULL 'none')", CopyLayout("csv", ";", "none")),
        ("WITH DELIMITER AS ';' NULL AS ''", CopyLayout(delimiter=";", null="")),
        ("(FORMAT csv, QUOTE '''')", CopyLayout("csv", ",", "", quote="'", escape="'")),
        ("(FORMAT csv, ESCAPE '\\')", CopyLayout("csv", ",", "", escape="\\")),
        ("(FORMAT csv, FORCE_QUOTE *)", CopyLayout("csv", ",", "", force_quote=None)),
        (
            "(FORMAT csv, FORCE_QUOTE (n, mean))",
            CopyLayout("csv", ",", "", force_quote=frozenset({"n", "mean"})),
        ),
        ("CSV FORCE QUOTE n", CopyLayout("csv", ",", "", force_quote=frozenset({"n"}))),
        ("(ENCODING 'utf-8')", CopyLayout()),
    ],
)
def test_options(options: str, expected: CopyLayout):
    assert layout(options) == expected


@pytest.mark.parametrize(
    ("sql", "inner"),
    [
        ("COPY (SELECT (1) AS a) TO STDOUT", "SELECT (1) AS a"),
        ("COPY (SELECT ')' , ( 2 )) TO STDOUT", "SELECT ')' , ( 2 )"),
        ("COPY t TO STDOUT", "SELECT * FROM t"),
        ("COPY t TO STDIN", "SELECT * FROM t"),
        ('COPY public."T" (a, "b c") TO STDOUT', 'SELECT a, "b c" FROM public."T"'),
    ],
)
def test_what_is_copied(sql: str, inner: str):
    assert read(sql).inner.text == inner


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("COPY t FROM STDIN", "0A000"),
        ("COPY (SELECT region) TO '/tmp/x'", "0A000"),
        ("COPY (SELECT region) TO PROGRAM 'sh'", "0A000"),
        ("COPY (SELECT region) TO STDOUT (FORMAT xml)", "22023"),
        ("COPY (SELECT region) TO STDOUT (FORMAT binary, HEADER)", "42601"),
        ("COPY (SELECT region) TO STDOUT (QUOTE 'x')", "0A000"),
        ("COPY (SELECT region) TO STDOUT (DELIMITER 'xy')", "22023"),
        ("COPY (SELECT region) TO STDOUT (DELIMITER ',', NULL 'a,b')", "22023"),
        ("COPY (SELECT region) TO STDOUT (FORMAT csv, HEADER maybe)", "22023"),
        ("COPY (SELECT region) TO STDOUT (FORMAT csv, FORCE_QUOTE (nothing))", "22023"),
        ("COPY (SELECT region) TO STDOUT (ENCODING latin1)", "0A000"),
        ("COPY (SELECT region) TO STDOUT (FREEZE)", "42601"),
        ("COPY (SELECT region) TO STDOUT FREEZE", "42601"),
        ("COPY (SELECT region TO STDOUT", "42601"),
        ("COPY (SHOW timezone) TO STDOUT", "42601"),
        ("COPY t (a, count(*)) TO STDOUT", "42601"),
    ],
)
def test_what_is_refused(sql: str, sqlstate: str):
    engine = FakeEngine()
    assert Playbook(logged_in(engine)) >> m.Query(sql) << m.ErrorResponse(sqlstate, "") << IDLE
    assert not [line for line in engine.log if line.startswith("run")]


def test_a_copy_in_the_simple_protocol():
    assert (
        Playbook(logged_in())
        >> m.Query("COPY (SELECT region) TO STDOUT")
        << m.CopyOutResponse(0, 4)
        << m.CopyRows(b"d\0\0\0\x17north\t10\t1.5\t12.30\nd\0\0\0\x18s\xc3\xbcd\t-3\tInfinity\t\\N\n")
        << m.CopyOutDone()
        << m.NoticeResponse("00000", "cost 0.1")
        << m.CommandComplete("COPY 2")
        << IDLE
    )


def test_a_copy_in_the_extended_protocol():
    session = logged_in()
    assert Playbook(session) >> m.Parse("", "COPY (SELECT $1) TO STDOUT", ()) << m.ParseComplete()
    assert Playbook(session) >> m.Bind("", "", (), (b"7", b"x"), ()) << m.BindComplete()
    assert Playbook(session) >> m.Describe(b"P", "") << m.NoData()
    assert (
        Playbook(session)
        >> m.Execute("", 0)
        << m.CopyOutResponse(0, 2)
        << m.CopyRows(b"d\0\0\0\x087\tx\n")
        << m.CopyOutDone()
        << m.CommandComplete("COPY 1")
    )
    assert Playbook(session) >> m.Execute("", 0) << m.ErrorResponse("55000", "")
    assert Playbook(session) >> m.Sync() << IDLE
