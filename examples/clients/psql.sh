#!/bin/sh
# The same question from psql. Usage: psql.sh postgresql://ann@127.0.0.1:6432/main
psql "$1" <<'SQL'
EXPLAIN (PRIVACY) SELECT sex, count(*), avg(hours_per_week) FROM adult GROUP BY sex;
SET dp.epsilon = 0.2;
SELECT sex, count(*), avg(hours_per_week) FROM adult GROUP BY sex;
SHOW dp.last_cost;
SHOW dp.budget_remaining;
SQL
