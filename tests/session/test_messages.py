import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.session import messages as statements
from dpproxy.session.messages import MOST_DECLARED, MOST_STATEMENTS, MOST_TEXT, Words, split
from dpproxy.values.errors import InvalidParameter, Refusal, SyntaxRefused, TooComplex, UndefinedObject


def texts(sql: str) -> list[str]:
    return [source.text for source in split(sql)]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("", []),
        (" ;; -- nothing\n ; /* ; */", []),
        ("SELECT 1;", ["SELECT 1"]),
        ("a;b ; c", ["a", "b", "c"]),
        ("SELECT 'a;b' ; SELECT 2", ["SELECT 'a;b'", "SELECT 2"]),
        ("SELECT 'it''s;' ; x", ["SELECT 'it''s;'", "x"]),
        ('SELECT "a;b"; x', ['SELECT "a;b"', "x"]),
        ("SELECT $$a;b$$; x", ["SELECT $$a;b$$", "x"]),
        ("SELECT $q$a;$$b$q$; x", ["SELECT $q$a;$$b$q$", "x"]),
        (r"SELECT E'a\';b'; x", [r"SELECT E'a\';b'", "x"]),
        (r"SELECT 'a\'; x", [r"SELECT 'a\'", "x"]),
        ("SELECT 1 -- a;b\n; x", ["SELECT 1", "x"]),
        ("SELECT 1 /* a; /* b; */ c; */; x", ["SELECT 1", "x"]),
        ("EXPLAIN (PRIVACY) SELECT ';'; RESET ALL", ["EXPLAIN (PRIVACY) SELECT ';'", "RESET ALL"]),
        ("EXPLAIN (PRIVACY, BUDGET 2) (a; b); c; (d; e)", ["EXPLAIN (PRIVACY, BUDGET 2) (a; b)", "c", "(d", "e)"]),
        ("EXPLAIN (PRIVACY) a; (b; c", ["EXPLAIN (PRIVACY) a", "(b", "c"]),
        ("CALL f(';'); EXECUTE x(';'); y", ["CALL f(';')", "EXECUTE x(';')", "y"]),
    ],
)  # fmt: skip
def test_statements_end_at_semicolons_outside_of_quotes(sql: str, expected: list[str]):
    assert texts(sql) == expected


@pytest.mark.parametrize("sql", ["SELECT 'a", 'SELECT "a;', "SELECT $$ ;", "SELECT /* ; "])
def test_what_does_not_end_is_refused(sql: str):
    with pytest.raises(SyntaxRefused):
        split(sql)


def test_offsets_count_characters():
    sql = "SELECT 'é😀'; -- ü\n SELECT 2"
    second = split(sql)[1]
    assert sql[second.offset :] == "SELECT 2"


@given(
    st.lists(st.sampled_from(["SELECT", "'a;b'", "$$;$$", '";"', "/*;*/", "--;\n", ";", "é", " ", "1", "("]))
)
def test_cut_statements_are_slices_of_the_message(parts: list[str]):
    sql = " ".join(parts)
    for source in split(sql):
        assert sql[source.offset : source.offset + len(source.text)] == source.text
        assert source.text
        assert not source.text.endswith(";")


def test_limits_of_size():
    assert len(split("a;" * MOST_STATEMENTS)) == MOST_STATEMENTS
    with pytest.raises(TooComplex):
        split("a;" * (MOST_STATEMENTS + 1))
    with pytest.raises(TooComplex):
        split(" " * (MOST_TEXT + 1))


@pytest.mark.parametrize(
    "sql", ["SELECT 1;" * 50_000, "(" * 100_001, "'" * 100_001, "ALTER TABLE t " + "a " * 50_000]
)
def test_what_is_too_long_is_not_cut_into_words(sql: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(statements, "pieces", lambda _: pytest.fail("read"))
    with pytest.raises(TooComplex, match="longer than 100000 characters"):
        split(sql)


def test_administrators_may_declare_at_length():
    keys = ", ".join(map(str, range(30_000)))
    sql = f"ALTER TABLE t ALTER COLUMN a SET PRIVACY DOMAIN IN ({keys})"
    assert MOST_TEXT < len(sql) < MOST_DECLARED
    assert len(split(sql, is_admin=True)) == 1
    for refused in (f"SELECT {keys}", sql + " " * MOST_DECLARED):
        with pytest.raises(TooComplex):
            split(refused, is_admin=True)


def test_a_leading_hint_gives_settings_to_its_own_statement():
    sql = "/* tool */ /*+ dp(epsilon=0.2, budget='Re S', confidence = .9) */ SELECT 1; SELECT 2"
    first, second = split(sql)
    assert first.hint == {"dp.epsilon": "0.2", "dp.budget": "Re S", "dp.confidence": ".9"}
    assert first.text == "SELECT 1"
    assert second.hint == {}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT /*+ dp(epsilon=0.2) */ 1",
        "WITH /*+ dp(epsilon=0.2) */ a AS (SELECT 1) SELECT 2",
        "EXPLAIN (PRIVACY) /*+ dp(epsilon=0.2) */ SELECT 1",
        "EXPLAIN (PRIVACY) SELECT /* a */ /*+ dp(epsilon=0.2) */ 1",
        "PREPARE p AS /*+ dp(epsilon=0.2) */ SELECT 1",
        "DECLARE c CURSOR FOR SELECT /*+ dp(epsilon=0.2) */ 1",
    ],
)
def test_a_hint_may_stand_behind_the_first_word_of_the_query(sql: str):
    first, second = split(f"{sql}; SELECT 2")
    assert (first.hint, second.hint) == ({"dp.epsilon": "0.2"}, {})


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 ?",
        "SELECT 1 ?; SELECT 2",
        "SELECT 1; ?",
        "SELECT 1 ?, 2",
        "SELECT (SELECT ? 1)",
        "SELECT 1 UNION ALL SELECT ? 1",
        "EXPLAIN (PRIVACY) (? SELECT 1; SELECT 2)",
        "/*+ dp(epsilon=0.1) */ SELECT ? 1",
        "/*+ dp(epsilon=0.1) */ ? SELECT 1",
        "?",
    ],
)
def test_a_hint_is_never_passed_over(sql: str):
    with pytest.raises(SyntaxRefused, match="hint") as caught:
        split(sql.replace("?", "/*+ dp(epsilon=0.2) */"))
    assert caught.value.position == sql.index("?")
    assert "/*+ dp(epsilon=0.2" in str(caught.value.hint)


