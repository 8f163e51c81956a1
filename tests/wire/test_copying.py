"""The data of COPY, against what PostgreSQL's documentation says of it."""

import csv
import io
import struct
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.values.errors import NumberOutOfRange
from dpproxy.values.pgtypes import INT4, NUMERIC, TEXT, Column
from dpproxy.wire.copying import CopyLayout, copy_messages

COLUMNS = (Column("a", INT4), Column("b", TEXT))
CSV = CopyLayout("csv", ",", "")


def bodies(
    layout: CopyLayout, rows: list[tuple[object, ...]], columns: tuple[Column, ...] = COLUMNS
) -> list[bytes]:
    """What each message holds."""
    data, found = b"".join(copy_messages(layout, columns, rows)), []
    while data:
        size = struct.unpack("!I", data[1:5])[0]
        assert data[:1] == b"d"
        found.append(data[5 : 1 + size])
        data = data[1 + size :]
    return found


def test_text_escapes_what_would_read_otherwise():
    rows = [(1, "tab\there"), (None, "\\N"), (2, None), (3, "line\nand\r\b\f\v;")]
    assert bodies(CopyLayout(), rows) == [
        b"1\ttab\\there\n",
        b"\\N\t\\\\N\n",
        b"2\t\\N\n",
        b"3\tline\\nand\\r\\b\\f\\v;\n",
    ]
    assert bodies(CopyLayout(delimiter=";", null="-"), [(1, "a;b"), (None, "c")]) == [b"1;a\\;b\n", b"-;c\n"]


def test_csv_quotes_what_would_read_otherwise():
    rows = [(1, "plain"), (2, 'say "x", y'), (None, ""), (3, None), (4, "two\nlines")]
    assert bodies(CSV, rows) == [
        b"1,plain\n",
        b'2,"say ""x"", y"\n',
        b',""\n',
        b"3,\n",
        b'4,"two\nlines"\n',
    ]
    assert bodies(CopyLayout("csv", ",", "", header=True, force_quote=None), [(1, "x"), (None, "y")]) == [
        b"a,b\n",  # as in PostgreSQL, FORCE_QUOTE is about values
        b'"1","x"\n',
        b',"y"\n',
    ]
    assert bodies(CopyLayout("csv", ",", "", escape="\\"), [(1, 'a"b\\c')]) == [b'1,"a\\"b\\\\c"\n']
    assert bodies(CSV, [("\\.",)], (Column("b", TEXT),)) == [b'"\\."\n']


@given(
    st.lists(
        st.tuples(
            st.integers(-9, 9), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
        )
    )
)
def test_csv_reads_back(rows: list[tuple[int, str]]):
    text = b"".join(bodies(CSV, rows)).decode()
    assert [(int(a), b) for a, b in csv.reader(io.StringIO(text, newline=""))] == rows


def test_binary_has_a_header_and_an_end():
    header = b"PGCOPY\n\xff\r\n\0" + bytes(8)
    one = struct.pack("!hiii", 2, 4, 7, 1) + b"x"
    assert bodies(CopyLayout("binary"), [(7, "x"), (None, "y")]) == [
        header + one,
        struct.pack("!hii", 2, -1, 1) + b"y",
        b"\xff\xff",
    ]
    assert bodies(CopyLayout("binary"), []) == [header + b"\xff\xff"]


def test_many_rows_are_one_message_each():
    rows = [(i, "x") for i in range(2500)]
    assert len(bodies(CopyLayout(), rows)) == 2500
    assert len(list(copy_messages(CopyLayout(), COLUMNS, rows))) == 3


def test_a_number_keeps_its_scale():
    column = Column("n", NUMERIC.with_precision(10, 2))
    assert bodies(CopyLayout(), [(Decimal("1.5"),)], (column,)) == [b"1.50\n"]


def test_a_value_out_of_range_is_refused():
    with pytest.raises(NumberOutOfRange):
        bodies(CopyLayout(), [(2**40, "x")])


class Held(Sequence[tuple[object, ...]]):
    """Rows by column."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __len__(self) -> int:
        return self.table.num_rows

    def __getitem__(self, index: slice) -> "Held":  # type: ignore[override]
        return Held(self.table[index])

    def arrays(self) -> list[pa.Array]:
        return [column.combine_chunks() for column in self.table.columns]


TEXTS_OF_ALL_KINDS = [
    "plain", "a,b", 'say "x"', "tab\there", "back\\slash", "", None, "\\N", "two\nlines", "\\.", "ünï", ";",
]  # fmt: skip


@pytest.mark.parametrize(
    "layout",
    [
        CopyLayout(),
        CopyLayout(delimiter=";", null="-"),
        CSV,
        CopyLayout("csv", ";", "plain", header=True, force_quote=frozenset({"a"})),
        CopyLayout("csv", ",", "", escape="\\"),
        CopyLayout("binary"),
        CopyLayout("csv", ",", "", force_quote=None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("width", [1, 2])
def test_rows_by_column_are_the_same(layout: CopyLayout, width: int):
    columns = (Column("b", TEXT), Column("a", INT4))[:width]
    rows = [
        (text, None if number % 3 == 0 else number)[:width] for number, text in enumerate(TEXTS_OF_ALL_KINDS)
    ]
    kinds = (pa.string(), pa.int32())[:width]
    arrays = [pa.array([row[at] for row in rows], kind) for at, kind in enumerate(kinds)]
    held = Held(pa.table(arrays, names=["b", "a"][:width]))
    assert b"".join(copy_messages(layout, columns, held)) == b"".join(copy_messages(layout, columns, rows))
    assert b"".join(copy_messages(layout, columns, held[:0])) == b"".join(copy_messages(layout, columns, []))


@pytest.mark.parametrize(
    "layout",
    [
        CopyLayout(),
        CopyLayout(delimiter="1"),
        CSV,
        CopyLayout("csv", "2", ""),
        CopyLayout("csv", ",", "", escape="p"),
    ],
)
@pytest.mark.parametrize("text", [*TEXTS_OF_ALL_KINDS, "\r", "\b", "x1", "22"])
def test_what_is_odd_is_found_in_one_row(layout: CopyLayout, text: str | None):
    columns = (Column("b", TEXT), Column("a", INT4))
    held = Held(pa.table([pa.array(["before", text])[1:], pa.array([312], pa.int32())], names=["b", "a"]))
    assert b"".join(copy_messages(layout, columns, held)) == b"".join(
        copy_messages(layout, columns, [(text, 312)])
    )
