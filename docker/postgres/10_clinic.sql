-- Made-up people, and a role that may read them: what the proxy needs of a PostgreSQL, and no more.
CREATE TABLE patients (
  patient integer PRIMARY KEY,
  born    integer NOT NULL,
  ward    text NOT NULL
);
CREATE TABLE visits (
  visit   integer PRIMARY KEY,
  patient integer NOT NULL REFERENCES patients,
  month   integer NOT NULL,
  reason  text NOT NULL,
  cost    integer NOT NULL
);
INSERT INTO patients
SELECT n, 1930 + n * 7 % 85, (ARRAY['north', 'south', 'east'])[1 + n % 3] FROM generate_series(1, 4000) AS s(n);
INSERT INTO visits
SELECT n, 1 + n * 13 % 4000, 1 + n % 12, (ARRAY['check', 'injury', 'fever', 'other'])[1 + n * 5 % 4], n * 37 % 400
FROM generate_series(1, 12000) AS s(n);

CREATE ROLE dpproxy_reader LOGIN;
GRANT SELECT ON patients, visits TO dpproxy_reader;
