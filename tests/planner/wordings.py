"""One question in many words, and other questions that look like it."""

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

HEADER = (
    "CREATE TABLE t (id INTEGER NOT NULL, k VARCHAR, x INTEGER, y INTEGER NOT NULL, b BOOLEAN NOT NULL, d DOUBLE)",
    "CREATE TABLE w (person INTEGER NOT NULL, ward VARCHAR, h INTEGER NOT NULL, z INTEGER NOT NULL)",
    "CREATE VIEW seen AS SELECT * FROM t",
    "ALTER TABLE t SET PRIVACY KEY (id)",
    "ALTER TABLE t ALTER COLUMN k SET PRIVACY DOMAIN IN ('a', 'b', 'c')",
    "ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN 0 AND 9",
    "ALTER TABLE t ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN 0 AND 4",
    "ALTER TABLE t ALTER COLUMN b SET PRIVACY DOMAIN IN (true, false)",
    "ALTER TABLE t ALTER COLUMN d SET PRIVACY DOMAIN BETWEEN 0 AND 1",
    "ALTER TABLE w SET PRIVACY KEY (person) REFERENCES t (id) MAX ROWS 3",
    "ALTER TABLE w ALTER COLUMN ward SET PRIVACY DOMAIN IN ('A', 'B')",
    "ALTER TABLE w ALTER COLUMN h SET PRIVACY DOMAIN BETWEEN 0 AND 9",
    "ALTER TABLE w ALTER COLUMN z SET PRIVACY DOMAIN BETWEEN 0 AND 4",
)
"""Two tables of one unit, and a view."""

CONDITIONS: tuple[tuple[str, ...], ...] = (
    ("{a}x > 3", "3 < {a}x", "NOT {a}x <= 3", "({a}x) > 3"),
    ("{a}x > 4", "4 < {a}x"),
    ("{a}y > 3", "NOT (3 >= {a}y)"),
    (
        "{a}x BETWEEN 2 AND 7",
        "{a}x >= 2 AND {a}x <= 7",
        "7 >= {a}x AND 2 <= {a}x",
        "NOT ({a}x < 2 OR {a}x > 7)",
    ),
    ("{a}x BETWEEN 2 AND 8", "{a}x <= 8 AND {a}x >= 2"),
    (
        "{a}k IN ('a', 'b')",
        "{a}k IN ('b', 'a', 'b')",
        "{a}k = 'a' OR {a}k = 'b'",
        "'b' = {a}k OR {a}k IN ('a')",
    ),
    ("{a}k IN ('a', 'c')", "{a}k = 'c' OR 'a' = {a}k"),
    ("{a}k = 'a'", "'a' = {a}k", "{a}k IN ('a')", "NOT {a}k <> 'a'"),
    ("{a}k <> 'a'", "NOT {a}k = 'a'", "{a}k NOT IN ('a')"),
    (
        "{a}x > 5 OR {a}y > 2",
        "2 < {a}y OR {a}x > 5",
        "NOT ({a}x <= 5 AND {a}y <= 2)",
        "{a}y > 2 OR {a}x > 5 OR {a}y > 2",
    ),
    ("{a}x > 5 AND {a}y > 2", "{a}y > 2 AND true AND {a}x > 5"),
    ("{a}x = {a}y", "{a}y = {a}x", "NOT {a}x <> {a}y"),
    ("{a}x < {a}y", "{a}y > {a}x"),
    ("{a}x <= {a}y", "NOT {a}x > {a}y"),
    ("{a}x + {a}y > 6", "6 < {a}y + {a}x"),
    ("{a}x - {a}y > 6", "6 < {a}x - {a}y"),
    ("{a}b", "NOT NOT {a}b"),
    ("NOT {a}b",),
    ("{a}d > 0.5", "0.5 < {a}d"),
    ("{a}k IS NULL",),
    ("{a}k IS NOT NULL", "NOT {a}k IS NULL"),
)
"""Each a condition in words that mean the same; no two lines do."""
JOINED: tuple[tuple[str, ...], ...] = (
    ("{w}h > 3", "3 < {w}h"),
    ("{w}ward = 'A'", "{w}ward IN ('A')", "'A' = {w}ward"),
    ("{w}h > {a}x", "{a}x < {w}h"),
    ("{w}h <> {a}y", "NOT {a}y = {w}h"),
)
"""Conditions over a row of both tables."""
MEASURES = ("count(*)", "sum({a}x)", "sum({a}y)", "avg({a}x)", "count({a}x)", "sum({a}x * {a}y)")
KEYS = ("{a}k", "{a}y", "{a}b")


