"""Names in quotes, of a source that is served in small letters."""

import pytest

from dpproxy.planner.accept import parse
from dpproxy.planner.rewrites.spellings import as_served
from dpproxy.values.pgtypes import Schema

SCHEMA = Schema({}, spellings={"Visits": "visits", "PatientId": "patientid", "Ward": "ward"})


@pytest.mark.parametrize(
    ("sql", "served"),
    [
        ('SELECT "PatientId" FROM "Visits"', 'SELECT "patientid" AS "PatientId" FROM "visits"'),
        ('SELECT v."PatientId" AS p FROM "Visits" AS v', 'SELECT v."patientid" AS p FROM "visits" AS v'),
        (
            'SELECT 1 FROM (SELECT "Ward" FROM "Visits") AS t',
            'SELECT 1 FROM (SELECT "ward" FROM "visits") AS t',
        ),
        (
            'SELECT 1 AS "Ward" FROM "Visits" ORDER BY "Ward"',
            'SELECT 1 AS "Ward" FROM "visits" ORDER BY "Ward"',
        ),
        ('SELECT 1 FROM "Other" AS "Visits"', 'SELECT 1 FROM "Other" AS "Visits"'),
        ('SELECT "Visits".* FROM "Visits"', 'SELECT "visits".* FROM "visits"'),
        ("SELECT patientid FROM visits", "SELECT patientid FROM visits"),
    ],
)
def test_what_is_not_named_in_the_statement_is_folded(sql: str, served: str):
    assert as_served(parse(sql), SCHEMA).sql(dialect="postgres") == served


def test_a_source_of_plain_names_is_left_alone():
    tree = parse('SELECT "PatientId" FROM "Visits"')
    assert as_served(tree, Schema({})) is tree
