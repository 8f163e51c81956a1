-- The analysts' budget for adult. LIMIT: all users together; USER LIMIT: each user; SESSION LIMIT: each connection;
-- MAX: one statement at most; DEFAULT: one statement that does not say SET dp.epsilon.
CREATE PRIVACY BUDGET research LIMIT EPSILON 8 USER LIMIT EPSILON 6 SESSION LIMIT EPSILON 4
  MAX EPSILON 1 DEFAULT EPSILON 0.1 REFRESH NEVER;
GRANT SELECT ON adult TO analyst WITH PRIVACY BUDGET research;

-- A small one for census: a few statements, then it is spent.
CREATE PRIVACY BUDGET trial LIMIT EPSILON 0.8 MAX EPSILON 0.4 DEFAULT EPSILON 0.4 REFRESH NEVER;
GRANT SELECT ON census TO analyst WITH PRIVACY BUDGET trial;
