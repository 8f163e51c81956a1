"""References of several columns between tables of one privacy unit."""

from collections.abc import Callable

import pytest

from dpproxy.policy.model import Policy
from dpproxy.policy.usable import usable
from dpproxy.values.errors import InvalidParameter, Refusal, TypeMismatch, UndefinedColumn, UndefinedTable
from dpproxy.values.pgtypes import ForeignKey, Schema

Apply = Callable[..., Policy]
KEYS = (
    "ALTER TABLE patients SET PRIVACY KEY (patient_id)",
    "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id) MAX ROWS 5",
    "ALTER TABLE lines SET PRIVACY KEY (visit_id) REFERENCES visits (visit_id) MAX ROWS 9",
)


def foreign_key(text: str, table: str = "lines") -> str:
    return f"ALTER TABLE {table} SET PRIVACY FOREIGN KEY {text}"


def test_of_one_set_of_columns_there_is_one_foreign_key(applied: Apply):
    policy = applied(*KEYS, foreign_key("(visit_id, code) REFERENCES visits (visit_id, note)"))
    assert policy.tables["lines"].foreign_keys == (
        ForeignKey("lines", ("visit_id", "code"), "visits", ("visit_id", "note")),
    )
    other = applied(foreign_key("(code, visit_id) REFERENCES patients (sex, patient_id)"), to=policy)
    assert [key.target for key in other.tables["lines"].foreign_keys] == ["patients"]
    more = applied(foreign_key("(code) REFERENCES visits (note)"), to=policy)
    assert [key.columns for key in more.tables["lines"].foreign_keys] == [("code",), ("visit_id", "code")]
    assert applied(foreign_key("(code, visit_id) HIDDEN"), to=policy).tables["lines"].foreign_keys == ()


@pytest.mark.parametrize(
    ("text", "error", "message", "at"),
    [
        ("(visit_id) REFERENCES gone (a)", UndefinedTable, 'table "gone" does not exist', "gone"),
        ("(code, gone) REFERENCES visits (note, visit_id)", UndefinedColumn, "does not exist", "gone)"),
        ("(code) REFERENCES visits (gone)", UndefinedColumn, "does not exist", "gone)"),
        ("(code, code) REFERENCES visits (note, ward)", InvalidParameter, "named twice", "code) R"),
        ("(code, price) REFERENCES visits (note, note)", InvalidParameter, "named twice", "note)"),
        ("(code, price) REFERENCES visits (note)", InvalidParameter, "2 columns refer to 1", "visits"),
        ("(code) REFERENCES visits (ward)", TypeMismatch, "the column it refers to of type", "code) R"),
        ("(code) REFERENCES regions (region)", InvalidParameter, "is public", "regions"),
        ("(code, price) REFERENCES regions (region, size)", InvalidParameter, "is public", "regions"),
        (
            '(price) REFERENCES "Odd Name" ("select")',
            InvalidParameter,
            "not of one privacy unit",
            '"Odd Name"',
        ),
    ],
)
def test_what_does_not_fit_is_refused_at_its_place(
    applied: Apply, text: str, error: type[Refusal], message: str, at: str
):
    policy = applied(*KEYS, "ALTER TABLE regions SET PRIVACY PUBLIC")
    with pytest.raises(error, match=message) as refused:
        applied(foreign_key(text), to=policy)
    assert foreign_key(text)[refused.value.position or 0 :].startswith(at)


def test_a_row_that_is_a_unit_refers_to_no_other(applied: Apply):
    policy = applied(*KEYS, "ALTER TABLE lines SET PRIVACY KEY ROW")
    with pytest.raises(InvalidParameter, match="not of one privacy unit"):
        applied(foreign_key("(code) REFERENCES lines (code)"), to=policy)


def test_it_is_left_out_once_the_tables_are_not_of_one_unit(applied: Apply, schema: Schema):
    declared = applied(*KEYS, foreign_key("(visit_id, code) REFERENCES visits (visit_id, note)"))
    assert usable(declared, schema) == (declared, [])
    for change in ("KEY (visit_id)", "HIDDEN"):
        left, lines = usable(applied(f"ALTER TABLE visits SET PRIVACY {change}", to=declared), schema)
        reason = 'the rows of "lines" and "visits" are not of one privacy unit'
        if change == "HIDDEN":
            assert left.tables["lines"].foreign_keys == ()
        assert lines == [] or reason in lines[-1]
    hidden = applied("ALTER TABLE lines SET PRIVACY HIDDEN", to=declared)
    assert hidden.tables["lines"].foreign_keys == ()
