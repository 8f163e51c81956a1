"""Random statements over a released relation ``t`` and the public table ``cities``."""

from hypothesis import strategies as st

T = (
    "WITH t AS (SELECT city, sex, count(*) AS n, sum(age) AS s, sum(pay) AS p, avg(height) AS h "
    "FROM people GROUP BY city, sex) "
)
"""Its columns: text, text, int8, int8, numeric, float8."""
SHAPES = "(city VARCHAR, sex VARCHAR, n BIGINT, s BIGINT, p DECIMAL(18,2), h DOUBLE)"

_NUMBERS = ("x.n", "x.s", "x.p", "x.h")
_KEYS = ("x.city", "x.sex")
_NUMBERED = (
    "(SELECT *, row_number() OVER (PARTITION BY sex ORDER BY city) AS r FROM t) x JOIN (SELECT *, rank() OVER "
    "(PARTITION BY sex ORDER BY city) AS r FROM t) y ON x.sex = y.sex AND x.r = y.r + 1"
)
_TAGGED = (
    "(SELECT city, sex, n, s, p, h, 'a' AS k FROM t UNION ALL SELECT city, sex, s, n, p, h, 'b' FROM t) x JOIN "
    "(SELECT sex, city, n, 1 AS k FROM t UNION ALL SELECT sex, city, s, 2 FROM t) y ON x.sex = y.sex AND "
    "x.city = y.city AND x.k = 'b' AND y.k = 1"
)
FROMS = (
    ("t AS x", _NUMBERS, _KEYS),
    ("(SELECT city, sex, n, s, p, h FROM t WHERE n > 2) AS x", _NUMBERS, _KEYS),
    ("t x JOIN cities c USING (city)", (*_NUMBERS, "c.size"), ("city", "x.sex", "c.land")),
    ("t x LEFT JOIN cities c ON x.city = c.city AND c.size > 4", (*_NUMBERS, "c.size"), (*_KEYS, "c.land")),
    ("cities c LEFT JOIN t x ON x.city = c.city AND x.n >= c.size", (*_NUMBERS, "c.size"), (*_KEYS, "c.land")),
    ("t x RIGHT JOIN cities c USING (city)", (*_NUMBERS, "c.size"), ("city", "x.sex", "c.land")),
    ("t x FULL JOIN cities c USING (city)", (*_NUMBERS, "c.size"), ("city", "x.sex", "c.land")),
    ("t x JOIN t y ON x.city = y.city AND x.n <= y.n", (*_NUMBERS, "y.n", "y.p"), (*_KEYS, "y.sex")),
    ("t x CROSS JOIN (VALUES (1, 'f'), (2, 'm'), (3, NULL)) AS v (k, sex)", (*_NUMBERS, "v.k"), (*_KEYS, "v.sex")),
    ("(SELECT city, sex, n, s, p, h FROM t UNION ALL SELECT city, land, size, size, 0.5, 2 FROM cities) x", _NUMBERS,
     _KEYS),
    ("(SELECT city, NULL AS sex, sum(n) AS n, max(s) AS s, min(p) AS p, avg(h) AS h FROM t GROUP BY city) x",
     _NUMBERS, ("x.city",)),
    (_NUMBERED, (*_NUMBERS, "y.n", "y.r"), (*_KEYS, "y.city")),
    ("(SELECT city, sex, n, s, p, h FROM (SELECT *, rank() OVER (ORDER BY n DESC, s) AS r FROM t) q WHERE r <= 3) x",
     _NUMBERS, _KEYS),  # what FETCH FIRST 3 ROWS WITH TIES is read as
    (_TAGGED, (*_NUMBERS, "y.n"), _KEYS),
    ("t x NATURAL JOIN (SELECT city, size FROM cities) c", (*_NUMBERS, "c.size"), ("city", "x.sex")),
    ("cities c CROSS JOIN LATERAL (SELECT * FROM t WHERE t.city = c.city ORDER BY n DESC, sex LIMIT 1) x",
     (*_NUMBERS, "c.size"), (*_KEYS, "c.land")),
    ("t x LEFT JOIN LATERAL (SELECT size, land FROM cities w WHERE w.size <= x.n ORDER BY 1, 2 LIMIT 1) c ON true",
     (*_NUMBERS, "c.size"), (*_KEYS, "c.land")),
    ("t x, LATERAL (VALUES (x.n, 'a'), (x.s, x.sex)) AS v (k, l)", (*_NUMBERS, "v.k"), (*_KEYS, "v.l")),
)  # fmt: skip
_VALUES = (
    "{a}", "{a}", "{a} + {b}", "{a} - 2", "{a} * 1.5", "-{a}", "abs({a})", "coalesce({a}, 7)", "nullif({a}, {b})",
    "greatest({a}, {b}, 3)", "least({a}, 2.25)", "round({a} * 1.0, 1)", "{a} * 10 / nullif({b} * 1.0, 0)",
    "CASE WHEN {a} > 3 THEN {b} ELSE 0.5 END", "CASE WHEN {k} = 'Oslo' THEN {a} END", "(SELECT max(n) FROM t) - {a}",
    "(SELECT sum(size) FROM cities) + {a}", "(SELECT max(size) FROM cities w WHERE w.city = {k})",
    "(SELECT count(*) FROM t z WHERE z.sex = {k} AND z.n < {a})",
)  # fmt: skip
CONDITIONS = (
    "{a} > 2", "{a} <= {b}", "{a} BETWEEN 1 AND 6.5", "{k} = 'Rome'", "{k} IS NOT NULL", "{k} IN ('Oslo', 'f')",
    "{a} IN (1, 2, 3.5, 4)", "NOT ({a} = 3)", "{k} IN (SELECT city FROM cities WHERE size > 3)",
    "{k} NOT IN (SELECT city FROM t WHERE n > 4)", "{a} IN (SELECT size FROM cities)",
    "EXISTS (SELECT 1 FROM cities w WHERE w.city = {k} AND w.size > {a})", "{a} > (SELECT avg(n) FROM t)",
    "{a} IS DISTINCT FROM {b}", "{k} LIKE 'O%' OR {a} < 4",
)  # fmt: skip
AGGREGATES = (
    "count(*)", "count({a})", "count(DISTINCT {a})", "sum({a})", "sum(DISTINCT {a})", "avg({a})", "min({a})",
    "max({k})",    "stddev({a})", "var_pop({a})", "stddev_pop({a})", "variance({a})",
    "percentile_cont(0.3) WITHIN GROUP (ORDER BY CAST({a} AS double precision))",
    "percentile_disc(0.75) WITHIN GROUP (ORDER BY {a} DESC)", "bool_and({a} > 1)", "bool_or({k} = 'f')",
    "sum({a}) FILTER (WHERE {b} > 2)", "count(*) FILTER (WHERE {k} IS NULL)", "string_agg({k}, '-' ORDER BY {k})",
    "array_agg({k} ORDER BY {k})", "array_agg(CAST({a} AS double precision) ORDER BY {a}, {k})",
    "mode() WITHIN GROUP (ORDER BY {a})", "percentile_disc(ARRAY[0.25, 0.75]) WITHIN GROUP (ORDER BY {k})",
    "covar_pop({a}, {b})", "covar_samp({a}, {b})", "regr_count({a}, {b})", "sum({a}) * 1.0 / count(*)",
)  # fmt: skip
FRAMES = (
    "", "", " ROWS BETWEEN 1 PRECEDING AND CURRENT ROW", " ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    " ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING",
)  # fmt: skip
WINDOWS = (
    "row_number()", "rank()", "dense_rank()", "percent_rank()", "cume_dist()", "ntile(3)", "lag({a})", "lead({a}, 2)",
    "lag({a}, 1, 0)", "first_value({a})", "last_value({k})", "nth_value({a}, 2)", "sum({a})", "avg({a})", "min({a})",
    "max({k})", "count(*)", "count({a})", "stddev({a})", "sum({a}) FILTER (WHERE {b} > 1)",
)  # fmt: skip


