import pytest

from tests.golden.world import World, build
from tests.planner.clinic import CLINIC

HEADER = (
    "CREATE TABLE people (id INTEGER NOT NULL, age INTEGER, pay DECIMAL(8,2), city VARCHAR, height DOUBLE)",
    "CREATE TABLE visits (patient INTEGER, ward VARCHAR, hours INTEGER)",
    "CREATE TABLE cities (city VARCHAR, size INTEGER)",
    "INSERT INTO cities VALUES ('Oslo', 3), ('Rome', 7)",
    "ALTER TABLE people SET PRIVACY KEY (id)",
    "ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN 0 AND 100",
    "ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN 0 AND 5000",
    "ALTER TABLE people ALTER COLUMN city SET PRIVACY DOMAIN IN ('Oslo', 'Rome', NULL)",
    "ALTER TABLE people ALTER COLUMN height SET PRIVACY DOMAIN BETWEEN 0 AND 250",
    "ALTER TABLE visits SET PRIVACY KEY (patient) REFERENCES people (id) MAX ROWS 6 MAX GROUPS 2",
    "ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN ('A', 'B', 'C')",
    "ALTER TABLE visits ALTER COLUMN hours SET PRIVACY DOMAIN BETWEEN 0 AND 24",
    "ALTER TABLE cities SET PRIVACY PUBLIC",
)


@pytest.fixture(scope="session")
def world() -> World:
    return build(HEADER)


@pytest.fixture(scope="session")
def clinic() -> World:
    return build(CLINIC)
