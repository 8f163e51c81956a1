"""Patients and their visits, small enough that no bound of the policy cuts anything: answers can be compared."""

from collections.abc import Sequence

DDL: Sequence[str] = (
    """CREATE TABLE patients (id INTEGER NOT NULL, sex VARCHAR NOT NULL, age INTEGER NOT NULL, city VARCHAR NOT NULL,
      joined DATE NOT NULL, weight DOUBLE, nickname VARCHAR)""",
    """CREATE TABLE visits (patient INTEGER NOT NULL, day DATE NOT NULL, ward VARCHAR NOT NULL,
      cost DECIMAL(8,2) NOT NULL, minutes INTEGER NOT NULL, urgent BOOLEAN, town VARCHAR)""",
    "CREATE TABLE wards (ward VARCHAR NOT NULL, building VARCHAR NOT NULL, beds INTEGER NOT NULL)",
    # Every sex in every city, every month of 2023, the old are heavier; each fifteenth has no weight.
    """INSERT INTO patients SELECT i, ['f', 'm'][1 + i * 29 % 97 % 5 // 3], 20 + i * i % 61,
      ['Oslo', 'Rome', 'Bern'][1 + i * 53 % 101 % 7 // 3], DATE '2023-01-01' + CAST(i * 37 % 365 AS INTEGER),
      CASE WHEN i % 15 <> 7 THEN 45 + i * i % 61 * 0.5 + (i * 13 % 37) * 0.625 END, 'n' || i
      FROM range(1, 481) AS t(i)""",
    # One to eight visits each, none for each tenth patient; every ward in every month of 2024.
    """INSERT INTO visits SELECT i, DATE '2024-01-01' + CAST((i * 31 + k * 97) % 366 AS INTEGER),
      ['A', 'B', 'C', 'D'][1 + (i * 41 + k * k * 3) % 89 % 9 // 2 % 4],
      CAST(2000 + (i * 577 + k * 2311) % 80000 AS DECIMAL(8,2)) / 100, 5 + (i * 11 + k * 29) % 100,
      CASE WHEN (i + k) % 11 <> 3 THEN (i * k) % 3 = 0 END, ['Oslo', 'Rome', 'Bern'][1 + i % 3]
      FROM range(1, 481) AS t(i), range(8) AS v(k) WHERE i % 10 <> 0 AND k <= i % 8""",
    "INSERT INTO wards VALUES ('A', 'north', 10), ('B', 'north', 20), ('C', 'south', 30), ('D', 'south', 5)",
)  # fmt: skip
POLICY = """
ALTER TABLE wards SET PRIVACY PUBLIC;
ALTER TABLE patients SET PRIVACY KEY (id);
ALTER TABLE patients SET PRIVACY CEILING EPSILON 1000000000;
ALTER TABLE patients ALTER COLUMN sex    SET PRIVACY DOMAIN IN ('f', 'm');
ALTER TABLE patients ALTER COLUMN age    SET PRIVACY DOMAIN BETWEEN 0 AND 110;
ALTER TABLE patients ALTER COLUMN city   SET PRIVACY DOMAIN IN ('Bern', 'Oslo', 'Rome');
ALTER TABLE patients ALTER COLUMN joined SET PRIVACY DOMAIN BETWEEN DATE '2023-01-01' AND DATE '2023-12-31';
ALTER TABLE patients ALTER COLUMN weight SET PRIVACY DOMAIN BETWEEN 20 AND 200;
ALTER TABLE visits SET PRIVACY KEY (patient) REFERENCES patients (id) MAX ROWS 8;
ALTER TABLE visits ALTER COLUMN day     SET PRIVACY DOMAIN BETWEEN DATE '2024-01-01' AND DATE '2024-12-31';
ALTER TABLE visits ALTER COLUMN ward    SET PRIVACY DOMAIN REFERENCES wards (ward);
ALTER TABLE visits ALTER COLUMN cost    SET PRIVACY DOMAIN BETWEEN 0 AND 1000;
ALTER TABLE visits ALTER COLUMN minutes SET PRIVACY DOMAIN BETWEEN 0 AND 120;
ALTER TABLE visits ALTER COLUMN urgent  SET PRIVACY DOMAIN IN (true, false);
ALTER TABLE visits ALTER COLUMN town    SET PRIVACY DOMAIN DISCOVERED;
CREATE PRIVACY BUDGET lab LIMIT EPSILON 1000000000 MAX EPSILON 1000000 DEFAULT EPSILON 1000000;
GRANT SELECT ON patients, visits TO analyst WITH PRIVACY BUDGET lab;
GRANT SELECT ON wards TO analyst;
"""
"""At epsilon 1,000,000 noise is next to nothing. There is no delta: keys nobody declared cannot be released."""
