"""A small policy of every kind of table, read without any data of its own."""

from functools import cache

from dpproxy.policy.model import Policy
from dpproxy.values.pgtypes import Schema
from tests.golden.world import World, build

STATEMENTS = (
    "CREATE TABLE patients (id INTEGER NOT NULL, sex VARCHAR NOT NULL, weight DOUBLE, joined DATE, name VARCHAR)",
    "CREATE TABLE stays (stay BIGINT NOT NULL, patient INTEGER, ward VARCHAR, cost DECIMAL(8,2))",
    "CREATE TABLE notes (stay BIGINT, hours INTEGER)",
    "CREATE TABLE survey (answer INTEGER, happy BOOLEAN)",
    "CREATE TABLE wards (ward VARCHAR NOT NULL, beds INTEGER)",
    "CREATE TABLE wages (person INTEGER, amount INTEGER)",
    "INSERT INTO wards VALUES ('A', 10), ('B', 20), ('B', 5)",
    "ALTER TABLE wards SET PRIVACY PUBLIC",
    "ALTER TABLE patients SET PRIVACY KEY (id)",
    "ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm')",
    "ALTER TABLE patients ALTER COLUMN weight SET PRIVACY DOMAIN BETWEEN 20 AND 200",
    "ALTER TABLE patients ALTER COLUMN joined SET PRIVACY DOMAIN BETWEEN DATE '2020-01-01' AND DATE '2020-12-31'",
    "ALTER TABLE stays SET PRIVACY KEY (patient) REFERENCES patients (id) MAX ROWS 4",
    "ALTER TABLE stays ALTER COLUMN ward SET PRIVACY DOMAIN REFERENCES wards (ward)",
    "ALTER TABLE stays ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE notes SET PRIVACY KEY (stay) REFERENCES stays (stay) MAX ROWS 8",
    "ALTER TABLE notes ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN 0 AND 24",
    "ALTER TABLE survey SET PRIVACY KEY ROW",
    "ALTER TABLE survey ALTER COLUMN answer SET PRIVACY DOMAIN BETWEEN 1 AND 5",
    "ALTER TABLE survey ALTER COLUMN happy SET PRIVACY DOMAIN IN (TRUE, FALSE)",
)


@cache
def world() -> World:
    return build(STATEMENTS)


def policy() -> Policy:
    return world().policy


def schema() -> Schema:
    return world().schema
