"""Attacks on groups that exist because of one person: keys, filters and orders that would depend on the data."""

from dpproxy.assurance.model import Attack, Outcome

ATTACKS = (
    Attack(
        "a group of her own",
        "every declared key is answered, and no other, whoever is there",
        Outcome.PROMISED,
        (
            "SELECT {k}, count(*) FROM {t} GROUP BY {k}",
            "SELECT {k}, count(*) FROM {t} WHERE {n} = {hi} GROUP BY {k}",
            "SELECT {k}, count(*), sum({n}) FROM {t} GROUP BY {k} ORDER BY {k}",
            "SELECT {k}, count(*) FROM {t} GROUP BY ROLLUP ({k})",
            "SELECT {k}, count(*) FROM {t} GROUP BY GROUPING SETS (({k}), ())",
            "SELECT DISTINCT {k} FROM {t}",
            "SELECT {k} FROM {t} GROUP BY {k}",
            "SELECT {k}, count(*) FROM {t} GROUP BY {k} ORDER BY {k} LIMIT 1",
        ),
    ),
    Attack(
        "filters and orders over true values",
        "HAVING, ORDER BY and LIMIT see released values only",
        Outcome.PROMISED,
        (
            "SELECT {k}, count(*) FROM {t} GROUP BY {k} HAVING count(*) < 5",
            "SELECT {k}, count(*) FROM {t} GROUP BY {k} HAVING count(*) = 1 ORDER BY 2 LIMIT 1",
            "SELECT {k}, count(*) FROM {t} GROUP BY {k} ORDER BY count(*) DESC LIMIT 1",
            "SELECT {k}, sum({n}) FROM {t} GROUP BY {k} HAVING sum({n}) > {hi}",
        ),
        filtered=True,
    ),
    Attack(
        "keys that nobody declared",
        "group by the person, by what is undeclared, by a number with no end",
        Outcome.REFUSED,
        (
            "SELECT {key}, count(*) FROM {t} GROUP BY {key}",
            "SELECT {secret}, count(*) FROM {t} GROUP BY {secret}",
            "SELECT {f}, count(*) FROM {t} GROUP BY {f}",
            "SELECT {key}, count(*) FROM {t} GROUP BY GROUPING SETS (({key}), ())",
            "SELECT {k}, count(*) FROM {t} GROUP BY {k} ORDER BY {n}",
            "SELECT count(*) FROM {t} GROUP BY ALL",
            "PIVOT {t} ON {k} USING count(*)",
            "SELECT * FROM (PIVOT {t} ON {k} USING count(*)) AS p",
            "UNPIVOT {t} ON {n} INTO NAME a VALUE b",
            "CREATE TYPE mood AS ENUM (SELECT {s} FROM {t})",
            "SELECT enum_range(NULL::mood)",
        ),
    ),
    Attack(
        "values outside the declared domain",
        "a condition on a value that only she has, and nobody declared",
        Outcome.PROMISED,
        (
            "SELECT count(*) FROM {t} WHERE {s} = 'hers alone'",
            "SELECT count(*) FROM {t} WHERE {n} > {hi} + 1",
            "SELECT count(*) FROM {t} WHERE {n} < {lo} - 1",
            "SELECT {k}, count(*) FROM {t} WHERE {s} <> 'hers alone' GROUP BY {k}",
            "SELECT count(DISTINCT {k}) FROM {t}",
            "SELECT count(DISTINCT {key}) FROM {t}",
        ),
    ),
)
