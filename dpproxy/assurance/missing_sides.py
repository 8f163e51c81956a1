"""Attacks on rows that appear because nobody matches: outer joins, NOT IN, empty groups."""

from dpproxy.assurance.model import Attack, Outcome

ATTACKS = (
    Attack(
        "COALESCE on the missing side",
        "an outer join gives a row with NULLs where a person is missing, and COALESCE turns that into a large number",
        Outcome.PROMISED,
        (
            "SELECT sum(coalesce(a.{n}, {hi})) FROM {t} AS a RIGHT JOIN {pub} AS p ON a.{k} = p.{pubkey}",
            "SELECT sum(coalesce(a.{n}, {hi})) FROM {pub} AS p LEFT JOIN {t} AS a ON a.{k} = p.{pubkey}",
            "SELECT count(*) FROM {pub} AS p LEFT JOIN {t} AS a ON a.{k} = p.{pubkey} WHERE a.{k} IS NULL",
            "SELECT sum(CASE WHEN a.{k} IS NULL THEN 9 ELSE 0 END) FROM {pub} p FULL JOIN {t} a ON a.{k} = p.{pubkey}",
            "SELECT sum(coalesce(b.{n}, {hi})) FROM {t} AS a LEFT JOIN {t} AS b ON a.{key} = b.{key} AND b.{n} > {lo}",
            "SELECT count(*) FROM {t} AS a LEFT JOIN {other} AS b ON {link} WHERE b.{okey} IS NULL",
        ),
    ),
    Attack(
        "NOT IN with a NULL",
        "one NULL in the subquery empties the whole answer",
        Outcome.PROMISED,
        (
            "SELECT count(*) FROM {t} WHERE {k} NOT IN (SELECT {k} FROM {t})",
            "SELECT count(*) FROM {t} WHERE {key} NOT IN (SELECT {key} FROM {t} WHERE {n} = {hi})",
            "SELECT count(*) FROM {t} AS a WHERE a.{key} NOT IN (SELECT b.{key} FROM {t} AS b WHERE b.{key} = a.{key})",
            "SELECT count(*) FROM {t} WHERE {k} NOT IN (SELECT {pubkey} FROM {pub})",
            "SELECT count(*) FROM {pub} WHERE {pubkey} NOT IN (SELECT {k} FROM {t})",
        ),
    ),
    Attack(
        "nobody is left",
        "an aggregate over no rows is NULL elsewhere; here it is a number like any other",
        Outcome.PROMISED,
        (
            "SELECT sum({n}), avg({n}), count({n}) FROM {t} WHERE {n} > {hi} AND {n} < {lo}",
            "SELECT avg({n}) FROM {t} WHERE FALSE AND {n} = {hi}",
            "SELECT {k}, avg({n}) FROM {t} WHERE {n} < {lo} GROUP BY {k}",
            "SELECT stddev({n}), variance({n}) FROM {t} WHERE {n} > {hi}",
            "SELECT count(*) FROM {t} WHERE {n} IS NULL",
            "SELECT coalesce(sum({n}), 12345) FROM {t} WHERE {n} > {hi}",
        ),
    ),
)
