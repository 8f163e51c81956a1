import re
from collections.abc import Callable

import pytest

from dpproxy.values.errors import Refusal, UndefinedFunction, UndefinedObject, UndefinedTable

Asked = Callable[[str], list[tuple[object, ...]]]


def test_a_function_is_a_number_where_one_is_compared_and_a_name_where_it_is_shown(ask: Asked):
    assert ask(
        "SELECT typinput, typinput::oid, typinput::regproc::text FROM pg_type WHERE typname = 'int4'"
    ) == [("int4in", 42, "int4in")]
    assert ask(
        "SELECT t.typname FROM pg_proc p JOIN pg_type t ON t.typsend = p.oid WHERE p.proname = 'boolsend'"
    ) == [("bool",)]
    assert ask("SELECT count(*) FROM pg_type WHERE typinput <> 'int4in'::regproc AND typname = 'int4'") == [
        (0,)
    ]


def test_a_dash_is_no_function(ask: Asked):
    assert ask(
        "SELECT typanalyze::oid, typanalyze = 0, typanalyze::text FROM pg_type WHERE typname = 'void'"
    ) == [(0, True, "-")]


def test_a_column_of_functions_that_are_not_listed_keeps_their_names(ask: Asked):
    assert ask("SELECT amhandler::regproc FROM pg_am WHERE amname = 'heap'") == [("heap_tableam_handler",)]


def test_objects_are_numbers_where_one_is_compared(ask: Asked):
    assert ask("SELECT 'patients'::regclass::oid = 'patients'::regclass, 'patients'::regclass::text") == [
        (True, "patients")
    ]


@pytest.mark.parametrize(
    ("sql", "refusal", "message"),
    [
        ("SELECT 'nothing'::regclass", UndefinedTable, 'relation "nothing" does not exist'),
        ("SELECT 1 FROM pg_class WHERE oid = 'nothing'::regclass", UndefinedTable, "nothing"),
        ("SELECT 'nothing'::regtype", UndefinedObject, 'type "nothing" does not exist'),
        ("SELECT 'nothing'::regrole", UndefinedObject, 'role "nothing" does not exist'),
        ("SELECT 'nothing'::regproc", UndefinedFunction, 'function "nothing" does not exist'),
        ("SELECT 'lower(point)'::regprocedure", UndefinedFunction, "lower"),
    ],
)
def test_a_literal_that_names_nothing_is_refused(ask: Asked, sql: str, refusal: type[Refusal], message: str):
    with pytest.raises(refusal, match=re.escape(message)):
        ask(sql)


def test_numbers_and_columns_that_name_nothing_are_shown_as_they_are(ask: Asked):
    assert ask("SELECT '77777777'::regclass::text, '-'::regclass::oid, to_regclass('nothing')") == [
        ("77777777", 0, None)
    ]


def test_a_type_of_postgresql_that_nothing_here_has_is_no_mistake(ask: Asked):
    assert ask("SELECT 'money'::regtype, 'pg_catalog.tsvector'::regtype, to_regtype('money')") == [
        (None, None, None)
    ]
