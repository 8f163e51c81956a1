"""Random statements over the tables of ``schemas``: every kind of relation, condition, aggregate and grouping."""

from dataclasses import dataclass

from hypothesis import strategies as st


@dataclass(frozen=True)
class From:
    """What stands after FROM, and what its columns are good for; ``head`` stands before SELECT."""

    sql: str
    unit: str
    numbers: tuple[str, ...]
    keys: tuple[str, ...]
    head: str = ""
    where: str = ""


_V = (("v.i", "v.d"), ("v.c", "v.t", "(SELECT max(z.k) FROM codes z WHERE z.c = v.c)"))
_P = (("p.i",), ("p.c", "p.y"))
_S = "(SELECT person, c, i + 1 AS j, d FROM visits WHERE {c}) AS s"
_EACH = "(SELECT person, count(*) AS n, sum(i) AS s FROM visits WHERE {c} GROUP BY person) AS e"
_TOP = "SELECT i FROM visits WHERE {c} GROUP BY i HAVING count(*) > 0 ORDER BY count(*) DESC, i LIMIT 2"
FROMS = (
    From("people p", "p.id", *_P),
    From("visits AS v", "v.person", *_V),
    From("items m", "m.no", ("m.n", "m.f"), ("m.c",)),
    From("people p {j} visits v ON p.id = v.person", "p.id", ("v.i", "p.i", "v.d"), ("p.c", "v.t", "v.c")),
    From("visits v {j} people p ON v.person = p.id AND p.i > 0", "v.person", ("v.d", "p.i"), ("p.c", "p.y", "v.c")),
    From("visits v {j} items m ON v.no = m.no", "v.person", ("v.i", "m.n"), ("v.c", "m.c")),
    From("visits v {j} items m USING (no)", "v.person", ("v.i", "m.n"), ("v.c", "m.c")),
    From("visits v NATURAL {j} (SELECT no, n, c AS kind FROM items WHERE {c}) m", "v.person", ("v.i", "m.n"),
         ("v.c", "m.kind")),
    From("visits v NATURAL {j} (SELECT c, k FROM codes) k", "v.person", ("v.i", "k.k"), ("c", "v.t")),
    From("items m JOIN visits a ON m.no = a.no JOIN visits b ON b.no = m.no", "a.person",
         ("a.i", "b.i"), ("b.c", "m.c")),
    From("returns r {j} visits v ON r.no = v.no AND r.c = v.c", "r.person", ("r.n", "v.i"), ("v.c", "v.t")),
    From("visits v {j} returns r USING (no, c)", "v.person", ("v.i", "r.n"), ("v.t",)),
    From("visits a JOIN visits b ON a.no = b.no AND a.c = b.c JOIN returns r ON b.no = r.no AND r.c = b.c", "b.person",
         ("a.i", "r.n"), ("a.t", "b.c")),
    From("visits v", "v.person", _V[0], _V[1],
         where="NOT EXISTS (SELECT 1 FROM returns r WHERE r.no = v.no AND r.c = v.c AND r.n > 0)"),
    From("visits v", "v.person", _V[0], _V[1], where="(v.no, v.c) IN (SELECT no, c FROM returns WHERE n >= 0)"),
    From("notes n", "n.person", ("(n.doc ->> 'i')::int",), ("(n.doc ->> 'c')", "(n.doc ->> 'i')::int")),
    From("people p {j} notes n ON p.id = n.person AND (n.doc ->> 'c') = 'a'", "p.id", ("p.i", "(n.doc ->> 'i')::int"),
         ("p.y", "(n.doc ->> 'c')")),
    From("people p, visits v, items m", "p.id", ("p.i", "v.i", "m.n", "m.f"), ("p.c", "v.t", "m.c"),
         where="p.id = v.person AND m.no = v.no"),
    From("visits v JOIN items m ON v.i = m.n", "v.person", ("v.i", "m.n"), ("v.c",)),
    From("visits a JOIN visits b ON a.person = b.person", "a.person", ("a.i", "b.i"), ("a.c", "b.t")),
    From("people p LEFT JOIN visits v ON p.id = v.person AND v.i > 0", "p.id", ("p.i",), ("p.c", "p.y"),
         where="v.person IS NULL"),
    From("visits a LEFT JOIN visits v ON v.person = a.person AND v.i > a.i", "a.person", ("a.i", "a.d"),
         ("a.c", "a.t"), where="v.person IS NULL"),
    From("visits a LEFT JOIN items m ON m.no = a.no LEFT JOIN visits v ON v.person = a.person AND v.i < a.i",
         "a.person", ("a.i", "m.n"), ("a.c", "m.c"), where="v.person IS NULL"),
    From("visits v {j} codes k ON v.c = k.c", "v.person", ("v.i", "k.k"), ("v.c", "k.k", "v.t")),
    From("codes k {j} visits v ON k.c = v.c", "v.person", ("v.i", "k.k"), ("k.c", "v.t")),
    From("visits v JOIN codes k USING (c)", "v.person", ("v.i", "k.k"), ("c", "v.t")),
    From("visits v JOIN codes k ON v.i < k.k", "v.person", ("v.i", "v.d"), ("k.c",)),
    From("people p CROSS JOIN codes k", "p.id", ("p.i", "k.k"), ("k.c", "p.c")),
    From("codes", "codes.k", ("k",), ("c",)),
    From("codes o", "o.k", ("o.k",), ("o.c", "k"), where="EXISTS (SELECT 1 FROM visits x WHERE x.c = o.c AND {c})"),
    From("codes", "k", ("k",), ("c",), where="k IN (SELECT i FROM visits WHERE {c})"),
    From("codes o", "o.k", ("o.k",), ("o.c",), where="o.k > 0 AND NOT EXISTS (SELECT 1 FROM visits x WHERE x.i = o.k)"),
    From(_S, "s.person", ("s.j", "d"), ("s.c", "j")),
    From("people p JOIN " + _S + " ON s.person = p.id", "p.id", ("s.j", "p.i"), ("s.c", "p.y")),
    From(_EACH, "e.person", ("e.n", "e.s"), ("e.n", "e.s")),
    From("(SELECT person, c, count(*) AS n, sum(d) AS s FROM visits GROUP BY person, c) e", "e.person", ("n", "s"),
         ("e.c", "n")),
    From("people p {j} " + _EACH + " ON p.id = e.person", "p.id", ("e.n", "p.i", "e.s"), ("p.c", "e.n")),
    From("(SELECT p.id, count(v.person) AS n FROM people p LEFT JOIN visits v ON v.person = p.id GROUP BY p.id) e",
         "e.id", ("e.n",), ("e.n",)),
    From("(SELECT person AS u, c, i FROM visits WHERE {c} UNION ALL SELECT id, c, i FROM people) q", "q.u", ("q.i",),
         ("q.c", "q.i")),
    From("(SELECT person AS u, c, i FROM visits WHERE {c} UNION SELECT id, c, i FROM people) q", "q.u", ("q.i",),
         ("q.c", "q.i")),
    From("(SELECT id AS u, c, i FROM people EXCEPT SELECT person, c, i FROM visits WHERE {c}) q", "q.u", ("q.i",),
         ("q.c", "q.i")),
    From("(SELECT person AS u, i FROM visits INTERSECT SELECT id, i FROM people WHERE {c}) q", "q.u", ("q.i",),
         ("q.i",)),
    From("r", "r.u", ("r.i",), ("r.c",), head="WITH r AS (SELECT id AS u, c, i FROM people WHERE {c}) "),
    From("r AS a JOIN r AS b ON a.u = b.u", "a.u", ("a.i", "b.i"), ("a.c", "b.c"),
         head="WITH r AS (SELECT person AS u, c, i FROM visits) "),
    From("(SELECT max(n) AS n, u FROM (SELECT person AS u, c, count(*) AS n FROM visits GROUP BY person, c) a "
         "GROUP BY u) e", "e.u", ("e.n",), ("e.n",)),
    From("(SELECT person, c, i, row_number() OVER (PARTITION BY person ORDER BY i DESC, no) AS rn FROM visits "
         "WHERE {c}) w", "w.person", ("w.i", "w.rn"), ("w.c", "w.rn"), where="rn <= 2"),
    From("(SELECT person, c, d, sum(d) OVER (PARTITION BY person ORDER BY i) AS s, lag(i) OVER (PARTITION BY person "
         "ORDER BY no, i, c) AS p FROM visits) w", "w.person", ("w.s", "w.p", "w.d"), ("w.c", "w.p")),
    From("(SELECT person, t, count(d) OVER (PARTITION BY person, t ORDER BY c, no, i ROWS BETWEEN 1 PRECEDING AND "
         "CURRENT ROW) AS n, max(i) FILTER (WHERE {c}) OVER (PARTITION BY person) AS m FROM visits) w", "w.person",
         ("w.n", "w.m"), ("w.t", "w.n", "w.m")),
    From("(SELECT DISTINCT ON (person) person, c, i, t FROM visits WHERE {c} ORDER BY person, no) f", "f.person",
         ("f.i",), ("f.c", "f.t")),
    From("people p {j} (SELECT DISTINCT person, first_value(c) OVER (PARTITION BY person ORDER BY no) AS c FROM "
         "visits) f ON f.person = p.id", "p.id", ("p.i",), ("p.y", "f.c")),
    From("visits v JOIN (SELECT c AS k, avg(i) AS a FROM visits WHERE {c} GROUP BY c HAVING count(*) > 0) s ON "
         "s.k = v.c AND v.i <= s.a + 1", "v.person", ("v.i", "v.d"), ("v.c", "v.t", "s.k")),
    From("visits v {j} (SELECT c, count(*) AS n FROM people GROUP BY c HAVING count(*) > 0 ORDER BY n DESC, c "
         "LIMIT 1) s ON s.c = v.c", "v.person", ("v.i",), ("v.c", "v.t", "s.c", "coalesce(s.c, 'z')",
         "CASE WHEN s.c IS NULL THEN 'z' ELSE v.c END")),
    From("visits v LEFT JOIN (" + _TOP + ") s ON s.i = v.i", "v.person", ("v.i", "v.d"), ("s.i", "v.c",
         "coalesce(s.i, -9)", "CASE WHEN s.i IS NOT NULL THEN v.i * 2 END")),
    From("(SELECT v.person, s.i AS k, v.c FROM visits v LEFT JOIN (" + _TOP + ") s ON s.i = v.i) q", "q.person",
         ("q.k",), ("q.k", "q.c")),
    From("visits v, LATERAL (SELECT v.i + 1 AS j) x, LATERAL (SELECT j * 2 AS l) y", "v.person", ("j", "l"),
         ("v.c", "l")),
    From("(SELECT person, min(i) AS n, CASE WHEN count(*) > 1 THEN 'a' ELSE 'b' END AS k FROM visits WHERE {c} "
         "GROUP BY person) e", "e.person", ("e.n",), ("e.k", "e.n")),
    From("(SELECT person, c, count(*) AS n, row_number() OVER (PARTITION BY person ORDER BY count(*) DESC, c) AS rn "
         "FROM visits WHERE {c} GROUP BY person, c) e", "e.person", ("e.n", "e.rn"), ("e.c", "e.rn"), where="rn = 1"),
)  # fmt: skip
JOINS = ("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")
ABOUT = (
    "i > 0", "i IS NULL", "NOT (i = 1)", "c = 'a'", "c IS NOT NULL", "c IN ('a', 'B')", "c LIKE 'b%'", "i * 2 >= 2",
    "coalesce(i, 0) < 2", "c < 'b' OR i BETWEEN 0 AND 3", "1 - i / 4.0 >= 0.3", "round(i / 3.0, 1) >= 0.7",
    "upper(left(c, 1)) = 'B'", "right(c, 1) <> 'b'", "split_part(c, 'b', 1) = ''",
    "translate(c, 'aB', 'x') || 'y' > 'x'",
)  # fmt: skip
"""Over columns that all tables have."""
GLOBAL = "NOT IN (SELECT person"
"""Of a key that is NULL SQL answers by whether there are rows of others; we look at none."""
SEMI = (
    "{u} IN (SELECT person FROM visits WHERE {c})",
    "{u} IN (SELECT id FROM people)",
    "{u} NOT IN (SELECT person FROM visits WHERE {c})",
    "{u} IS NOT NULL AND NOT ({u} IN (SELECT person FROM visits WHERE {c}))",
    "({u} IN (SELECT person FROM visits WHERE {c})) IS NOT TRUE",
    "EXISTS (SELECT 1 FROM visits x WHERE x.person = {u} AND x.t)",
    "NOT EXISTS (SELECT * FROM visits x WHERE x.person = {u} AND x.c = 'a')",
    "EXISTS (SELECT 1 FROM visits x JOIN items y ON x.no = y.no WHERE x.person = {u})",
    "EXISTS (SELECT 1 FROM codes)",
    "EXISTS (SELECT 1 FROM codes z WHERE z.k = {n})",
    "{n} IN (SELECT k FROM codes WHERE {w})",
    "{n} NOT IN (SELECT k FROM codes)",
    "{n} NOT IN (SELECT k FROM codes WHERE {w})",
    "({n} IN (SELECT k FROM codes WHERE {w})) IS NULL",
    "coalesce(({n}, c) NOT IN (SELECT k, c FROM codes), {n} > 1)",
    "{n} NOT IN (SELECT i FROM visits x WHERE x.person = {u})",
    "{n} > (SELECT avg(i) FROM visits)",
    "{n} >= (SELECT max(k) FROM codes)",
    "{n} >= (SELECT avg(x.i) FROM visits x WHERE x.person = {u})",
    "{n} > (SELECT count(*) FROM codes z WHERE z.k = {n})",
    "{n} >= (SELECT avg(z.k) FROM codes z WHERE z.k <> 0 AND z.k = {n})",
    "{n} IN (SELECT i FROM visits)",
    "{n} IN (SELECT i FROM visits WHERE {c} GROUP BY i HAVING count(*) > 0 ORDER BY count(*) DESC, i LIMIT 2)",
    "{n} NOT IN (SELECT i FROM visits WHERE {c} GROUP BY i HAVING count(*) > 0 ORDER BY count(*) DESC, i LIMIT 2)",
    "{n} IN (SELECT max(x.i) FROM visits x WHERE x.person = {u} AND {c} GROUP BY x.t)",
    "{n} IN (SELECT x.i FROM visits x WHERE x.i = {n} GROUP BY x.i HAVING count(*) > 0)",
    "{n} IN (SELECT DISTINCT z.k FROM codes z WHERE z.k = {n} AND {w})",
    "(SELECT count(*) FROM people) > 2",
)


