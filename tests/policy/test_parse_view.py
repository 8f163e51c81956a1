from fractions import Fraction

import pytest

from dpproxy.policy.parser import parse
from dpproxy.policy.statements import (
    CreateTaxonomy,
    CreateView,
    DropTaxonomy,
    DropView,
    RefreshView,
    SetTaxonomy,
    VerifyViews,
)
from dpproxy.sql.cursor import Name
from dpproxy.values.errors import SyntaxRefused

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
        ("REFRESH VIEW v", "VIEW", "expected PROTECTED after REFRESH"),
        ("VERIFY PROTECTED VIEW v w", "w", "expected"),
    ],
)
def test_a_mistake_is_shown_where_it_stands(sql: str, at: str, message: str):
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
