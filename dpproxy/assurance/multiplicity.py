"""Attacks that count one person many times: copies of their rows, joins with public rows or with others' rows."""

from dpproxy.assurance.model import Attack, Outcome

ATTACKS = (
    Attack(
        "copies of rows",
        "UNION ALL with itself, self-joins and WITH: the copies of a person's rows are paid for",
        Outcome.PROMISED,
        (
            "SELECT count(*) FROM {t}",
            "SELECT count(*), sum({n}) FROM {t}",
            "SELECT count(*) FROM {t} UNION ALL SELECT count(*) FROM {t}",
            "SELECT count(*) FROM (SELECT {k} FROM {t} UNION ALL SELECT {k} FROM {t}) AS v",
            "WITH v AS (SELECT * FROM {t}) SELECT count(*) FROM v",
            "SELECT count(*) FROM {t} AS a JOIN {t} AS b ON a.{key} = b.{key}",
            "SELECT count(*) FROM {t} AS a LEFT JOIN {t} AS b USING ({key})",
            "WITH v AS (SELECT * FROM {t}) SELECT count(*) FROM v JOIN v AS w ON v.{key} = w.{key}",
            "SELECT sum(c) FROM (SELECT {key}, count(*) AS c FROM {t} GROUP BY {key}) AS v",
            "SELECT count(*) FROM {t} WHERE {key} IN (SELECT {key} FROM {t})",
            "SELECT count(*) FROM {t} AS a WHERE EXISTS (SELECT 1 FROM {t} AS b WHERE b.{key} = a.{key})",
            "SELECT count(*) FROM {t} AS a JOIN {other} AS b ON {link}",
            "SELECT count(*) FROM {t} AS a FULL JOIN {other} AS b ON {link}",
        ),
    ),
    Attack(
        "rows made of one row",
        "range(), generate_series(), LATERAL, UNNEST, samples and recursion would multiply a person without a bound",
        Outcome.REFUSED,
        (
            "SELECT count(*) FROM {t}, range(1000)",
            "SELECT count(*) FROM {t} CROSS JOIN generate_series(1, 1000)",
            "SELECT count(*) FROM {t}, LATERAL (SELECT 1) AS l",
            "SELECT count(unnest(ARRAY[1, 2, 3])) FROM {t}",
            "SELECT count(*) FROM {t} TABLESAMPLE BERNOULLI (1)",
            "SELECT count(*) FROM {t} USING SAMPLE 10",
            "WITH v AS (SELECT * FROM {t} LIMIT 1) SELECT count(*) FROM v",
            "WITH RECURSIVE v AS (SELECT {k} FROM {t} UNION ALL SELECT {k} FROM v) SELECT count(*) FROM v",
            "SELECT count(*) FROM (SELECT * FROM {t} UNION SELECT * FROM {t}) AS v",
            "SELECT count(*) FROM (SELECT {k} FROM {t} EXCEPT SELECT {k} FROM {t}) AS v",
            "SELECT count(*) FROM (SELECT {k} FROM {t} INTERSECT SELECT {k} FROM {t}) AS v",
        ),
    ),
    Attack(
        "public rows counted for one person",
        "a thousand public rows are counted if and only if one person is there",
        Outcome.REFUSED,
        (
            "SELECT count(*) FROM range(1000) WHERE (SELECT count(*) FROM {t} WHERE {n} = {hi}) > 0",
            "SELECT count(*) FROM generate_series(1, 1000) AS g WHERE EXISTS (SELECT 1 FROM {t} WHERE {n} = {hi})",
            "SELECT count(*) FROM {pub} WHERE EXISTS (SELECT 1 FROM {t} WHERE {t}.{n} = {pub}.{pubkey})",
            "SELECT count(*) FROM {pub} WHERE {pubkey} IN (SELECT {n} FROM {t})",
        ),
    ),
    Attack(
        "a public table that fans out",
        "the key of the public table is not unique, so that one row of a person meets many",
        Outcome.PROMISED,
        (
            "SELECT count(*) FROM {t} JOIN {pub} ON {t}.{k} = {pub}.{pubkey}",
            "SELECT count(*) FROM {t} JOIN {pub} ON {t}.{k} <> {pub}.{pubkey}",
            "SELECT count(*) FROM {t} CROSS JOIN {pub}",
            "SELECT count(*) FROM {t} JOIN (SELECT * FROM {pub} UNION ALL SELECT * FROM {pub}) p ON {k} = p.{pubkey}",
            "SELECT {t}.{k}, count(*) FROM {t} LEFT JOIN {pub} ON {t}.{k} = {pub}.{pubkey} GROUP BY {t}.{k}",
        ),
    ),
    Attack(
        "other people's rows",
        "joins that are not on the person bring rows of two people together",
        Outcome.REFUSED,
        (
            "SELECT count(*) FROM {t} AS a, {t} AS b",
            "SELECT count(*) FROM {t} AS a JOIN {t} AS b ON a.{n} = b.{n}",
            "SELECT count(*) FROM {t} AS a LEFT JOIN {t} AS b ON a.{key} < b.{key}",
            "SELECT count(*) FROM {t} AS a JOIN {t} AS b ON a.{key} = b.{key} OR a.{n} = b.{n}",
            "SELECT count(*) FROM {t} AS a CROSS JOIN {other} AS b",
            "SELECT count(*) FROM {t} AS a CROSS JOIN {foreign} AS b",
            "SELECT count(*) FROM {t} WHERE {n} > (SELECT max(b.{n}) FROM {t} AS b WHERE b.{k} = {t}.{k})",
            "SELECT count(*) FROM (SELECT {k} FROM {t} UNION ALL SELECT {fk} FROM {foreign}) AS v",
        ),
    ),
)
