-- Census: one row is one person; amounts are dollars a year. Bounds are round public numbers, not the data's own.
ALTER TABLE census SET PRIVACY KEY ROW;
ALTER TABLE census SET PRIVACY CEILING EPSILON 10;

ALTER TABLE census ALTER COLUMN agi      SET PRIVACY DOMAIN BETWEEN 0 AND 100000;   -- adjusted gross income
ALTER TABLE census ALTER COLUMN emcontrb SET PRIVACY DOMAIN BETWEEN 0 AND 10000;    -- employer's health contribution
ALTER TABLE census ALTER COLUMN fedtax   SET PRIVACY DOMAIN BETWEEN 0 AND 25000;    -- federal income tax
ALTER TABLE census ALTER COLUMN statetax SET PRIVACY DOMAIN BETWEEN 0 AND 15000;    -- state income tax
ALTER TABLE census ALTER COLUMN taxinc   SET PRIVACY DOMAIN BETWEEN 0 AND 100000;   -- taxable income
ALTER TABLE census ALTER COLUMN ptotval  SET PRIVACY DOMAIN BETWEEN 0 AND 150000;   -- total income
ALTER TABLE census ALTER COLUMN pearnval SET PRIVACY DOMAIN BETWEEN 0 AND 100000;   -- earnings
ALTER TABLE census ALTER COLUMN wsalval  SET PRIVACY DOMAIN BETWEEN 0 AND 100000;   -- wages and salaries
ALTER TABLE census ALTER COLUMN ernval   SET PRIVACY DOMAIN BETWEEN 0 AND 100000;   -- earnings of the longest job
ALTER TABLE census ALTER COLUMN pothval  SET PRIVACY DOMAIN BETWEEN 0 AND 150000;   -- other income
ALTER TABLE census ALTER COLUMN fica     SET PRIVACY DOMAIN BETWEEN 0 AND 10000;    -- social security
-- intval (interest) and afnlwgt (a sampling weight) are not declared, so they are hidden.

ALTER TABLE census SET PRIVACY EXPECTED ROWS 1000;