class Asked(Struct, frozen=True):
    """A question: lines of conditions, aggregates and keys by their places; and whether both tables are joined."""

    conditions: frozenset[int]
    joined: frozenset[int]
    measures: frozenset[int]
    keys: frozenset[int]
    both: bool


def _places(size: int, most: int, least: int = 0) -> st.SearchStrategy[frozenset[int]]:
    return st.frozensets(st.integers(0, size - 1), min_size=least, max_size=most)


def _plain(asked: Asked) -> Asked:
    return asked if asked.both else replace(asked, joined=frozenset())


QUESTIONS = st.builds(
    Asked,
    _places(len(CONDITIONS), 3),
    _places(len(JOINED), 2),
    _places(len(MEASURES), 3, 1),
    _places(len(KEYS), 2),
    st.booleans(),
).map(_plain)


@st.composite
def worded(draw: st.DrawFn, asked: Asked) -> str:
    """The question as somebody may write it."""
    order = draw(st.sampled_from(("tw", "wt")))
    a, w = draw(st.sampled_from((("t", "w"), ("p", "q"), ("w", "t"), ('"P"', '"Q 1"'))))
    qualified = asked.both or draw(st.booleans())
    if not asked.both and not qualified:
        a = draw(st.sampled_from(("t", "p")))
    names = {"a": f"{a}." if qualified else "", "w": f"{w}."}

    def shuffled(numbers: frozenset[int]) -> list[int]:
        return draw(st.permutations(sorted(numbers)))

    where = [draw(st.sampled_from(CONDITIONS[n])).format(**names) for n in shuffled(asked.conditions)]
    where += [draw(st.sampled_from(JOINED[n])).format(**names) for n in shuffled(asked.joined)]
    where += draw(st.sampled_from(([], [], ["true"], where[:1])))
    measures = [MEASURES[n].format(**names) for n in shuffled(asked.measures)]
    keys = [KEYS[n].format(**names) for n in shuffled(asked.keys)]
    listed = draw(st.permutations([*keys, *measures]))
    source, on = _source(draw, a, w, order, both=asked.both)
    inside: list[str] = []
    if on is not None:
        join, where, inside = draw(st.sampled_from(_placements(on, where)))
        source = source.replace(" JOIN ", " JOIN " if join else ", ", 1)
        source += f" ON {join}" if join else ""
    conditions = [f"({c})" for c in (*inside, *where)]
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    tail = draw(st.sampled_from(("", " ORDER BY 1", " LIMIT 3", f" HAVING {measures[0]} > 2")))
    space = draw(st.sampled_from((" ", "\n  ", " /* said */ ")))
    text = f"SELECT {', '.join(listed)} FROM {source}"
    text += f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"{text}{group}{tail}".replace(" FROM ", f"{space}FROM ", 1)


def _placements(on: str, where: list[str]) -> list[tuple[str, list[str], list[str]]]:
    """ON and WHERE: a condition of an inner join may stand in either."""
    return [(on, where, []), ("", where, [on]), (" AND ".join([on, *(f"({c})" for c in where)]), [], [])]


def _source(draw: st.DrawFn, a: str, w: str, order: str, *, both: bool) -> tuple[str, str | None]:
    tables = ("t", "public.t", "seen", "(SELECT * FROM t)")
    first = f"{draw(st.sampled_from(tables))} AS {a}"
    if not both:
        return first, None
    second = f"{draw(st.sampled_from(('w', 'public.w', '(SELECT * FROM w)')))} AS {w}"
    on = draw(st.sampled_from((f"{a}.id = {w}.person", f"{w}.person = {a}.id")))
    return (f"{first} JOIN {second}" if order == "tw" else f"{second} JOIN {first}"), on
