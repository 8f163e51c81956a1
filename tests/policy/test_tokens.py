"""Words, offsets and what is recognised as ours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.policy.tokens import Kind, Token, is_privacy_statement, split_statements, tokens
from dpproxy.values.errors import SyntaxRefused


def texts(sql: str) -> list[str]:
    return [token.text for token in tokens(sql)][:-1]


def test_names_are_folded_by_ascii_only_and_quotes_keep_them():
    assert texts('ALTER Visits "Visits" "a""b" ÄRZTE \u212aEY') == [
        "alter", "visits", "Visits", 'a"b', "Ärzte", "\u212aey",
    ]  # fmt: skip


def test_literals_are_unescaped_and_numbers_kept_as_written():
    assert texts(r"'it''s' E'a\n\'\u0041' 1 1.50 .5 1e-5 2E+3") == [
        "it's", "a\n'A", "1", "1.50", ".5", "1e-5", "2E+3",
    ]  # fmt: skip


def test_every_token_knows_where_it_stands():
    sql = "/* a /* b */ */ GRANT -- c\n 'x' ;"
    found = list(tokens(sql))
    assert found == [
        Token(Kind.WORD, "grant", 16, 21),
        Token(Kind.STRING, "x", 28, 31),
        Token(Kind.SYMBOL, ";", 32, 33),
        Token(Kind.END, "", 33, 33),
    ]


@pytest.mark.parametrize(
    ("sql", "position", "message"),
    [
        ("a 'b''c", 2, "unterminated text"),
        ('a "b', 2, "unterminated quoted name"),
        ("a /* b /* c */", 2, "unterminated comment"),
        ("a $1", 2, '"$"'),
        ("a b$c", 3, '"$"'),
        ("12ab", 2, "right after a number"),
        ('a ""', 2, "empty"),
        ("a 'b\0'", 2, "zero character"),
        (r"a E'bc\ud800'", 6, "escape"),
        (r"a E'\x41'", 4, "escape"),
        ("a \x07", 2, "unexpected character"),
    ],
)
def test_what_is_no_token_is_refused_where_it_stands(sql: str, position: int, message: str):
    with pytest.raises(SyntaxRefused, match=message.replace("$", r"\$")) as caught:
        list(tokens(sql))
    assert caught.value.position == position


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE t SET PRIVACY PUBLIC",
        ' /*+ dp(epsilon=1) */ alter\ttable "T" alter column c set privacy hidden',
        "CREATE PRIVACY BUDGET b LIMIT EPSILON 1",
        "DROP PRIVACY BUDGET b",
        "GRANT SELECT ON t TO r",
        "revoke nonsense",
        "ADVANCE PRIVACY DATA VERSION",
        "SHOW PRIVACY BUDGETS",
        "CREATE PROTECTED VIEW v AS SELECT 1",
        "REFRESH PROTECTED VIEW v",
        "VERIFY PROTECTED VIEW v",
        "DROP PROTECTED VIEW v",
        "SUGGEST PRIVACY FOR t",
        "GRANT",
    ],
)
def test_privacy_statements_are_recognised(sql: str):
    assert is_privacy_statement(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "SELECT 'SET PRIVACY'",
        "SHOW server_version",
        'SHOW "privacy"',
        '"grant" select',
        "ALTER TABLE t ADD COLUMN c int",
        "ALTER TABLE t SET 'privacy'",
        "EXPLAIN (PRIVACY) SELECT 1",
        "CREATE VIEW privacy AS SELECT 1",
        "ALTER TABLE $1 SET PRIVACY",
        "'unterminated",
    ],
)
def test_other_statements_are_not(sql: str):
    assert not is_privacy_statement(sql)


@given(st.text())
def test_recognising_never_raises(sql: str):
    assert is_privacy_statement(sql) in {True, False}


def test_statements_are_split_outside_literals_and_comments():
    text = "-- first;\nSHOW 'a;b' ;;\n/* ; */ SHOW \"c;d\" -- end\n"
    pieces = split_statements(text)
    assert [piece.text for piece in pieces] == ["SHOW 'a;b'", 'SHOW "c;d"']
    assert all(text[piece.offset :].startswith(piece.text) for piece in pieces)


@given(st.lists(st.sampled_from(["a", "'x;y'", '"q;"', "1", ";", " ", "/*;*/", "--;\n"])))
def test_splitting_keeps_all_tokens(parts: list[str]):
    text = " ".join(parts)
    kept = [token for piece in split_statements(text) for token in texts(piece.text)]
    symbols = [t.text for t in tokens(text) if t.kind not in {Kind.SYMBOL, Kind.END}]
    assert kept == symbols
