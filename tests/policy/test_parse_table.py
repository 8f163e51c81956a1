"""ALTER TABLE, as it is read and as it is refused."""

from fractions import Fraction

import pytest

from dpproxy.policy.model import Accountant, ColumnClass, Exposure, Outside
from dpproxy.policy.parser import parse
from dpproxy.policy.statements import (
    Amount,
    Literal,
    LiteralKind,
    SetBetween,
    SetBlocks,
    SetCeiling,
    SetColumnClass,
    SetColumnHidden,
    SetComposite,
    SetCompositeHidden,
    SetDiscovered,
    SetExpectedRows,
    SetExposure,
    SetKey,
    SetMembers,
    SetReferences,
    Statement,
)
from dpproxy.sql.cursor import Name
from dpproxy.values.errors import SyntaxRefused, Unsupported

T, C = Name("t"), Name("c")
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
                Accountant.BASIC,
            ),
        ),
        (
            TABLE + "CEILING EPSILON 1 DELTA 0.1 ACCOUNTANT ZCDP",
            SetCeiling(
                T, Amount("CEILING EPSILON", 1), Amount("CEILING DELTA", Fraction(1, 10)), Accountant.ZCDP
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
            SetComposite(T, (C, Name("d")), Name("wards"), (Name("a"), Name("b"))),
        ),
        (TABLE + "DOMAIN (c, d) HIDDEN", SetCompositeHidden(T, (C, Name("d")))),
        (COLUMN + "HIDDEN", SetColumnHidden(T, C)),
        ("ALTER TABLE t ALTER c SET PRIVACY HIDDEN", SetColumnHidden(T, C)),
        (COLUMN + "CLASS IDENTIFIER", SetColumnClass(T, C, ColumnClass.IDENTIFIER)),
        (COLUMN + "CLASS QUASI IDENTIFIER", SetColumnClass(T, C, ColumnClass.QUASI_IDENTIFIER)),
        (COLUMN + "CLASS SENSITIVE", SetColumnClass(T, C, ColumnClass.SENSITIVE)),
    ],
)
def test_statements(sql: str, statement: Statement):
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
            'expected DOMAIN, HIDDEN or CLASS after SET PRIVACY, found "domian"',
            "Did you mean DOMAIN?",
        ),
        (
            TABLE + "KYE (c)",
            "KYE",
            'expected KEY, PUBLIC, HIDDEN, CEILING, EXPECTED, DOMAIN or BLOCKS after SET PRIVACY, found "kye"',
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
            "Of several together: ALTER TABLE ... SET PRIVACY DOMAIN (...) REFERENCES ... (...).",
        ),
        (TABLE + "PUBLIC, HIDDEN", ",", 'expected the end of the statement after "public", found ","', None),
        (TABLE + "CEILING 20", "20", "expected EPSILON after CEILING, found a number", None),
        (COLUMN + "CLASS QUASI", "", "expected IDENTIFIER after QUASI, found end of the statement", None),
    ],
)
def test_a_mistake_is_shown_where_it_stands(sql: str, at: str, message: str, hint: str | None):
    with pytest.raises(SyntaxRefused) as caught:
        parse(sql)
    assert (caught.value.message, caught.value.hint) == (message, hint)
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
    assert "ALTER COLUMN" in (caught.value.hint or "")
    assert caught.value.position == len(TABLE) + at


@pytest.mark.parametrize(
    ("sql", "construct", "at"),
    [
        (TABLE + "BLOCKS BY (region, sex)", "blocks of several columns", "region, sex"),
        (TABLE + "KEY (c, d)", "a key of several columns", "c, d"),
    ],
)
def test_what_is_not_there_yet_is_named(sql: str, construct: str, at: str):
    with pytest.raises(Unsupported) as caught:
        parse(sql)
    assert caught.value.message == f"{construct} is not supported yet"
    assert caught.value.position == sql.index(at)