@st.composite
def _filled(draw: st.DrawFn, texts: tuple[str, ...], numbers: tuple[str, ...], keys: tuple[str, ...]) -> str:
    number, key = st.sampled_from(numbers), st.sampled_from(keys)
    return draw(st.sampled_from(texts)).format(a=draw(number), b=draw(number), k=draw(key))


@st.composite
def _window(draw: st.DrawFn, numbers: tuple[str, ...], keys: tuple[str, ...], ties: str) -> str:
    """Ordered so that no two rows tie."""
    call = draw(_filled(WINDOWS, numbers, keys))
    parts = draw(st.sampled_from(["", f"PARTITION BY {draw(st.sampled_from(keys))} "]))
    first = draw(
        st.sampled_from(["", f"{draw(st.sampled_from(numbers))} DESC, ", f"{draw(st.sampled_from(keys))}, "])
    )
    return f"{call} OVER ({parts}ORDER BY {first}{ties}{draw(st.sampled_from(FRAMES))})"


@st.composite
def outer_statements(draw: st.DrawFn) -> str:
    """One statement after ``T``; its rows are compared as a multiset."""
    source, numbers, keys = draw(st.sampled_from(FROMS))
    where = draw(st.sampled_from(["", f" WHERE {draw(_filled(CONDITIONS, numbers, keys))}"]))
    values = st.lists(_filled(_VALUES, numbers, keys), min_size=1, max_size=3)
    match draw(
        st.sampled_from(
            ["plain", "plain", "windows", "windows", "grouped", "grouped", "sets", "distinct", "union"]
        )
    ):
        case "plain":
            return f"SELECT {', '.join([*keys, *draw(values)])} FROM {source}{where}"
        case "windows":
            ties = ", ".join((*numbers, *keys))
            calls = draw(st.lists(_window(numbers, keys, ties), min_size=1, max_size=2))
            return f"SELECT {', '.join([*keys, *draw(values), *calls])} FROM {source}{where}"
        case "grouped" | "sets" as kind:
            chosen = draw(st.lists(st.sampled_from(keys), min_size=1, max_size=2, unique=True))
            calls = draw(st.lists(_filled(AGGREGATES, numbers, keys), min_size=1, max_size=3))
            group = ", ".join(chosen)
            if kind == "sets":
                group = f"{draw(st.sampled_from(['ROLLUP', 'CUBE']))} ({group})"
            having = draw(
                st.sampled_from(
                    ["", " HAVING count(*) > 1", f" HAVING max({draw(st.sampled_from(numbers))}) > 2"]
                )
            )
            return f"SELECT {', '.join([*chosen, *calls])} FROM {source}{where} GROUP BY {group}{having}"
        case "distinct":
            value = draw(_filled(_VALUES[:9], numbers, keys))
            return f"SELECT DISTINCT {draw(st.sampled_from(keys))}, {value} FROM {source}{where}"
        case _:
            kind = draw(st.sampled_from(["UNION", "UNION ALL", "EXCEPT", "INTERSECT", "EXCEPT ALL"]))
            other = draw(
                st.sampled_from(["SELECT size, city FROM cities", "SELECT n, sex FROM t", "SELECT 1.5, NULL"])
            )
            number, key = draw(st.sampled_from(numbers)), draw(st.sampled_from(keys))
            return f"SELECT {number}, {key} FROM {source}{where} {kind} {other}"
