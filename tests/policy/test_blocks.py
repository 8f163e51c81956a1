"""BLOCKS BY: a column of the unit's own table, one row of each unit, a list of values."""

from collections.abc import Callable

import pytest

from dpproxy.policy.dump import dump
from dpproxy.policy.model import Policy
from dpproxy.values.errors import DependentObjects, InvalidParameter, UndefinedColumn

Apply = Callable[..., Policy]
KEY = "ALTER TABLE patients SET PRIVACY KEY (patient_id)"
SEX = "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm')"
BLOCKS = "ALTER TABLE patients SET PRIVACY BLOCKS BY (sex)"
VISITS = "ALTER TABLE visits SET PRIVACY KEY (patient_id) REFERENCES patients (patient_id) MAX ROWS 5"


@pytest.mark.parametrize("key", [KEY, "ALTER TABLE patients SET PRIVACY KEY ROW"])
def test_blocks_are_declared_dumped_and_taken_back(applied: Apply, key: str):
    policy = applied(key, SEX, BLOCKS)
    assert policy.tables["patients"].blocks == "sex"
    assert applied(*dump(policy)) == policy
    taken = applied("ALTER TABLE patients SET PRIVACY BLOCKS HIDDEN", to=policy)
    assert taken == applied(key, SEX)


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ((SEX, BLOCKS), 'table "patients" does not own its privacy unit'),
        ((KEY, BLOCKS), 'column "sex" has no list of values'),
        ((f"{KEY} MAX ROWS 2", SEX, BLOCKS), "a privacy unit may have several rows"),
        (
            (KEY, "ALTER TABLE patients ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 110",
             "ALTER TABLE patients SET PRIVACY BLOCKS BY (age)"),
            'column "age" has no list of values',
        ),
        (
            (KEY, VISITS, "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN (1, 2)",
             "ALTER TABLE visits SET PRIVACY BLOCKS BY (ward)"),
            'table "visits" does not own its privacy unit',
        ),
    ],
)  # fmt: skip
def test_what_divides_nobody_is_refused(applied: Apply, statements: tuple[str, ...], message: str):
    with pytest.raises(InvalidParameter, match=message) as caught:
        applied(*statements)
    assert caught.value.hint is not None
    assert caught.value.position is not None


def test_a_column_that_is_not_there_is_refused(applied: Apply):
    with pytest.raises(UndefinedColumn):
        applied(KEY, "ALTER TABLE patients SET PRIVACY BLOCKS BY (town)")


@pytest.mark.parametrize(
    "change",
    [
        f"{KEY} MAX ROWS 2",
        "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY HIDDEN",
        "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN DISCOVERED",
    ],
)
def test_what_blocks_need_is_not_taken_from_under_them(applied: Apply, change: str):
    policy = applied(KEY, SEX, BLOCKS)
    with pytest.raises(DependentObjects, match="divided into blocks"):
        applied(change, to=policy)
    applied("ALTER TABLE patients SET PRIVACY BLOCKS HIDDEN", change, to=policy)


def test_they_go_with_the_unit(applied: Apply):
    policy = applied(KEY, SEX, BLOCKS, "ALTER TABLE patients SET PRIVACY HIDDEN")
    assert policy.tables["patients"].blocks is None
