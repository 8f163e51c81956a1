-- Who is protected: a person, in both tables.
ALTER TABLE patients SET PRIVACY KEY (patient);
ALTER TABLE patients SET PRIVACY CEILING EPSILON 20;
ALTER TABLE visits SET PRIVACY KEY (patient) REFERENCES patients (patient) MAX ROWS 4;

-- What is publicly known of the columns: bounds, and the values of what statements may group by.
ALTER TABLE patients ALTER COLUMN born   SET PRIVACY DOMAIN BETWEEN 1920 AND 2020;
ALTER TABLE patients ALTER COLUMN ward   SET PRIVACY DOMAIN IN ('north', 'south', 'east');
ALTER TABLE visits   ALTER COLUMN reason SET PRIVACY DOMAIN IN ('check', 'injury', 'fever', 'other');
ALTER TABLE visits   ALTER COLUMN ward   SET PRIVACY DOMAIN IN ('north', 'south', 'east');
ALTER TABLE visits   ALTER COLUMN day    SET PRIVACY DOMAIN BETWEEN '2024-01-01' AND '2025-12-31';
ALTER TABLE visits   ALTER COLUMN cost   SET PRIVACY DOMAIN BETWEEN 0 AND 500;

-- Who may spend how much.
CREATE PRIVACY BUDGET dashboards LIMIT EPSILON 10 DEFAULT EPSILON 0.2;
GRANT SELECT ON patients TO analyst WITH PRIVACY BUDGET dashboards;
GRANT SELECT ON visits TO analyst WITH PRIVACY BUDGET dashboards;

-- What the dashboard reads: released once, and no click on it costs anything.
CREATE PRIVACY CUBE visits_by_month ON visits (date_trunc('month', day) AS month, ward, reason)
  MEASURES (count(*), sum(cost)) WITH (epsilon = 4, charge = dashboards);
GRANT SELECT ON visits_by_month TO analyst;
