"""Budgets, grants and listings, as they are read and as they are refused."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpproxy.policy.forms import form_hint
from dpproxy.policy.interval import CalendarInterval, Step
from dpproxy.policy.model import ColumnClass, Composition, Exposure, Outside
from dpproxy.policy.parser import is_privacy_statement, parse
from dpproxy.policy.statements import (
    AdvanceDataVersion,
    Amount,
    CreateBudget,
    CreateTaxonomy,
    CreateView,
    DropBudget,
    DropTaxonomy,
    DropView,
    GrantSelect,
    Listing,
    Literal,
    LiteralKind,
    RefreshView,
    ResetBudget,
    RevokeSelect,
    SetBetween,
    SetBlocks,
    SetCeiling,
    SetColumnClass,
    SetColumnHidden,
    SetComposite,
    SetDiscovered,
    SetExpectedRows,
    SetExposure,
    SetForeignKey,
    SetKey,
    SetMembers,
    SetReferences,
    SetTaxonomy,
    Show,
    Statement,
    Suggest,
    VerifyViews,
)
from dpproxy.sql.cursor import Name
from dpproxy.values.errors import InvalidParameter, Refusal, SyntaxRefused, Unsupported

B = Name("b")


@pytest.mark.parametrize("reason", ["''", "'  '", f"'{'x' * 1001}'"])
def test_a_reason_is_given_and_not_a_novel(reason: str):
    sql = f"RESET PRIVACY BUDGET b REASON {reason}"
    with pytest.raises(InvalidParameter, match="a reason has 1 to 1000 characters") as caught:
        parse(sql)
    assert caught.value.position == sql.index("'")


@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        ("CREATE PRIVACY BUDGET b LIMIT EPSILON 8", CreateBudget(B, Amount("LIMIT EPSILON", 8))),
        (
            """CREATE PRIVACY BUDGET b LIMIT EPSILON 8 DELTA 1e-6 USER LIMIT EPSILON 2 SESSION LIMIT EPSILON 1
               MAX EPSILON 0.5 DEFAULT EPSILON 0.1 REFRESH NEVER""",
            CreateBudget(
                B,
                Amount("LIMIT EPSILON", 8),
                Amount("LIMIT DELTA", Fraction(1, 10**6)),
                Amount("USER LIMIT EPSILON", 2),
                Amount("SESSION LIMIT EPSILON", 1),
                Amount("MAX EPSILON", Fraction(1, 2)),
                Amount("DEFAULT EPSILON", Fraction(1, 10)),
            ),
        ),
        (
            "CREATE PRIVACY BUDGET b LIMIT EPSILON 8 REFRESH EVERY '1 month'",
            CreateBudget(B, Amount("LIMIT EPSILON", 8), refresh=CalendarInterval(1, Step.MONTH)),
        ),
        (
            "CREATE PRIVACY BUDGET b LIMIT EPSILON 8 REFRESH NEVER SHARE RELEASES",
            CreateBudget(B, Amount("LIMIT EPSILON", 8), shares=True),
        ),
        ("RESET PRIVACY BUDGET b REASON 'a new study'", ResetBudget(B, None, "a new study")),
        (
            "reset privacy budget b for user \"Ann B\" reason ' she left; it''s his now '",
            ResetBudget(B, Name("Ann B"), "she left; it's his now"),
        ),
        ("drop privacy budget b;;", DropBudget(B)),
        (
            "GRANT SELECT ON t, public.u TO r, s WITH PRIVACY BUDGET b",
            GrantSelect((Name("t"), Name("u")), (Name("r"), Name("s")), B),
        ),
        ("GRANT SELECT ON TABLE t TO r", GrantSelect((Name("t"),), (Name("r"),))),
        ("REVOKE SELECT ON t FROM r", RevokeSelect((Name("t"),), (Name("r"),))),
        ("ADVANCE PRIVACY DATA VERSION", AdvanceDataVersion()),
        ("SHOW PRIVACY BUDGETS", Show(Listing.BUDGETS)),
        ("SHOW PRIVACY GRANTS", Show(Listing.GRANTS)),
        ("SHOW PRIVACY POLICY", Show(Listing.POLICY)),
        ("SHOW PRIVACY POLICY FOR t", Show(Listing.POLICY, Name("t"))),
        ("SUGGEST PRIVACY FOR public.t;", Suggest(Name("t"))),
        (
            "SUGGEST PRIVACY FOR t WITH EPSILON 0.1",
            Suggest(Name("t"), Amount("WITH EPSILON", Fraction(1, 10))),
        ),
    ],
)
def test_statements(sql: str, statement: Statement):
    assert parse(sql) == statement


@pytest.mark.parametrize(
    ("sql", "at", "message", "hint"),
    [
        (
            "CREATE PRIVACY BUGDET b LIMIT EPSILON 1",
            "BUGDET",
            'expected TAXONOMY, CUBE or BUDGET after PRIVACY, found "bugdet"',
            "Did you mean BUDGET?",
        ),
        (
            "CREATE PRIVACY BUDGET b LIMIT EPSILON 8 MAX EPSLON 4",
            "EPSLON",
            'expected EPSILON after MAX, found "epslon"',
            "Did you mean EPSILON?",
        ),
        (
            "CREATE PRIVACY BUDGET b LIMIT EPSILON 'x'",
            "'x'",
            "expected a number after LIMIT EPSILON, found a text",
            None,
        ),
        (
            "GRANT SELECT ON t TOO r",
            "TOO",
            'expected ".", "," or TO after the table\'s name, found "too"',
            "Did you mean TO?",
        ),
        (
            "SHOW PRIVACY BUDGETS FOR t",
            "FOR",
            'expected the end of the statement after "budgets", found "for"',
            None,
        ),
        ("GRANT r TO s", "r TO", 'expected EXACT or SELECT after GRANT, found "r"', None),
        (
            "SELECT 1",
            "SELECT",
            (
                "expected ALTER, CREATE, DROP, GRANT, REVOKE, ADVANCE, SHOW, SUGGEST, REFRESH, VERIFY or RESET, "
                'found "select"'
            ),
            None,
        ),
        ("RESET PRIVACY BUDGET b;", ";", 'expected FOR or REASON after the budget\'s name, found ";"', None),
        (
            "RESET PRIVACY BUDGET b REASON why",
            "why",
            'expected a text in quotes after REASON, found "why"',
            None,
        ),
        (
            "CREATE PRIVACY BUDGET b LIMIT EPSILON 1 REFRESH EVERY month",
            "month",
            'expected a text in quotes after EVERY, found "month"',
            None,
        ),
        ("SUGGEST PRIVACY OF t", "OF", 'expected FOR after PRIVACY, found "of"', None),
        ("SUGGEST PRIVACY FOR t WITH 1", "1", "expected EPSILON after WITH, found a number", None),
        ("ADVANCE PRIVACY; SELECT 1", ";", 'expected DATA after PRIVACY, found ";"', None),
        (
            "ADVANCE PRIVACY DATA VERSION; SELECT 1",
            "SELECT",
            'expected the end of the statement after "version", found "select"',
            None,
        ),
    ],
)
def test_a_mistake_is_shown_where_it_stands(sql: str, at: str, message: str, hint: str | None):
    with pytest.raises(SyntaxRefused) as caught:
        parse(sql)
    assert (caught.value.message, caught.value.hint) == (message, hint or form_hint(sql))
    assert caught.value.position == sql.index(at)


@pytest.mark.parametrize(
    ("sql", "construct", "at"),
    [
        ("GRANT EXACT SELECT ON t TO r WITH PRIVACY BUDGET b", "EXACT SELECT with a budget", "WITH"),
        ("GRANT SELECT (c) ON t TO r", "SELECT on single columns", "("),
        ("GRANT SELECT ON t TO r WITH GRANT OPTION", "WITH GRANT OPTION", "GRANT OPTION"),
    ],
)
def test_what_is_not_there_yet_is_named(sql: str, construct: str, at: str):
    with pytest.raises(Unsupported) as caught:
        parse(sql)
    assert caught.value.message == f"{construct} is not supported yet"
    assert caught.value.position == sql.index(at)


_WORDS = """ALTER TABLE t SET PRIVACY KEY ( c ) ROW MAX ROWS 1 COLUMN DOMAIN IN 'a' , BETWEEN AND CREATE BUDGET LIMIT
SUGGEST REFERENCES DISCOVERED EPSILON 0.5 DELTA GRANT SELECT ON TO WITH REVOKE FROM SHOW POLICY FOR ; . - CEILING
HIDDEN PUBLIC DATE NULL"""


def refusal_of(sql: str) -> Refusal | None:
    try:
        parse(sql)
    except Refusal as refusal:
        return refusal
    return None


@given(st.lists(st.sampled_from(_WORDS.split()), max_size=15))
def test_any_sequence_of_words_is_read_or_refused_within_the_text(words: list[str]):
    sql = " ".join(words)
    refusal = refusal_of(sql)
    if refusal is not None:
        assert refusal.sqlstate in {"42601", "42P01", "0A000", "22P02"}
        assert refusal.position is not None
        assert 0 <= refusal.position <= len(sql)


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
        "ALTER TABLE t SET (\"privacy\" = 'privacy')",
        "'unterminated",
    ],
)
def test_other_statements_are_not(sql: str):
    assert not is_privacy_statement(sql)


@given(st.text())
def test_recognising_never_raises(sql: str):
    assert is_privacy_statement(sql) in {True, False}


T, C = Name("t"), Name("c")
EXPECTED_OF_TABLES = "expected KEY, PUBLIC, HIDDEN, CEILING, EXPECTED, DOMAIN, FOREIGN, BLOCKS or QUANTILES"
TABLE = "ALTER TABLE t SET PRIVACY "
COLUMN = "ALTER TABLE t ALTER COLUMN c SET PRIVACY "


def number(value: int | Fraction) -> Literal:
    return Literal(LiteralKind.NUMBER, value)


@pytest.mark.parametrize(
    ("sql", "statement"),
    [
        (TABLE + "KEY (c)", SetKey(T, C)),
        (TABLE + "KEY ROW", SetKey(T, None)),
        (TABLE + 'KEY ("row")', SetKey(T, Name("row"))),
        (
            TABLE + "KEY (c) REFERENCES public.p (id) MAX ROWS 20 MAX GROUPS 5",
            SetKey(T, C, (Name("p"), Name("id")), Amount("MAX ROWS", 20), Amount("MAX GROUPS", 5)),
        ),
        (TABLE + "KEY (c) MAX GROUPS 5", SetKey(T, C, None, None, Amount("MAX GROUPS", 5))),
        (TABLE + "PUBLIC", SetExposure(T, Exposure.PUBLIC)),
        (TABLE + "hidden;", SetExposure(T, Exposure.HIDDEN)),
        (
            TABLE + "CEILING EPSILON 20 DELTA 1e-5 ACCOUNTANT BASIC",
            SetCeiling(
                T,
                Amount("CEILING EPSILON", 20),
                Amount("CEILING DELTA", Fraction(1, 100_000)),
                Composition.BASIC,
            ),
        ),
        (
            TABLE + "CEILING EPSILON 1 DELTA 0.1 ACCOUNTANT ZCDP",
            SetCeiling(
                T, Amount("CEILING EPSILON", 1), Amount("CEILING DELTA", Fraction(1, 10)), Composition.ZCDP
            ),
        ),
        (TABLE + "BLOCKS BY (region)", SetBlocks(T, Name("region"))),
        (TABLE + "BLOCKS HIDDEN", SetBlocks(T, None)),
        (TABLE + "CEILING EPSILON 0.5", SetCeiling(T, Amount("CEILING EPSILON", Fraction(1, 2)))),
        (TABLE + "EXPECTED ROWS 2000000", SetExpectedRows(T, Amount("EXPECTED ROWS", 2_000_000))),
        (COLUMN + "DOMAIN BETWEEN -5 AND 110", SetBetween(T, C, number(-5), number(110))),
        (
            COLUMN + "DOMAIN BETWEEN 0 AND 0.5 OUTSIDE NULL",
            SetBetween(T, C, number(0), number(Fraction(1, 2)), Outside.NULL),
        ),
        (
            COLUMN + "DOMAIN BETWEEN -5 AND 110 NOT NULL",
            SetBetween(T, C, number(-5), number(110), not_null=True),
        ),
        (
            COLUMN + "DOMAIN BETWEEN 0 AND 1 OUTSIDE NULL NOT NULL",
            SetBetween(T, C, number(0), number(1), Outside.NULL, not_null=True),
        ),
        (
            COLUMN + "DOMAIN IN ('f', NULL)",
            SetMembers(T, C, (Literal(LiteralKind.TEXT, "f"), Literal(LiteralKind.NULL, None))),
        ),
        (COLUMN + "DOMAIN IN ()", SetMembers(T, C, ())),
        (
            COLUMN + "DOMAIN REFERENCES public.wards (ward)",
            SetReferences(T, C, (Name("wards"), Name("ward"))),
        ),
        (COLUMN + "DOMAIN DISCOVERED", SetDiscovered(T, C)),
        (
            TABLE + "DOMAIN (c, d) REFERENCES wards (a, b)",
            SetComposite(T, (C, Name("d")), (Name("wards"), (Name("a"), Name("b")))),
        ),
        (TABLE + "DOMAIN (c, d) HIDDEN", SetComposite(T, (C, Name("d")))),
        (
            TABLE + "FOREIGN KEY (c, d) REFERENCES public.u (a, b)",
            SetForeignKey(T, (C, Name("d")), (Name("u"), (Name("a"), Name("b")))),
        ),
        (TABLE + "FOREIGN KEY (c) HIDDEN", SetForeignKey(T, (C,))),
        (COLUMN + "HIDDEN", SetColumnHidden(T, C)),
        ("ALTER TABLE t ALTER c SET PRIVACY HIDDEN", SetColumnHidden(T, C)),
        (COLUMN + "CLASS IDENTIFIER", SetColumnClass(T, C, ColumnClass.IDENTIFIER)),
        (COLUMN + "CLASS QUASI IDENTIFIER", SetColumnClass(T, C, ColumnClass.QUASI_IDENTIFIER)),
        (COLUMN + "CLASS SENSITIVE", SetColumnClass(T, C, ColumnClass.SENSITIVE)),
    ],
)
def test_alter_table(sql: str, statement: Statement):
    assert parse(sql) == statement


def test_names_keep_their_place():
    found = parse(COLUMN + "HIDDEN")
    assert isinstance(found, SetColumnHidden)
    assert (found.table.position, found.column.position) == (12, 27)


@pytest.mark.parametrize(
    ("sql", "at", "message", "hint"),
    [
        (
            COLUMN + "DOMIAN BETWEEN 1 AND 2",
            "DOMIAN",
            'expected DOMAIN, HIDDEN, CLASS or QUANTILES after SET PRIVACY, found "domian"',
            "Did you mean DOMAIN?",
        ),
        (
            TABLE + "KYE (c)",
            "KYE",
            f'{EXPECTED_OF_TABLES} after SET PRIVACY, found "kye"',
            "Did you mean KEY?",
        ),
        (COLUMN + "DOMAIN BETWEEN 1 2", "2", "expected AND after the lower bound, found a number", None),
        (TABLE + "KEY c", "c", 'expected ROW or "(" after KEY, found "c"', None),
        (
            TABLE + "KEY (c) MAX ROW 2",
            "ROW 2",
            'expected ROWS or GROUPS after MAX, found "row"',
            "Did you mean ROWS?",
        ),
        (TABLE + "KEY (c) MAX ROWS 2 MAX ROWS 3", "MAX ROWS 3", "MAX ROWS is given twice", None),
        (
            TABLE + "KEY (c) MAXROWS 2",
            "MAXROWS",
            'expected REFERENCES, MAX or the end of the statement after ")", found "maxrows"',
            "Did you mean MAX?",
        ),
        (
            "ALTER TABLE t DROP PRIVACY",
            "DROP",
            'expected ".", SET or ALTER after the table\'s name, found "drop"',
            "A declaration is taken back by SET PRIVACY HIDDEN.",
        ),
        (COLUMN + "DOMAIN IN ('a' 'b')", "'b'", 'expected "," or ")" after a constant, found a text', None),
        (TABLE + "DOMAIN (c, d) IN", "IN", 'expected HIDDEN or REFERENCES after ")", found "in"', None),
        (
            COLUMN + "DOMAIN REFERENCES w",
            "",
            'expected "." or "(" after the referenced table\'s name, found end of the statement',
            None,
        ),
        (
            COLUMN + "DOMAIN REFERENCES w (a, b)",
            "b)",
            "one column has the values of one column",
            "Several columns refer together where they stand in brackets behind DOMAIN, for the table.",
        ),
        (TABLE + "PUBLIC, HIDDEN", ",", 'expected the end of the statement after "public", found ","', None),
        (TABLE + "CEILING 20", "20", "expected EPSILON after CEILING, found a number", None),
        (COLUMN + "CLASS QUASI", "", "expected IDENTIFIER after QUASI, found end of the statement", None),
    ],
)
def test_a_mistake_in_alter_table_is_shown_where_it_stands(sql: str, at: str, message: str, hint: str | None):
    with pytest.raises(SyntaxRefused) as caught:
        parse(sql)
    assert (caught.value.message, caught.value.hint) == (message, hint or form_hint(sql))
    assert caught.value.position == (sql.rindex(at) if at else len(sql))


@pytest.mark.parametrize("more", ["MAX ROWS 2", "REFERENCES p (id)"])
def test_a_row_unit_has_one_row(more: str):
    with pytest.raises(SyntaxRefused, match="each row is a unit") as caught:
        parse(TABLE + "KEY ROW " + more)
    assert caught.value.position == len(TABLE + "KEY ROW ")


@pytest.mark.parametrize(
    ("text", "at"), [("DOMAIN IN (1)", 0), ("CLASS SENSITIVE", 0), ("DOMAIN (c) REFERENCES w (a)", 8)]
)
def test_what_belongs_to_a_column_is_said(text: str, at: int):
    with pytest.raises(SyntaxRefused, match="of a column, not of a table") as caught:
        parse(TABLE + text)
    assert "name of the column" in (caught.value.hint or "")
    assert caught.value.position == len(TABLE) + at


@pytest.mark.parametrize(
    ("sql", "construct", "at"),
    [
        (TABLE + "BLOCKS BY (region, sex)", "blocks of several columns", "region, sex"),
        (TABLE + "KEY (c, d)", "a key of several columns", "c, d"),
    ],
)
def test_what_alter_table_cannot_do_yet_is_named(sql: str, construct: str, at: str):
    with pytest.raises(Unsupported) as caught:
        parse(sql)
    assert caught.value.message == f"{construct} is not supported yet"
    assert caught.value.position == sql.index(at)


VIEW = "CREATE PROTECTED VIEW v WITH (method = mdav, k = 25) AS "


def test_a_view_is_its_options_and_its_query():
    sql = "CREATE PROTECTED VIEW public.v WITH (method = mdav, k = 25, epsilon = 0.5) AS SELECT a, ';' FROM t ; ;"
    view = parse(sql)
    assert isinstance(view, CreateView)
    assert (view.name.text, view.query) == ("v", "SELECT a, ';' FROM t")
    assert sql[view.offset :].startswith("SELECT")
    assert {o.name.text: o.value for o in view.options} == {
        "method": "mdav",
        "k": 25,
        "epsilon": Fraction(1, 2),
    }


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("auto", "auto"),
        ("'It''s'", "It's"),
        ('"Zip"', "Zip"),
        ("-3", -3),
        ("1.0", 1),
        ('(age, "Zip")', ("age", "Zip")),
        ("(1, 2.5)", (Fraction(1), Fraction(5, 2))),
        ("table", "table"),
    ],
)
def test_values_of_options(text: str, value: object):
    view = parse(f"CREATE PROTECTED VIEW v WITH (x = {text}) AS SELECT 1")
    assert isinstance(view, CreateView)
    assert view.options[0].value == value


@pytest.mark.parametrize(
    ("sql", "at", "message"),
    [
        ("CREATE PROTECTED VIEW v AS SELECT 1", "AS", 'expected "." or WITH after the view\'s name'),
        ("CREATE PROTECTED VIEW v WITH (k 3) AS SELECT 1", "3", 'expected "=" after the option\'s name'),
        ("CREATE PROTECTED VIEW v WITH (k = 3, k = 4) AS SELECT 1", "k = 4", "option k is given twice"),
        ("CREATE PROTECTED VIEW v WITH (k = ) AS SELECT 1", ")", 'expected "(" or a value after "="'),
        ("CREATE PROTECTED VIEW v WITH (k = (a, 1)) AS SELECT 1", ")) AS", "a list holds names or numbers"),
        ("CREATE PROTECTED VIEW v WITH (k = 3) AS DELETE FROM t", "DELETE", "expected SELECT after AS"),
        ("CREATE PROTECTED TABLE v", "TABLE", 'expected VIEW after PROTECTED, found "table"'),
        ("CREATE PRIVACY TAXONOMY x ON t (a)", ")", 'expected "," after the column of the codes'),
        ("REFRESH VIEW v", "VIEW", "expected PRIVACY or PROTECTED after REFRESH"),
        ("VERIFY PROTECTED VIEW v w", "w", "expected"),
    ],
)
def test_a_mistake_about_a_view_is_shown_where_it_stands(sql: str, at: str, message: str):
    with pytest.raises(SyntaxRefused) as caught:
        parse(sql)
    assert caught.value.message.startswith(message)
    assert caught.value.position == sql.index(at)


def test_the_short_statements():
    assert parse("DROP PROTECTED VIEW v") == DropView(Name("v"))
    assert parse("REFRESH PROTECTED VIEW v;") == RefreshView(Name("v"))
    assert parse("VERIFY PROTECTED VIEW v, w") == VerifyViews((Name("v"), Name("w")))
    assert parse("DROP PRIVACY TAXONOMY x") == DropTaxonomy(Name("x"))
    created = parse("CREATE PRIVACY TAXONOMY icd10 ON tree (code, parent)")
    assert created == CreateTaxonomy(Name("icd10"), Name("tree"), Name("code"), Name("parent"))
    domain = parse("ALTER TABLE t ALTER COLUMN d SET PRIVACY DOMAIN TAXONOMY icd10")
    assert domain == SetTaxonomy(Name("t"), Name("d"), Name("icd10"))
