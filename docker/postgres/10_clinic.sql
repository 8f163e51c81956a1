-- Made-up people, a role that may read them, and a schema for what it keeps: what the proxy needs of a PostgreSQL.
CREATE TABLE patients (
  patient integer PRIMARY KEY,
  born    integer NOT NULL,
  ward    text NOT NULL
);
CREATE TABLE visits (
  visit   integer PRIMARY KEY,
  patient integer NOT NULL REFERENCES patients,
  ward    text NOT NULL,
  day     date NOT NULL,
  reason  text NOT NULL,
  cost    integer NOT NULL
);
INSERT INTO patients
SELECT n, 1930 + n * 7 % 85, (ARRAY['north', 'south', 'east'])[1 + n % 3] FROM generate_series(1, 4000) AS s(n);
INSERT INTO visits
SELECT n, 1 + n * 13 % 4000, (ARRAY['north', 'south', 'east'])[1 + n * n % 7 % 3], date '2024-01-01' + n * 37 % 731, (ARRAY['check', 'injury', 'fever', 'other'])[1 + n * 5 % 4], n * 37 % 400
FROM generate_series(1, 12000) AS s(n);

CREATE ROLE dpproxy_reader LOGIN;
GRANT SELECT ON patients, visits TO dpproxy_reader;
-- What the proxy keeps of them: rows beyond MAX ROWS left out once, so that all statements, and the cube, are of the same.
CREATE SCHEMA dpproxy_kept;
GRANT USAGE, CREATE ON SCHEMA dpproxy_kept TO dpproxy_reader;
