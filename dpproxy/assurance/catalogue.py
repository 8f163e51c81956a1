"""Attacks that read the size, columns or values of the data from the catalogue, plans, accounts or free statements."""

from dpproxy.assurance.model import Attack, Outcome

ATTACKS = (
    Attack(
        "the catalogue",
        "sizes, statistics and other people's questions; all of it follows from the policy",
        Outcome.FREE,
        (
            "SELECT relname, relkind, reltuples, relpages FROM pg_class ORDER BY 1",
            "SELECT attname, atttypid, attnum FROM pg_attribute WHERE attrelid = '{bare}'::regclass ORDER BY attnum",
            "SELECT table_name, column_name, data_type FROM information_schema.columns ORDER BY 1, 2",
            "SELECT table_name FROM information_schema.tables ORDER BY 1",
            "SELECT * FROM pg_stats",
            "SELECT * FROM pg_stat_user_tables",
            "SELECT * FROM pg_statistic",
            "SELECT * FROM pg_stat_activity",
            "SELECT * FROM pg_locks",
            "SELECT pg_relation_size('{bare}'), pg_total_relation_size('{bare}')",
            "SELECT pg_database_size('main')",
            "SELECT to_regclass('{hiddenbare}'), to_regclass('nothing')",
            "SELECT pg_get_viewdef('{bare}'::regclass)",
            "SELECT has_table_privilege('{bare}', 'SELECT')",
        ),
    ),
    Attack(
        "what costs nothing",
        "LIMIT 0, WHERE FALSE, plans and prices: nothing was read",
        Outcome.FREE,
        (
            "SELECT count(*) FROM {t} LIMIT 0",
            "SELECT {k} FROM {t} LIMIT 0",
            "SELECT * FROM {t} WHERE FALSE",
            "SELECT DISTINCT {k} FROM {t} LIMIT 0",
            "EXPLAIN SELECT count(*) FROM {t}",
            "EXPLAIN (PRIVACY) SELECT count(*) FROM {t}",
            "EXPLAIN (PRIVACY) SELECT {k}, count(*), sum({n}) FROM {t} GROUP BY {k}",
            "EXPLAIN (PRIVACY, FORMAT JSON) SELECT avg({n}) FROM {t} WHERE {n} = {hi}",
            "SHOW dp.budget_remaining",
            "SHOW dp.last_cost",
            "SELECT name, limit_epsilon FROM dp.budgets",
            "SHOW dp.epsilon",
        ),
    ),
    Attack(
        "mistakes",
        "an error's text and place, where the statement is wrong",
        Outcome.REFUSED,
        (
            "SELECT nothing FROM {t}",
            "SELECT count(*) FROM nothing",
            "SELEC count(*) FROM {t}",
            "SELECT $$unterminated",
            "SELECT 'unterminated",
            "SELECT count(*) FROM {t} WHERE",
            "SELECT sum({s}) FROM {t}",
            "SELECT count(*) FROM {t} WHERE {n} = 'abc'",
            "SELECT count(*) FROM {t} GROUP BY 7",
            "SELECT nothing({n}) FROM {t}",
        ),
    ),
)
