"""Attacks with names that mean something else: shadowed, in another case or schema, hidden, undeclared, missing."""

from dpproxy.assurance.model import Attack, Outcome

ATTACKS = (
    Attack(
        "what is hidden is told like what is missing",
        "tables and columns that nobody declared",
        Outcome.REFUSED,
        (
            "SELECT count(*) FROM {hidden}",
            "SELECT count(*) FROM main.{hidden}",
            "EXPLAIN (PRIVACY) SELECT count(*) FROM {hidden}",
            "SELECT count({secret}) FROM {t}",
            "SELECT count(*) FROM {t} WHERE {secret} IS NULL",
            "SELECT sum(length({secret})) FROM {t}",
        ),
    ),
    Attack(
        "names that look alike",
        "another schema or catalogue, another case, letters of another script, escapes",
        Outcome.REFUSED,
        (
            "SELECT count(*) FROM temp.{t}",
            "SELECT count(*) FROM pg_catalog.{t}",
            "SELECT count(*) FROM system.main.{t}",
            "SELECT count(*) FROM dpproxy_prepared.{t}",
            'SELECT count(*) FROM "{T}"',
            'SELECT count(*) FROM U&"\\0061"',
            "SELECT count(*) FROM {lookalike}",
            "SELECT count(*) FROM {t}@main",
        ),
    ),
    Attack(
        "names that hide names",
        "WITH and aliases of the table's own name; the unit is followed all the same",
        Outcome.PROMISED,
        (
            "WITH {t} AS (SELECT * FROM {t}) SELECT count(*) FROM {t}",
            "SELECT count(*) FROM {t} WHERE EXISTS (SELECT {secret} FROM {t} AS b WHERE b.{key} = {t}.{key})",
            "WITH {t} AS (SELECT 1 AS x) SELECT x FROM {t}",
            "SELECT count(*) FROM main.{t}",
            "COPY (SELECT count(*) FROM {t}) TO STDOUT",
            "SELECT count(*) FROM public.{t} AS x",
            "SELECT count(*) FROM {t} AS {t}",
            "WITH a AS (SELECT * FROM {t}), b AS (SELECT * FROM a) SELECT count(*) FROM b JOIN a USING ({key})",
            "SELECT count(*) FROM (SELECT {n} AS {key2} FROM {t}) AS v GROUP BY {key2}",
            "SELECT sum(x) FROM (SELECT {n} AS x FROM {t}) AS v (x)",
        ),
        drawn=True,
    ),
)
