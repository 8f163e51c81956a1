"""Data with and without one person, and the policy over it. She is the worst case of every column and table."""

from collections.abc import Sequence
from pathlib import Path

from tests.proxies import write_home

SCHEMA = (
    """CREATE TABLE people (id INTEGER NOT NULL, age INTEGER, income DOUBLE, code VARCHAR, born DATE, ratio DOUBLE,
      big BIGINT, huge HUGEINT, seen TIMESTAMP, region INTEGER, town VARCHAR, member BOOLEAN, secret VARCHAR)""",
    "CREATE TABLE visits (person INTEGER, ward VARCHAR, cost DECIMAL(12,2), minutes INTEGER)",
    "CREATE TABLE patients (person INTEGER, sex VARCHAR)",
    "CREATE TABLE stays (person INTEGER, ward VARCHAR, days INTEGER)",
    "CREATE TABLE salaries (person INTEGER, amount DOUBLE)",
    "CREATE TABLE undeclared (person INTEGER, x INTEGER)",
)
EVERYBODY = (
    """INSERT INTO people SELECT 1000 + i, 20 + i % 60, 100.0 * (i % 500), CAST(i % 90 AS VARCHAR),
      DATE '1950-01-01' + CAST(i AS INTEGER), 1.0 + i % 7, i, i, TIMESTAMP '2020-01-01 00:00:00',
      i % 3, ['north', 'south'][1 + i % 2], i % 2 = 0, 's' FROM range(3000) AS r(i)""",
    """INSERT INTO visits SELECT 1000 + i // 2, ['a', 'b', 'c'][1 + i % 3], (i % 100) / 3, i % 60
      FROM range(3000) AS r(i)""",
    "INSERT INTO patients SELECT 1000 + i, ['f', 'm'][1 + i % 2] FROM range(500) AS r(i)",
    "INSERT INTO stays SELECT 1000 + i // 4, ['a', 'b'][1 + i % 2], i % 30 FROM range(2000) AS r(i)",
    "INSERT INTO salaries SELECT i, i FROM range(10) AS r(i)",
    "INSERT INTO undeclared SELECT i, i FROM range(10) AS r(i)",
)
HER = (
    """INSERT INTO people VALUES (7, 2147483647, 'NaN', '12abc', DATE '9999-12-31', 0.0, 9223372036854775807,
      170141183460469231731687303715884105727, TIMESTAMP '1677-09-22 00:00:00', 99, 'nowhere', NULL, 'hers')""",
    """INSERT INTO visits SELECT 7, ['a', 'b', 'c', NULL, 'hers alone'][1 + i % 5], 9999999999.99, -i
      FROM range(400) AS r(i)""",
    "INSERT INTO visits SELECT 7, 'a', 1.00, 1 FROM range(100)",
    "INSERT INTO patients VALUES (7, NULL)",
    "INSERT INTO stays SELECT 7, 'hers alone', 2147483647 FROM range(200)",
    "INSERT INTO stays SELECT 7, 'a', 2147483647 FROM range(100)",
    "INSERT INTO salaries SELECT 7, 1e300 FROM range(50)",
    "INSERT INTO undeclared SELECT 7, 7 FROM range(50)",
)
POLICY = """
ALTER TABLE people SET PRIVACY KEY ROW;
ALTER TABLE people SET PRIVACY CEILING EPSILON {ceiling};
ALTER TABLE people ALTER COLUMN id     SET PRIVACY DOMAIN BETWEEN 0 AND 100000;
ALTER TABLE people ALTER COLUMN age    SET PRIVACY DOMAIN BETWEEN 0 AND 110;
ALTER TABLE people ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN 0 AND 100000;
ALTER TABLE people ALTER COLUMN ratio  SET PRIVACY DOMAIN BETWEEN -10 AND 10;
ALTER TABLE people ALTER COLUMN big    SET PRIVACY DOMAIN BETWEEN -1000000000000 AND 1000000000000;
ALTER TABLE people ALTER COLUMN code   SET PRIVACY DOMAIN IN ('1', '2', '12abc');
ALTER TABLE people ALTER COLUMN region SET PRIVACY DOMAIN IN (0, 1, 2);
ALTER TABLE people ALTER COLUMN town   SET PRIVACY DOMAIN IN ('north', 'south', 'west');
ALTER TABLE people ALTER COLUMN member SET PRIVACY DOMAIN IN (true, false, NULL);
ALTER TABLE people ALTER COLUMN born   SET PRIVACY DOMAIN BETWEEN DATE '1900-01-01' AND DATE '2020-12-31';
ALTER TABLE people ALTER COLUMN seen   SET PRIVACY
  DOMAIN BETWEEN TIMESTAMP '2000-01-01 00:00:00' AND TIMESTAMP '2030-01-01 00:00:00';
ALTER TABLE visits SET PRIVACY KEY (person) MAX ROWS 3 MAX GROUPS 2;
ALTER TABLE visits SET PRIVACY CEILING EPSILON {ceiling};
ALTER TABLE visits ALTER COLUMN ward    SET PRIVACY DOMAIN IN ('a', 'b', 'c', NULL);
ALTER TABLE visits ALTER COLUMN cost    SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
ALTER TABLE visits ALTER COLUMN minutes SET PRIVACY DOMAIN BETWEEN 0 AND 60;
ALTER TABLE patients SET PRIVACY KEY (person);
ALTER TABLE patients SET PRIVACY CEILING EPSILON {ceiling};
ALTER TABLE patients ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm');
ALTER TABLE stays SET PRIVACY KEY (person) REFERENCES patients (person) MAX ROWS 4;
ALTER TABLE stays ALTER COLUMN ward SET PRIVACY DOMAIN IN ('a', 'b');
ALTER TABLE stays ALTER COLUMN days SET PRIVACY DOMAIN BETWEEN 0 AND 30;
ALTER TABLE salaries SET PRIVACY HIDDEN;
CREATE PRIVACY BUDGET research LIMIT EPSILON {limit} MAX EPSILON {most} DEFAULT EPSILON {default};
GRANT SELECT ON people, visits, patients, stays TO analyst WITH PRIVACY BUDGET research;
CREATE PRIVACY BUDGET little LIMIT EPSILON 1 MAX EPSILON 0.4 DEFAULT EPSILON 0.4;
GRANT SELECT ON people TO stranger WITH PRIVACY BUDGET little;
"""


def write_twin(
    folder: Path,
    *,
    with_her: bool,
    ddl: Sequence[str] = (),
    policy: str = "",
    more: str = "",
    **amounts: object,
) -> Path:
    """The files of one of two proxies.

    ``ddl`` and ``policy`` come after its own, ``more`` into its section of the server; ``amounts`` are of the policy.
    """
    given = {"ceiling": 100000, "limit": 100000, "most": 1, "default": "0.1", **amounts}
    data = [*SCHEMA, *EVERYBODY, *(HER if with_her else ()), *ddl]
    return write_home(folder, data, POLICY.format(**given) + policy, more=more)
