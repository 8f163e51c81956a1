"""Functions of text: characters as PostgreSQL counts them, and lengths that stay bounded."""

# ruff: noqa: E501 - tables of cases

import pytest

from dpproxy.analysis import duck
from dpproxy.analysis.scopes import Parameters
from dpproxy.values.errors import NegativeLength, TooComplex, UndefinedFunction, Unsupported
from dpproxy.values.pgtypes import BOOL, INT4, TEXT, SqlType
from tests.analysis.rows import compiled, connect, values_of

HOSTILE = "Ådå%_'"


def on_hostile_text(text: str) -> object:
    connection = connect()
    held, names = (values_of(connection, compiled(t).sql) for t in (text, "name"))
    connection.close()
    return held[names.index(HOSTILE)]


@pytest.mark.parametrize(
    ("text", "value"),
    [("substring(name from 2 for 2)", "då"), ("substring(name, 0, 2)", "Å"), ("substring(name, -1)", HOSTILE), ("substring(name, 5)", "_'"),
     ("substring(name, -5, 3)", ""), ("substring(name for 3)", "Ådå"), ("left(name, 2)", "Åd"), ("left(name, -4)", "Åd"), ("right(name, 2)", "_'"),
     ("right(name, -2)", "å%_'"), ("position('å' in name)", 3), ("strpos(name, '')", 1), ("strpos(name, 'x')", 0), ("replace(name, 'd', 'xyz')", "Åxyzå%_'"),
     ("replace(name, '', 'x')", HOSTILE), ("concat(name, NULL, 'x')", HOSTILE + "x"), ("starts_with(name, 'Å')", True), ("ltrim(name, 'dÅ')", "å%_'"),
     ("rtrim(name, '_''')", "Ådå%"), ("trim(both 'Å' from name)", "då%_'"), ("length(name)", 6), ("lower(name)", "ådå%_'"),
     ("translate(name, 'Åå%', 'xy')", "xdy_'"), ("split_part(name, 'd', 2)", "å%_'"), ("split_part(name, 'd', -2)", "Å"), ("split_part(name, 'd', 3)", ""),
     ("split_part(name, '', -1)", HOSTILE), ("split_part(name, '', 2)", "")],
)  # fmt: skip
def test_a_value_is_postgresqls(text: str, value: object):
    assert on_hostile_text(text) == value


@pytest.mark.parametrize(
    ("text", "longest"),
    [("substring(name, 2, 2)", 2), ("left(name, 3)", 3), ("left(name, -3)", 6), ("right(name, 99)", 6), ("replace(name, 'dd', 'xyz')", 9),
     ("replace(name, name, 'xyz')", 18), ("concat(name, 'x', name)", 13), ("trim(name)", 6), ("translate(name, 'd', 'e')", 6), ("split_part(name, 'd', 1)", 6)],
)  # fmt: skip
def test_a_text_is_no_longer_than_its_bound(text: str, longest: int):
    assert compiled(text).longest == longest


@pytest.mark.parametrize(
    ("text", "high"), [("length(name)", 6), ("length(name || 'ab')", 8), ("strpos(name, 'a')", 7)]
)
def test_a_place_is_bounded(text: str, high: int):
    typed = compiled(text)
    assert (typed.low, typed.high) == (0, high)


@pytest.mark.parametrize(
    ("text", "kind"), [("length(name)", INT4), ("starts_with(name, 'a')", BOOL), ("concat(name)", TEXT)]
)
def test_the_type_is_postgresqls(text: str, kind: SqlType):
    assert compiled(text).type == kind


@pytest.mark.parametrize(
    "text",
    ["lower(age)", "length(5)", "substring(age, 1)", "concat(name, price)", "name || born", "strpos(name, 5)", "replace(born, 'a', 'b')"],
)  # fmt: skip
def test_other_types_are_refused(text: str):
    with pytest.raises(UndefinedFunction):
        compiled(text)


@pytest.mark.parametrize(
    "text",
    ["substring(name, age)", "substring(name, 1, age)", "substring(name, 1, NULL)", "left(name, 1.5)", "right(name, 10000000)",
     "trim(BOTH name FROM name)"],
)  # fmt: skip
def test_numbers_and_characters_are_constants(text: str):
    with pytest.raises(Unsupported):
        compiled(text)


def test_a_length_below_zero_is_an_error_as_in_postgresql():
    with pytest.raises(NegativeLength):
        compiled("substring(name, 1, -1)")


def test_a_replacement_may_not_grow_without_limit():
    with pytest.raises(TooComplex):
        compiled(f"replace(name, 'a', '{'x' * 900}')")


@pytest.mark.parametrize("text", ["'%' || 'er' || '%'", "'%' || ('er' || $1)", "concat('%', 'er', $1)"])
def test_constants_put_together_are_a_constant(text: str):
    """Of one spelling: a pattern, what a release is known by, and what open values are compared with."""
    bound = Parameters({1: TEXT}, ("%",))
    assert compiled(text, bound).constant == "%er%"
    wanted = duck.text(compiled("name LIKE '%er%'").sql)
    assert duck.text(compiled(f"name LIKE {text}", bound).sql) == wanted


@pytest.mark.parametrize("text", ["'%' || $1 || '%'", "concat('%', $1, '%')", "$1 || $2"])
def test_a_pattern_of_an_open_parameter(text: str):
    parameters = Parameters()
    compiled(f"name ILIKE {text}", parameters)
    assert parameters.types[1].oid == TEXT.oid


def test_what_is_put_together_with_null_is_null():
    assert compiled("'%' || $1", Parameters({1: TEXT}, (None,))).is_null
    compiled("name LIKE '%' || $1", Parameters({1: TEXT}, (None,)))


@pytest.mark.parametrize("text", ["'%' || name", "concat('%', name)", "'%' || lower(name)", "'%' || '\\_a_'"])
def test_other_patterns_are_refused(text: str):
    with pytest.raises(Unsupported):
        compiled(f"name LIKE {text}")


def test_constants_longer_than_a_literal_stay_as_they_are():
    half = "x" * 600
    assert not compiled(f"'{half}' || '{half}'").is_constant


@pytest.mark.parametrize(
    ("text", "longest"), [("concat(flag, age)", 21), ("name || tiny", 26), ("CAST(name AS varchar(3))", 3)]
)
def test_what_becomes_a_text_has_a_length(text: str, longest: int):
    assert compiled(text).longest == longest


def test_the_case_of_a_parameter_is_that_of_its_value():
    for given in (None, ("%e\u0301r%",)):
        typed = compiled("name LIKE upper($1)", Parameters({1: TEXT}, given))
        assert given is None or "%E\u0301R%" in duck.text(typed.sql)