@st.composite
def conditions(draw: st.DrawFn, source: From) -> str:
    number, key = draw(st.sampled_from(source.numbers)), draw(st.sampled_from(source.keys))
    if draw(st.integers(0, 2)) == 0:
        form = draw(st.sampled_from(SEMI))
        return form.format(u=source.unit, n=number, c=draw(st.sampled_from(ABOUT)), w="w > 1")
    forms = ("{n} > 1", "{n} IS NULL", "NOT ({n} <= 0)", "{k} IS NOT NULL", "coalesce({n}, 1) = 1", "{k} IS NULL",
             "{n} BETWEEN 0 AND 2", "CASE WHEN {n} > 0 THEN {k} IS NULL ELSE true END")  # fmt: skip
    return draw(st.sampled_from(forms)).format(n=number, k=key)


@st.composite
def calls(draw: st.DrawFn, source: From) -> str:
    number, other = draw(st.sampled_from(source.numbers)), draw(st.sampled_from(source.numbers))
    key = draw(st.sampled_from(source.keys))
    forms = ("count(*)", "count(*)", "count({n})", "count({k})", "count(DISTINCT {u})", "count(DISTINCT {k})",
             "sum({n})", "avg({n})", "sum(CASE WHEN {w} THEN {n} END)", "sum(coalesce({n}, 1))",
             "sum({n} + {o})", "count(*) FILTER (WHERE {w})", "sum({n}) FILTER (WHERE {w})", "avg({n} * 2)",
             "count({u})", "stddev_samp({n})", "var_pop({n})", "var_pop(DISTINCT {n})", "sum(DISTINCT {n})",
             "min({k})", "max({k})", "max({k}) FILTER (WHERE {w})", "min({n})", "max({n})",
             "sum(1)", "sum(3 * {n})", "sum(CASE WHEN {w} THEN 2 ELSE 0 END)")  # fmt: skip
    simple = f"{key} IS NULL" if draw(st.booleans()) else f"{other} > 0"
    return draw(st.sampled_from(forms)).format(n=number, o=other, k=key, u=source.unit, w=simple)


