"""Words, literals, offsets, and where a statement ends."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.sql.lexer import Token, TokenKind, pieces, tokens
from dpproxy.sql.quoting import identifier, literal, quoted
from dpproxy.values.errors import SyntaxRefused


def texts(sql: str) -> list[str]:
    return [token.text for token in tokens(sql)][:-1]


def test_names_are_folded_by_ascii_only_and_quotes_keep_them():
    assert texts('ALTER Visits "Visits" "a""b" ÄRZTE \u212aEY a$1B') == [
        "alter", "visits", "Visits", 'a"b', "Ärzte", "\u212aey", "a$1b",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("'it''s'", "it's"),
        (r"'a\'", "a\\"),
        (r"E'a\n\'\u0041'''", "a\n'A'"),
        (r"E'\x41\101\%\d\xzz'", "AA%dxzz"),
        ("$$a;$b$'$$", "a;$b$'"),
        ("$q$a;$$b$q$", "a;$$b"),
        ("$ä$a$ä$", "a"),
        (r"U&'d\0061t\+000061 \\'", "data \\"),
        (r'u&"d\0061""t"', 'da"t'),
    ],
)
def test_literals_are_unescaped(written: str, text: str):
    assert texts(f"a {written}b") == ["a", text, "b"]


def test_numbers_are_as_written():
    assert texts("1 1.50 .5 1e-5 2E+3 1_0 0x1f 5s 1.x 1$$a$$") == [
        "1", "1.50", ".5", "1e-5", "2E+3", "1_0", "0x1f", "5s", "1.x", "1", "a",
    ]  # fmt: skip


def test_kinds():
    found = [f"{token.kind.name} {token.raw}" for token in tokens("$1 B'01' n'a' a::b<>-1>e $x")]
    assert found == [
        "PARAMETER $1", "PREFIXED B'01'", "PREFIXED n'a'", "WORD a", "SYMBOL ::", "WORD b", "SYMBOL <>", "SYMBOL -",
        "NUMBER 1", "SYMBOL >", "WORD e", "SYMBOL $", "WORD x", "END ",
    ]  # fmt: skip


def test_every_token_knows_where_it_stands():
    sql = "/* a /* b */ */ GRANT -- c\n 'x' ;"
    assert list(tokens(sql)) == [
        Token(TokenKind.WORD, "GRANT", 16),
        Token(TokenKind.TEXT, "'x'", 28),
        Token(TokenKind.SYMBOL, ";", 32),
        Token(TokenKind.END, "", 33),
    ]
    assert next(tokens(sql, comments=True)) == Token(TokenKind.COMMENT, "/* a /* b */ */", 0)


@pytest.mark.parametrize(
    ("sql", "position", "message"),
    [
        ("a 'b''c", 2, "unterminated text"),
        ('a "b', 2, "unterminated quoted name"),
        ("a /* b /* c */", 2, "unterminated comment"),
        ("a $b$ $c$", 2, "unterminated text"),
        (r"a E'\'", 2, "unterminated literal"),
        ("a x'1", 2, "unterminated literal"),
        ("a -- b\n \x01 1", 8, "unexpected character"),
        ('a ""', 2, "empty"),
        ("a 'b\0'", 2, "zero character"),
        (r"a E'bc\ud800'", 6, "escape"),
        (r"a E'\xe9'", 4, "escape"),
        (r"a E'\u00e'", 4, "escape"),
        (r"a E'b\0'", 5, "escape"),
        (r"a U&'\41'", 2, "escape"),
        ("a \x07", 2, "unexpected character"),
    ],
)
def test_what_is_no_token_is_refused_where_it_stands(sql: str, position: int, message: str):
    with pytest.raises(SyntaxRefused, match=message) as caught:
        texts(sql)
    assert caught.value.position == position


def test_statements_are_split_outside_literals_and_comments():
    text = "-- first;\nSHOW 'a;b' ;;\n/* ; */ SHOW \"c;d\" -- end\n"
    first, second = pieces(text)
    assert [first.text, second.text] == ["SHOW 'a;b'", 'SHOW "c;d"']
    assert all(text[piece.offset :].startswith(piece.text) for piece in (first, second))


@given(st.lists(st.sampled_from(["a", "'x;y'", '"q;"', "1", ";", " ", "/*;*/", "--;\n"])))
def test_splitting_keeps_all_tokens(parts: list[str]):
    text = " ".join(parts)
    kept = [token for piece in pieces(text) for token in texts(piece.text)]
    assert kept == [t.text for t in tokens(text) if t.kind not in {TokenKind.SYMBOL, TokenKind.END}]


HOSTILE = (
    "'", "''", '"', "$", "$$", "$a$", "$a", "a$", "/*", "/**/", "*/", "--", "--\n", "E'\\'", "E'\\", "e'", "u&'", "(",
    ";", "1e", ".", "1.", "0x", "\\", "\x00", " ", "\n", "a", "é", "::", "U&'\\", "x'",
)  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_time_is_linear(unit: str):
    """A hundred thousand characters take some tenths of a second; with a scan from each place it would be hours."""
    start = time.process_time()
    for text in (unit * (100_000 // len(unit)), f"{unit} " * 30_000 + "'", "$q$" + unit * 30_000):
        with suppress(SyntaxRefused):
            list(pieces(text))
            texts(text)
    assert time.process_time() - start < 10


@given(st.text())
def test_what_is_quoted_is_read_as_it_was(text: str):
    text = text.replace("\0", "")
    assert texts(literal(text)) == [text]
    if text:
        assert texts(quoted(text)) == texts(identifier(text)) == [text]