@pytest.mark.parametrize(
    "sql",
    [
        "/*+ SeqScan(t) */ SELECT 1",
        "-- /*+ dp(epsilon=0) */\nSELECT 1",
        "SELECT '/*+ dp(epsilon=0.2) */'",
        "SELECT 1 -- /*+ dp(epsilon=0.2) */",
        "/*+ dpx(a=1) */ a",
    ],
)
def test_other_hints_and_comments_are_only_comments(sql: str):
    assert split(sql)[0].hint == {}


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("x; /*+ dp(epsilon=0) */ SELECT 1", InvalidParameter),
        ("x; /*+ dp(noise=off) */ SELECT 1", UndefinedObject),
        ("x; /*+ dp(epsilon=0x1) */ SELECT 1", InvalidParameter),
        ("x; /*+ dp(epsilon='0x1') */ SELECT 1", InvalidParameter),
        ("x; /*+ dp(epsilon=1_0) */ SELECT 1", InvalidParameter),
        ("x; /*+ dp(epsilon=-1) */ SELECT 1", InvalidParameter),
        ("x; /*+ dp(epsilon=1 0) */ SELECT 1", SyntaxRefused),
        ("x; /*+ dp(epsilon=1)) */ SELECT 1", SyntaxRefused),
        ("x; /*+ dp(epsilon) */ SELECT 1", SyntaxRefused),
        ("x; /*+ dp(epsilon=0.1 */ SELECT 1", SyntaxRefused),
        ("x; /*+ dp(epsilon=) */ SELECT 1", SyntaxRefused),
        ("x; /*+ dp(session_epsilon=5) */ SELECT 1", InvalidParameter),
    ],
)
def test_a_wrong_hint_is_refused_where_it_stands(sql: str, error: type[Refusal]):
    with pytest.raises(error) as caught:
        split(sql)
    assert caught.value.position == 3


def test_words_are_read_from_the_left():
    words = Words(split('SAVEPOINT "A b" x')[0])
    assert not words.accept("save")
    words.expect("savepoint")
    assert words.label() == "A b"
    assert words.accept_one("y", "x") == "x"
    words.end()
    with pytest.raises(SyntaxRefused) as caught:
        words.expect("z")
    assert caught.value.position == len('SAVEPOINT "A b" x')


@pytest.mark.parametrize(
    ("written", "value"),
    [("0.2", "0.2"), ("- 1", "-1"), ("+.5", "+.5"), ("1.", "1."), ("1E-2", "1e-2"), ("On", "on"), ("'0x1'", "0x1"),
     ('"A b"', "A b"), ("$$a$$", "a"), ("E'a'", "a")],
)  # fmt: skip
def test_a_value_is_a_string_a_name_or_a_decimal_number(written: str, value: str):
    words = Words(split(written)[0])
    assert words.value() == value
    words.end()


@pytest.mark.parametrize(
    "written", ["0x1", "0X1F", "0x1_0", "0b1", "0o7", "1_0", "1.5_0", "5s", "-0x1", ".0x1"]
)
def test_a_number_that_is_not_decimal_is_no_value(written: str):
    with pytest.raises(InvalidParameter):
        Words(split(written)[0]).value()


@pytest.mark.parametrize("written", ["x'1f'", "b'01'", "n'a'", "- 'a'", "$1", "(", "+", ". a"])
def test_what_else_is_no_value(written: str):
    with pytest.raises(SyntaxRefused):
        Words(split(written)[0]).value()


@pytest.mark.parametrize("sql", ["'a'", "1", ";=", "$1", "x'ab'", "0xab"])
def test_a_name_is_neither_literal_nor_number(sql: str):
    with pytest.raises(SyntaxRefused):
        Words(split(f"x {sql}")[0]).end()
    words = Words(split(f"x {sql}")[0])
    words.expect("x")
    with pytest.raises(SyntaxRefused):
        words.label()


def test_a_quoted_keyword_is_no_keyword():
    assert not Words(split('"begin"')[0]).accept("begin")
    assert Words(split("BEGIN")[0]).accept("begin")