@st.composite
def groupings(draw: st.DrawFn, source: From) -> tuple[list[str], str]:
    """Keys to show, and the GROUP BY clause."""
    keys = draw(st.lists(st.sampled_from(source.keys), max_size=2, unique=True))
    if draw(st.integers(0, 3)) == 0:
        asked = draw(st.sampled_from(SEMI)).format(
            u=source.unit, n=draw(st.sampled_from(source.numbers)), c=draw(st.sampled_from(ABOUT)), w="w > 1"
        )
        other = draw(st.sampled_from(source.keys))
        forms = ("CASE WHEN {q} THEN 'y' ELSE 'n' END", "({q})", "CASE WHEN {q} THEN {k} END")
        keys.append(draw(st.sampled_from(forms)).format(q=asked, k=other))
    if not keys:
        return [], ""
    forms = ["{0}", "{0}", "{0}", "ROLLUP ({0})", "CUBE ({0})", "GROUPING SETS (({0}), ())"]
    return keys, "GROUP BY " + draw(st.sampled_from(forms)).format(", ".join(keys))


@dataclass(frozen=True)
class Statement:
    """Shows ``keys`` columns of its grouping, then one for each call."""

    sql: str
    keys: int
    calls: tuple[str, ...]


@st.composite
def statements(draw: st.DrawFn) -> Statement:
    source = draw(st.sampled_from(FROMS))
    about = draw(st.sampled_from(ABOUT))
    tables = source.sql.format(j=draw(st.sampled_from(JOINS)), c=about)
    keys, group = draw(groupings(source))
    parts = [source.where.format(c=about), *draw(st.lists(conditions(source), max_size=2))]
    shown = draw(st.lists(calls(source), min_size=1, max_size=3))
    clause = " AND ".join(f"({p})" for p in parts if p)
    text = f"{source.head.format(c=about)}SELECT {', '.join([*keys, *shown])} FROM {tables}"
    sql = " ".join(p for p in (text, f"WHERE {clause}" if clause else "", group) if p)
    return Statement(sql, len(keys), tuple(shown))
